//! Static files: linerate as one file that needs nothing of its host but a kernel.

mod build;
mod elf;
mod exercise;
mod parts;
mod target;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;
use testbed::promise::Outcome;

use crate::output::say;
use crate::packages;
use crate::workspace::Workspace;

pub(crate) use build::Contents;
pub(crate) use exercise::program;
pub(crate) use target::{BIG_ENDIAN, TARGETS, Target};

/// Builds linerate as one static file, runs it, and checks that it is small
///
/// Needs rustup, whose target for musl it adds, and a C compiler for it (musl-gcc), which it
/// installs as root on Debian.
#[derive(Debug, Args)]
pub(crate) struct Static {
    /// Show what takes the place in the file
    #[arg(long)]
    parts: bool,
}

impl Static {
    pub(crate) fn run(self) -> Result<String> {
        let workspace = Workspace::find()?;
        let target = Target::native().context("no static file is built for this architecture")?;
        packages::provide(target.needs())?;
        if let Err(error) = target.provide_library() {
            return Ok(format!("static: not run, since Rust's library cannot be had: {error:#}"));
        }
        let with_symbols = build::build(&workspace, target, Contents::Whole)?;
        let binary = path(&workspace, target);
        build::strip(target, &with_symbols, &binary)?;
        let tests = exercise::exercise(target, &binary)?;
        let bytes = size(&binary)?;
        if self.parts {
            say(format!("\n{}", parts::table(parts::sizes(&with_symbols)?, bytes)));
        }
        let megabytes = bytes as f64 / 1e6;
        let size = Outcome::new("one static file <= 6.2 MB", Some(megabytes));
        say(&size);
        let verdict = format!(
            "static: {} has {megabytes:.2} MB, with authentication; {tests} of {} tests passed",
            binary.display(),
            exercise::tests(target).len(),
        );
        ensure!(size.kept(), "too large: {verdict}");
        Ok(verdict)
    }
}

/// What [`Static`] built.
pub(crate) fn built(workspace: &Workspace) -> Option<PathBuf> {
    Some(path(workspace, Target::native()?)).filter(|path| path.is_file())
}

fn path(workspace: &Workspace, target: &Target) -> PathBuf {
    build::folder(workspace, target, Contents::Whole).join("static/linerate")
}

/// Builds for a target, writes what was built to `binary`, and runs it; its bytes.
pub(crate) fn make(
    workspace: &Workspace,
    target: &Target,
    contents: Contents,
    binary: &Path,
) -> Result<usize> {
    packages::provide(target.needs())?;
    target.provide_library()?;
    let with_symbols = build::build(workspace, target, contents)?;
    build::strip(target, &with_symbols, binary)?;
    let passed = exercise::exercise(target, binary)?;
    ensure!(passed > 0, "{} passed no test", binary.display());
    size(binary)
}

/// Builds for a target as tests are built: static, with checks of overflow, without authentication.
pub(crate) fn checked(workspace: &Workspace, target: &Target) -> Result<PathBuf> {
    packages::provide(target.needs())?;
    target.provide_library()?;
    build::build_checked(workspace, target)
}

fn size(binary: &Path) -> Result<usize> {
    let length = fs::metadata(binary).context("cannot read what was built")?.len();
    usize::try_from(length).context("too large")
}
