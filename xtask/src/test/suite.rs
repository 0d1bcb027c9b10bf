//! All of cargo's tests. A target that fails is run once more, test after test: on a machine
//! that others keep busy for a moment a test of times may fail, one that is broken fails twice.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::command;
use crate::output::{pass_on, say};
use crate::workspace::Workspace;

/// Runs all of them, to the end.
pub(super) fn run(workspace: &Workspace) -> Result<()> {
    run_targets(workspace, &["--workspace"])
}

/// Runs all but documentation tests and what starts the binary for each test.
pub(super) fn run_quick(workspace: &Workspace) -> Result<()> {
    let crates = ["--workspace", "--exclude", "linerate", "--lib", "--bins", "--tests"];
    run_targets(workspace, &crates)?;
    run_targets(workspace, &["--package", "linerate", "--bins"])
}

fn run_targets(workspace: &Workspace, chosen: &[&str]) -> Result<()> {
    let mut cargo = command::cargo(["test", "--no-fail-fast"]);
    say(format!("$ cargo test --no-fail-fast {}", chosen.join(" ")));
    let (succeeded, told) = run_and_listen(cargo.args(chosen).current_dir(&workspace.root))?;
    if succeeded {
        return Ok(());
    }
    let failed = failed_targets(&told);
    ensure!(!failed.is_empty(), "cargo test failed, and names no target that did");
    say(format!("\n-- once more, test after test: {}", failed.join("; ")));
    for target in &failed {
        let mut cargo = command::cargo(["test"]);
        cargo.args(target.split_whitespace()).args(["--", "--test-threads=1"]);
        command::run(cargo.current_dir(&workspace.root))
            .with_context(|| format!("it failed twice: cargo test {target}"))?;
    }
    say(format!("-- failed the first time, passed alone: {}", failed.join("; ")));
    Ok(())
}

/// Whether a command succeeded, and what it said on standard error, which is shown as well.
fn run_and_listen(command: &mut Command) -> Result<(bool, Vec<String>)> {
    let mut child = command.stderr(Stdio::piped()).spawn().context("cannot run cargo")?;
    let Some(stderr) = child.stderr.take() else { bail!("cargo has no standard error") };
    let mut told = Vec::new();
    for line in BufReader::new(stderr).lines() {
        let line = line.context("cannot read what cargo says")?;
        pass_on(&line);
        told.push(line);
    }
    Ok((child.wait().context("cannot wait for cargo")?.success(), told))
}

/// What cargo lists at its end, each between backticks: `-p linerate-dataplane --test streams`.
fn failed_targets(told: &[String]) -> Vec<String> {
    let listed = told.iter().filter_map(|line| line.trim().strip_prefix('`')?.strip_suffix('`'));
    let targets = listed.filter(|target| target.starts_with("-p "));
    targets.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_lists_the_targets_that_failed() {
        let told = "   Running `target/debug/deps/streams-1`\n\
                    error: test failed, to rerun pass `-p linerate-dataplane --test streams`\n\
                    error: 2 targets failed:\n    `-p linerate-dataplane --test streams`\n    \
                    `-p linerate --test scenarios`\n";
        let told: Vec<_> = told.lines().map(str::to_owned).collect();
        assert_eq!(
            failed_targets(&told),
            ["-p linerate-dataplane --test streams", "-p linerate --test scenarios"]
        );
    }
}
