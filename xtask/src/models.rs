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
        let workspace = Workspace::find()?;
        let words = ["test", "--package", "linerate-mars", "--lib", "--release", "models::"];
        let mut test = command::cargo(words);
        // Built in another way, and so in another place, than everything else.
        test.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", workspace.root.join(TARGET));
        command::run(test.current_dir(&workspace.root))?;
        Ok("models: every order of events is fine".to_owned())
    }
}

const TARGET: &str = "target/models";
