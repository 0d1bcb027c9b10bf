//! Settings: kills of a process that changes them, after each of which they are restored.

use anyhow::Result;

use crate::command;
use crate::hosts::UnderTest;
use crate::workspace::Workspace;

/// Runs the test of kills, with more of them.
pub(super) fn run(under_test: &UnderTest) -> Result<String> {
    let kills = if under_test.short { 20 } else { 200 };
    let mut test = command::cargo(["test", "--package", "linerate-host", "--test", "tuned"]);
    test.args(["--", "--exact", "kills_at_random_instants_are_undone"]);
    test.env("LINERATE_TEST_KILLS", kills.to_string());
    command::run(test.current_dir(&Workspace::find()?.root))?;
    Ok(format!("proof tuning: {kills} kills, the settings as before after each"))
}
