//! `conformance`: real iperf3 against ours, played by the crate of that name.

use std::ffi::OsString;
use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::command;
use crate::workspace::{Build, Workspace};

/// Builds the release binary and passes the arguments on to crate conformance
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Conformance {
    /// As in `cargo run -p conformance -- help`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    arguments: Vec<OsString>,
}

impl Conformance {
    pub(crate) fn run(self) -> Result<String> {
        play(&Workspace::find()?, Build::Release, &self.arguments)?;
        Ok("conformance: passed".to_owned())
    }
}

/// Runs crate conformance against the binary that `build` gives, unless the arguments name
/// another.
pub(crate) fn play(workspace: &Workspace, build: Build, arguments: &[OsString]) -> Result<()> {
    command::run(&mut command(workspace, build, arguments)?)
}

/// The command that [`play`] runs.
pub(crate) fn command(
    workspace: &Workspace,
    build: Build,
    arguments: &[OsString],
) -> Result<Command> {
    let mut run = Command::new(workspace.program(build, "conformance")?);
    run.current_dir(&workspace.root).args(arguments);
    if wants_binary(arguments) {
        run.arg("--linerate").arg(workspace.build(build)?);
    }
    Ok(run)
}

/// Whether the arguments are a sub-command that plays, and leave open against what.
fn wants_binary(arguments: &[OsString]) -> bool {
    let first = arguments.first().map(|word| word.to_string_lossy());
    let plays = first.is_some_and(|word| word != "help" && !word.starts_with('-'));
    let named =
        |word: &OsString| word == "--linerate" || word.to_string_lossy().starts_with("--linerate=");
    let asks_for_help = |word: &OsString| word == "--help" || word == "-h";
    plays && !arguments.iter().any(|word| named(word) || asks_for_help(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_is_added_where_it_is_wanted() {
        let wants = |line: &str| {
            wants_binary(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
        };
        assert!(wants("matrix --short") && wants("shaped"));
        assert!(!wants("") && !wants("help") && !wants("--help") && !wants("matrix --help"));
        assert!(!wants("matrix --linerate target/debug/linerate"));
        assert!(!wants("matrix --linerate=target/debug/linerate"));
    }
}
