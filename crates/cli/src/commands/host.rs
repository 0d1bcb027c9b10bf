//! `linerate host`.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::process::ExitCode;

use anyhow::anyhow;
use host::inventory::kernel_config;
use host::{Archive, Tree};

use crate::flags::HostFlags;
use crate::{output, terminal};

pub(crate) fn run(flags: &HostFlags) -> anyhow::Result<ExitCode> {
    let tree = tree(flags.root.as_deref())?;
    if flags.kernel_config {
        return print_fragment(&tree);
    }
    let (inventory, gaps) = host::inventory::read(&tree);
    if flags.json {
        let mut text = Vec::new();
        report::host::write_json(&inventory, &gaps, &mut text)?;
        output::print_text(&text)?;
    } else {
        output::print_table(|out| report::host::write(&inventory, &gaps, terminal::room(), out))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the options that the kernel lacks as a fragment of its configuration.
fn print_fragment(tree: &Tree) -> anyhow::Result<ExitCode> {
    let kernel = host::inventory::kernel_answers(tree).kernel;
    let lacking = kernel_config::lacking(tree, &kernel)
        .map_err(|gap| anyhow!("cannot read the {}: {}", gap.what, gap.why))?;
    output::print_text(lacking.to_string().as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// This host, or one that was captured.
pub(crate) fn tree(root: Option<&Path>) -> anyhow::Result<Tree> {
    root.map_or_else(|| Ok(Tree::live()), captured)
}

/// A folder, or the archive itself.
fn captured(root: &Path) -> anyhow::Result<Tree> {
    let cannot = |reason: String| anyhow!("cannot read {}: {reason}", root.display());
    if root.is_dir() {
        let has = ["proc", "sys", "linerate"].iter().any(|folder| root.join(folder).is_dir());
        let why = "it is no unpacked archive of linerate capture";
        return if has { Ok(Tree::captured(root)) } else { Err(cannot(why.to_owned())) };
    }
    let file = File::open(root).map_err(|error| cannot(session::reason(&error)))?;
    let archive = Archive::read(BufReader::new(file))
        .map_err(|_| cannot("it is no archive of linerate capture".to_owned()))?;
    if archive.is_empty() {
        return Err(cannot("it is no archive of linerate capture".to_owned()));
    }
    Ok(Tree::archived(archive))
}
