//! `models`: what wakes sleepers in `mars`, and its objects, in every order of events (loom).

use anyhow::Result;
use clap::Args;

use crate::command;
use crate::workspace::Workspace;

/// Plays the models of the runtime through in every order of events
#[derive(Debug, Args)]
pub(crate) struct Models {}

impl Models {
    #[expect(clippy::unused_self, reason = "each task is run by its value")]
    pub(crate) fn run(self) -> Result<String> {
        run(&Workspace::runtime()?)?;
        Ok("models: every order of events is fine".to_owned())
    }
}

/// In the workspace of the runtime.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let words = ["test", "--package", "linerate-mars", "--lib", "--release", "models::"];
    let mut test = command::cargo(words);
    // Built in another way, and so in another place, than everything else.
    test.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", workspace.target.join("models"));
    command::run(test.current_dir(&workspace.root))
}
