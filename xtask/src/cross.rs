//! `cross`: the lints on hosts of other width and byte order.

use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;

use crate::command;
use crate::workspace::Workspace;

/// Lints the binary for hosts of 32 and 64 bits and either byte order
///
/// Needs rustup, and adds the targets to the toolchain. Nothing is linked or run.
#[derive(Debug, Args)]
pub(crate) struct Cross {
    /// Targets to check instead of the usual ones
    #[arg(value_name = "TARGET", default_values_t = TARGETS.map(String::from))]
    targets: Vec<String>,
}

impl Cross {
    pub(crate) fn run(self) -> Result<String> {
        let workspace = Workspace::find()?;
        command::run(Command::new("rustup").args(["target", "add"]).args(&self.targets))
            .context("cross needs rustup and its targets")?;
        for target in &self.targets {
            let mut lint = command::cargo(["clippy", "--package", "linerate", "--target", target]);
            // Authentication needs a C compiler for the target, which is not asked for here.
            lint.args(["--no-default-features", "--", "-D", "warnings"]);
            command::run(lint.current_dir(&workspace.root))?;
        }
        Ok(format!("cross: {} targets passed", self.targets.len()))
    }
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
