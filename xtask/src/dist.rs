//! `dist`: the static files that are handed out, for every kind of machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;
use testbed::promise::Outcome;

use crate::command;
use crate::output::say;
use crate::static_binary::{self, Contents, TARGETS, Target};
use crate::workspace::Workspace;

/// Builds static files for other machines, and runs each in an emulator
///
/// Without options for this machine. Puts them into `target/dist`, with their checksums. Needs
/// rustup, whose targets it adds, and C compilers and qemu, which it installs as root on Debian.
#[derive(Debug, Args)]
pub(crate) struct Dist {
    /// The machine to build for
    #[arg(long, value_enum)]
    target: Option<&'static Target>,
    /// Build for all of them
    #[arg(long, conflicts_with = "target")]
    all: bool,
    /// For a small machine: without authentication, history, reports, imports, manual pages,
    /// completions, series of tests (ab, compare, ladder, mesh, sweep), packets and the demo
    #[arg(long)]
    board: bool,
}

impl Dist {
    pub(crate) fn run(self) -> Result<String> {
        let workspace = Workspace::find()?;
        let contents = if self.board { Contents::Board } else { Contents::Whole };
        let targets = chosen(self.target, self.all)?;
        let files = build(&workspace, &targets, contents)?;
        write_checksums(&folder(&workspace))?;
        Ok(format!("dist: {} files in {}", files.len(), folder(&workspace).display()))
    }
}

/// The targets that options name.
pub(crate) fn chosen(one: Option<&'static Target>, all: bool) -> Result<Vec<&'static Target>> {
    if all {
        return Ok(TARGETS.iter().collect());
    }
    let native = || Target::native().context("name a --target: none is this machine");
    Ok(vec![one.map_or_else(native, Ok)?])
}

/// Builds and runs a file for each; fails if one is too large.
pub(crate) fn build(
    workspace: &Workspace,
    targets: &[&Target],
    contents: Contents,
) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut sizes = Vec::new();
    for target in targets {
        let file = file(workspace, target, contents);
        let bytes = static_binary::make(workspace, target, contents, &file)
            .with_context(|| format!("cannot make linerate for {}", target.triple))?;
        let text = format!("{}: {}", name(target, contents), contents.limit());
        sizes.push(Outcome::new(text, Some(bytes as f64 / 1e6)));
        files.push(file);
    }
    for size in &sizes {
        say(size);
    }
    let large = sizes.iter().filter(|size| !size.kept()).count();
    ensure!(large == 0, "{large} of {} files are too large", files.len());
    Ok(files)
}

/// Where files that are handed out are put.
pub(crate) fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("dist")
}

/// Writes the checksums of all files there, as sha256sum(1) checks them.
pub(crate) fn write_checksums(folder: &Path) -> Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        // What cargo builds with this profile for this machine is in that folder as well.
        if ["linerate-", "linerate_"].iter().any(|start| name.starts_with(start)) {
            names.push(name);
        }
    }
    names.sort();
    let sums = command::output(Command::new("sha256sum").args(names).current_dir(folder))?;
    fs::write(folder.join("SHA256SUMS"), sums).context("cannot write SHA256SUMS")
}

/// The file for a kind of machine.
pub(crate) fn file(workspace: &Workspace, target: &Target, contents: Contents) -> PathBuf {
    folder(workspace).join(name(target, contents))
}

fn name(target: &Target, contents: Contents) -> String {
    match contents {
        Contents::Whole => format!("linerate-{}", target.name),
        Contents::Board => format!("linerate-board-{}", target.name),
    }
}
