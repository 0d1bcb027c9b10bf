//! An archive to unpack anywhere.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::Linerate;
use super::tree::Tree;
use crate::command;

/// Packs the program with its texts.
pub(super) fn pack(linerate: &Linerate<'_>, folder: &Path) -> Result<PathBuf> {
    let name = linerate.name();
    tree(linerate)?.write(&folder.join(&name), linerate.seconds)?;
    let (archive, packed) = (folder.join(format!("{name}.tar")), format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    // As long names need it, and without the times of access and of packing.
    tar.args(["--format=gnu", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.arg("--create").arg("--file").arg(&archive).arg("--directory").arg(folder).arg(&name);
    command::output(&mut tar)?;
    command::output(Command::new("gzip").args(["-9", "--no-name"]).arg(&archive))?;
    Ok(folder.join(packed))
}

fn tree(linerate: &Linerate<'_>) -> Result<Tree> {
    let mut tree = Tree::default();
    tree.program("linerate", linerate.binary.clone());
    for path in PROJECT {
        let name = Path::new(path).file_name().context("a file has a name")?.to_string_lossy();
        tree.text(name, linerate.text(path)?);
    }
    for (name, text) in linerate.licences()? {
        tree.text(name, text);
    }
    let texts = &linerate.texts;
    for (name, page) in &texts.pages {
        tree.text(format!("man/{name}"), page.as_str());
    }
    let completions =
        [("linerate.bash", &texts.bash), ("linerate.fish", &texts.fish), ("_linerate", &texts.zsh)];
    for (name, text) in completions {
        tree.text(format!("completions/{name}"), text.as_str());
    }
    Ok(tree)
}

const PROJECT: [&str; 3] = ["CHANGELOG.md", "README.md", "contrib/linerate.service"];
