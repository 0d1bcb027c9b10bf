//! The lints of the workspace, of other targets. Nothing is linked or run.

use std::process::Command;

use anyhow::{Context, Result};

use crate::command;
use crate::workspace::Workspace;

/// Lints the binary for `targets`; empty: for the usual ones.
pub(super) fn run(workspace: &Workspace, targets: &[String]) -> Result<String> {
    let usual = TARGETS.map(String::from);
    let targets = if targets.is_empty() { &usual } else { targets };
    command::run(Command::new("rustup").args(["target", "add"]).args(targets))
        .context("cross needs rustup and its targets")?;
    for target in targets {
        let mut lint = command::cargo(["clippy", "--package", "linerate", "--target", target]);
        // The history needs a C compiler for the target, which is not asked for here.
        lint.args(["--no-default-features", "--", "-D", "warnings"]);
        command::run(lint.current_dir(&workspace.root))?;
    }
    Ok(format!("cross: {} targets passed", targets.len()))
}

/// 32 bits and 64, little-endian and big, and the boards.
const TARGETS: [&str; 6] = [
    "i686-unknown-linux-gnu",
    "powerpc-unknown-linux-gnu",
    "s390x-unknown-linux-gnu",
    "riscv64gc-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "armv7-unknown-linux-gnueabihf",
];
