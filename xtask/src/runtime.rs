//! `runtime`: what a change of the workspace `runtime` must pass.
//!
//! The workspace of linerate builds only its crate `mars`, and only without tasks.

use anyhow::Result;
use clap::Args;

use crate::workspace::Workspace;
use crate::{command, models, packages};

/// Checks and tests the workspace of the runtime: lints, tests, programs in C, models
#[derive(Debug, Args)]
pub(crate) struct Runtime {}

impl Runtime {
    #[expect(clippy::unused_self, reason = "each task is run by its value")]
    pub(crate) fn run(self) -> Result<String> {
        short(&Workspace::find()?)?;
        Ok("runtime: passed".to_owned())
    }
}

/// All of it, in a few minutes.
pub(crate) fn short(_: &Workspace) -> Result<()> {
    packages::provide(&packages::RUNTIME)?;
    let workspace = Workspace::runtime()?;
    for words in STEPS {
        let mut cargo = command::cargo(words);
        command::run(cargo.env("RUSTDOCFLAGS", "-D warnings").current_dir(&workspace.root))?;
    }
    models::run(&workspace)
}

const STEPS: [&[&str]; 5] = [
    &["fmt", "--all", "--check"],
    &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"],
    // As linerate has it: without tasks.
    &["clippy", "--package", "linerate-mars", "--", "-D", "warnings"],
    &["doc", "--workspace", "--no-deps"],
    &["test", "--no-fail-fast"],
];
