//! All of cargo's tests. A test that fails is run once more, alone: on a machine that others keep
//! busy for a moment a test of times may fail, one that is broken fails twice. A run during which a
//! hypervisor stole so much CPU time that no result would be trusted says nothing, and is repeated
//! up to twice.

use std::fmt::{self, Display, Formatter};
use std::num::NonZero;
use std::{mem, thread};

use anyhow::{Result, ensure};
use measurement::RuleId;
use testbed::noise::Reading;

use crate::command;
use crate::output::say;
use crate::workspace::Workspace;

/// Runs all of them, to the end. Those that start the binary wait more than they compute: more of them
/// run at the same time.
pub(super) fn run(workspace: &Workspace) -> Result<()> {
    let tests = workspace.members.iter().flat_map(|member| &member.tests);
    let others = tests.filter(|name| *name != WAITING).flat_map(|name| ["--test", name]);
    let crates = ["--workspace", "--lib", "--bins", "--examples"].into_iter().chain(others);
    run_targets(workspace, &crates.collect::<Vec<_>>())?;
    let threads = thread::available_parallelism().map_or(1, NonZero::get) * THREADS_A_CPU;
    let threads = format!("--test-threads={threads}");
    run_targets(workspace, &["--workspace", "--test", WAITING, "--", &threads])?;
    run_targets(workspace, &["--workspace", "--doc"])
}

/// Tests of the binary.
const WAITING: &str = "scenarios";
/// How often a run is repeated because CPU time was stolen.
const MOST_STOLEN_RUNS: u32 = 2;
/// Of them, at the same time.
const THREADS_A_CPU: usize = 2;

/// Runs all but documentation tests and what starts the binary for each test.
pub(super) fn run_quick(workspace: &Workspace) -> Result<()> {
    let crates = ["--workspace", "--exclude", "linerate", "--lib", "--bins", "--tests"];
    run_targets(workspace, &crates)?;
    run_targets(workspace, &["--package", "linerate", "--bins"])
}

fn run_targets(workspace: &Workspace, chosen: &[&str]) -> Result<()> {
    let mut cargo = command::cargo(["test", "--no-fail-fast"]);
    say(format!("$ cargo test --no-fail-fast {}", chosen.join(" ")));
    let (succeeded, lines) = command::listen(cargo.args(chosen).current_dir(&workspace.root))?;
    if succeeded {
        return Ok(());
    }
    let failures = failures(&lines);
    ensure!(!failures.is_empty(), "cargo test failed, and names no target that did");
    for failure in &failures {
        run_alone(workspace, failure, MOST_STOLEN_RUNS)?;
    }
    for failure in &failures {
        say(format!("-- failed the first time, passed alone: {failure}"));
    }
    Ok(())
}

/// Runs what failed once more, and what fails again up to `repeats` times more if CPU time was stolen.
fn run_alone(workspace: &Workspace, failure: &Failure<'_>, repeats: u32) -> Result<()> {
    say(format!("\n-- once more, alone: {failure}"));
    let mut cargo = command::cargo(["test"]);
    let before = Reading::take()?;
    let (succeeded, lines) =
        command::listen(cargo.args(failure.arguments()).current_dir(&workspace.root))?;
    if succeeded {
        return Ok(());
    }
    let noise = Reading::take()?.noise_since(&before);
    let failed = failures(&lines);
    let is_stolen = noise.confirms(RuleId::CpuSteal);
    ensure!(is_stolen && repeats > 0 && !failed.is_empty(), "it failed twice: {failure}");
    say(format!("-- the hypervisor stole {:.0} % of a CPU meanwhile", noise.stolen * 100.0));
    failed.iter().try_for_each(|failure| run_alone(workspace, failure, repeats - 1))
}

/// A target with tests that failed.
#[derive(Debug, PartialEq, Eq)]
struct Failure<'a> {
    /// As cargo names it: `-p linerate-dataplane --test streams`.
    target: &'a str,
    /// None: the target did not get so far as to say.
    tests: Vec<&'a str>,
}

impl Failure<'_> {
    /// The target is chosen within the workspace, for which it is built already: the features
    /// of dependencies are others for a package of its own.
    fn arguments(&self) -> Vec<&str> {
        let is_integration_test = self.target.contains(" --test ");
        let target = self.target.split_whitespace().skip(if is_integration_test { 2 } else { 0 });
        let workspace = is_integration_test.then_some("--workspace");
        let options = ["--", "--test-threads=1"].into_iter();
        let tests = (!self.tests.is_empty()).then_some("--exact");
        workspace
            .into_iter()
            .chain(target)
            .chain(options)
            .chain(tests)
            .chain(self.tests.iter().copied())
            .collect()
    }
}

impl Display for Failure<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "cargo test {}", self.arguments().join(" "))
    }
}

/// A target prints its tests, and cargo after it that one failed.
fn failures(lines: &[String]) -> Vec<Failure<'_>> {
    let mut failures = Vec::new();
    let mut tests = Vec::new();
    for line in lines {
        let failed = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"));
        tests.extend(failed.filter(|name| !name.contains(' ')));
        if line.trim_start().starts_with("Running ") {
            tests.clear();
        }
        let target = line.strip_prefix("error: test failed, to rerun pass `");
        if let Some(target) = target.and_then(|rest| rest.strip_suffix('`')) {
            failures.push(Failure { target, tests: mem::take(&mut tests) });
        }
    }
    failures
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "     Running tests/streams.rs (target/debug/deps/streams-1)
test sends ... ok
test many::receive ... FAILED
error: test failed, to rerun pass `-p linerate-dataplane --test streams`
     Running unittests src/lib.rs (target/debug/deps/mars-2)
error: test failed, to rerun pass `-p linerate-mars --lib`
error: 2 targets failed:
    `-p linerate-dataplane --test streams`
    `-p linerate-mars --lib`";

    #[test]
    fn each_target_that_failed_has_its_tests() {
        let lines: Vec<_> = LINES.lines().map(str::to_owned).collect();
        let failures = failures(&lines);
        let again: Vec<_> = failures.iter().map(ToString::to_string).collect();
        assert_eq!(
            again,
            [
                "cargo test --workspace --test streams -- --test-threads=1 --exact many::receive",
                "cargo test -p linerate-mars --lib -- --test-threads=1",
            ]
        );
    }
}
