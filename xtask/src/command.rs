//! Running other programs.

use std::env;
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::output::{pass_on, say};

/// The cargo that runs this task.
pub(crate) fn cargo<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    command
}

/// A cargo that has clippy's driver compile and lint the crates of the workspace, as the alias
/// `cargo xtask` has it. What it makes can be run, unlike what `cargo clippy` makes.
pub(crate) fn linting_cargo<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> Command {
    let mut cargo = cargo(arguments);
    cargo.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver");
    cargo
}

/// Shows a command, runs it, and fails if it does.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    say(format!("$ {shown}"));
    let status = command.status().with_context(|| format!("cannot run {shown}"))?;
    ensure!(status.success(), "{shown} ended with {status}");
    Ok(())
}

/// Runs a command for what it prints.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let shown = shown(command);
    let output = command.output().with_context(|| format!("cannot run {shown}"))?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{shown} ended with {}: {}", output.status, complaint.trim());
    String::from_utf8(output.stdout).with_context(|| format!("{shown} did not print UTF-8"))
}

/// Whether a command succeeded, and the lines that it printed, which are shown as well.
pub(crate) fn listen(command: &mut Command) -> Result<(bool, Vec<String>)> {
    let shown = shown(command);
    let (reader, writer) = io::pipe().context("cannot make a pipe")?;
    command.stdout(writer.try_clone().context("cannot make a pipe")?).stderr(writer);
    let child = command.spawn().with_context(|| format!("cannot run {shown}"));
    // The command holds the ends that write: without this the lines would have no end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut lines = Vec::new();
    for line in BufReader::new(reader).lines() {
        let line = line.with_context(|| format!("cannot read what {shown} says"))?;
        pass_on(&line);
        lines.push(line);
    }
    Ok((child?.wait().with_context(|| format!("cannot wait for {shown}"))?.success(), lines))
}

/// A command as one would type it, the folder of the program left out.
fn shown(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let name = program.file_name().unwrap_or(command.get_program());
    let words = std::iter::once(name).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_without_its_folder() {
        let mut command = Command::new("/usr/bin/cargo");
        command.args(["fmt", "--all"]);
        assert_eq!(shown(&command), "cargo fmt --all");
    }

    #[test]
    fn a_failure_names_the_command() {
        let error = output(&mut Command::new("false")).expect_err("false fails");
        assert!(error.to_string().starts_with("false ended with"), "{error}");
    }

    #[test]
    fn what_a_command_prints_is_kept_in_its_order() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo one; echo two >&2; echo three; exit 3"]);
        let (succeeded, lines) = listen(&mut shell).expect("a shell");
        assert!(!succeeded);
        assert_eq!(lines, ["one", "two", "three"]);
    }
}
