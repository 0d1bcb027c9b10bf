//! `long`: what takes longer than a change should wait for: sieges, soaks, proofs, packages, emulated
//! machines. Each stage guards folders.
//!
//! `--changed` chooses the stages that guard what the last commits changed, and one more in turn.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;
use testbed::markdown::{Align, Table};

use crate::output::say;
use crate::workspace::{Build, Workspace};
use crate::{
    board, command, conformance, exports, fuzz, promises, proof, python, runtime, soak, test, web,
};

/// Runs what takes longer than a change should wait for, and prints a table
#[derive(Debug, Args)]
pub(crate) struct Long {
    /// Stages [default: all of them]
    #[arg(value_name = "STAGE")]
    stages: Vec<String>,
    /// List the stages, and the folders that each of them guards
    #[arg(long)]
    list: bool,
    /// Only stages that guard what the commits of the last four hours changed, and one more in turn
    #[arg(long, conflicts_with = "stages")]
    changed: bool,
    /// Begin no stage that would usually end later than this
    #[arg(long, value_name = "MINUTES")]
    within: Option<u64>,
}

/// A part of what is tested, and how.
struct Stage {
    name: &'static str,
    /// Folders and files whose changes call for it.
    guards: &'static [&'static str],
    /// What it usually takes on two CPUs, with what it builds.
    minutes: u64,
    run: fn(&Workspace) -> Result<()>,
}

impl Long {
    pub(crate) fn run(self) -> Result<String> {
        let workspace = Workspace::find()?;
        if self.list {
            say(list());
            return Ok(format!("long: {} stages", STAGES.len()));
        }
        if let [name] = self.stages.as_slice() {
            let stage = find(name)?;
            (stage.run)(&workspace).with_context(|| format!("{name} failed"))?;
            return Ok(format!("long: {name} passed"));
        }
        let chosen = if self.changed { changed(&workspace)? } else { named(&self.stages)? };
        let within = self.within.map(|minutes| Duration::from_secs(60 * minutes));
        run(&chosen, within)
    }
}

/// Runs each in a process of its own, to the end: some enter namespaces.
fn run(chosen: &[&Stage], within: Option<Duration>) -> Result<String> {
    let start = Instant::now();
    let mut table =
        Table::new([("stage", Align::Left), ("result", Align::Left), ("took", Align::Right)]);
    let (mut failed, mut left_out) = (Vec::new(), 0_usize);
    for stage in chosen {
        let usual = Duration::from_secs(60 * stage.minutes);
        if within.is_some_and(|within| start.elapsed() + usual > within) {
            table.push([stage.name, "not run: no time is left for it", ""].map(str::to_owned));
            left_out += 1;
            continue;
        }
        say(format!("\n== long: {}", stage.name));
        let stage_start = Instant::now();
        let mut own = Command::new(env::current_exe()?);
        let (passed, lines) = command::listen(own.args(["long", stage.name]))?;
        let result = if passed { "passed" } else { "FAILED" };
        table.push([stage.name.to_owned(), result.to_owned(), test::spent(stage_start)]);
        if !passed {
            failed.push((stage.name, lines));
        }
    }
    say(format!("\n{table}"));
    for (name, lines) in &failed {
        let end = lines.split_at(lines.len().saturating_sub(LAST_LINES)).1.join("\n");
        say(format!("\n== the end of {name}\n{end}"));
    }
    let failed: Vec<_> = failed.iter().map(|(name, _)| *name).collect();
    ensure!(failed.is_empty(), "long: {} failed", failed.join(", "));
    let passed = chosen.len() - left_out;
    Ok(format!("long: {passed} stages passed in {}, {left_out} not run", test::spent(start)))
}

fn find(name: &str) -> Result<&'static Stage> {
    let known = || STAGES.iter().map(|stage| stage.name).collect::<Vec<_>>().join(", ");
    let stage = STAGES.iter().find(|stage| stage.name == name);
    stage.with_context(|| format!("no stage {name}; there are {}", known()))
}

fn named(names: &[String]) -> Result<Vec<&'static Stage>> {
    if names.is_empty() {
        return Ok(STAGES.iter().collect());
    }
    names.iter().map(|name| find(name)).collect()
}

/// Stages that the last commits call for, in turn with the number of all commits, and one that they do not
/// call for.
fn changed(workspace: &Workspace) -> Result<Vec<&'static Stage>> {
    let git = |arguments: &[&str]| {
        command::output(Command::new("git").args(arguments).current_dir(&workspace.root))
    };
    let newest = git(&["show", "--no-patch", "--format=%ct", "HEAD"])?;
    let newest: u64 = newest.trim().parse().context("git told no time")?;
    let since = format!("--since={}", newest.saturating_sub(RECENT_SECONDS));
    let files = git(&["log", &since, "--format=", "--name-only", "HEAD"])?;
    let commits = git(&["rev-list", "--count", "HEAD"])?;
    let commits = commits.trim().parse().context("git told no number")?;
    Ok(due(&files.lines().collect(), commits))
}

fn due(files: &BTreeSet<&str>, commits: usize) -> Vec<&'static Stage> {
    let mut stages: Vec<_> = STAGES.iter().collect();
    stages.rotate_left(commits % STAGES.len());
    let is_called_for = |stage: &&Stage| {
        let is_guarded = |file: &&&str| stage.guards.iter().any(|guard| file.starts_with(guard));
        files.iter().any(|file| is_guarded(&file))
    };
    let (mut called, others): (Vec<_>, Vec<_>) = stages.into_iter().partition(is_called_for);
    called.extend(others.into_iter().take(1));
    called
}

/// A table for people.
fn list() -> Table {
    let mut table =
        Table::new([("stage", Align::Left), ("minutes", Align::Right), ("guards", Align::Left)]);
    for stage in &STAGES {
        table.push([stage.name.to_owned(), stage.minutes.to_string(), stage.guards.join(", ")]);
    }
    table
}

/// Number of lines that are repeated below the table for each failed stage.
const LAST_LINES: usize = 25;
/// Four hours before the newest commit, in seconds.
const RECENT_SECONDS: u64 = 4 * 60 * 60;

/// In the order of what they take.
const STAGES: [Stage; 16] = [
    Stage {
        name: "documentation",
        guards: &["crates/cli/src", "conformance/src", "testbed", "xtask"],
        minutes: 1,
        run: documentation,
    },
    Stage {
        name: "shaped",
        guards: &["conformance", "crates/dataplane", "crates/lab", "crates/session"],
        minutes: 2,
        run: |workspace| conform(workspace, &["shaped", "--time", "8"]),
    },
    Stage {
        name: "siege",
        guards: &["conformance/src/siege", "crates/protocol/src", "crates/session/src"],
        minutes: 3,
        run: |workspace| conform(workspace, &SIEGE),
    },
    Stage {
        name: "soak",
        guards: &["crates/dataplane/src", "crates/session/src", "xtask/src/soak"],
        minutes: 2,
        run: soak::short,
    },
    Stage {
        name: "proofs",
        guards: &["crates/analysis/src", "crates/campaign", "crates/copy", "xtask/src/proof"],
        minutes: 4,
        run: proof::short,
    },
    Stage {
        name: "faults",
        guards: &["crates/analysis/src", "xtask/src/faults"],
        minutes: 4,
        run: |_| crate::task(&["faults", "--short"]),
    },
    Stage {
        name: "python",
        guards: &["python", "crates/measurement/src", "docs/schema"],
        minutes: 2,
        run: python::short,
    },
    Stage {
        name: "exports",
        guards: &["contrib/grafana", "crates/report/src/export", "xtask/src/exports"],
        minutes: 2,
        run: exports::check,
    },
    Stage {
        name: "browser",
        guards: &["crates/report/src/html", "web", "xtask/src/web"],
        minutes: 2,
        run: web::short,
    },
    Stage {
        name: "board",
        guards: &["crates/copy", "crates/linux/src", "xtask/src/board"],
        minutes: 6,
        run: board::short,
    },
    Stage {
        name: "runtime",
        guards: &["crates/copy", "crates/linux", "runtime"],
        minutes: 4,
        run: runtime::short,
    },
    Stage {
        name: "promises",
        guards: &["crates/cli/src", "crates/dataplane/src", "xtask/src/static_binary"],
        minutes: 8,
        run: promises::quick,
    },
    Stage {
        name: "release",
        guards: &["Cargo.toml", "contrib", "xtask/src/release", "xtask/src/static_binary"],
        minutes: 5,
        run: |_| crate::task(&["release", "--target", env::consts::ARCH]),
    },
    Stage {
        name: "cross",
        guards: &["crates/linux", "crates/measurement/src", "crates/protocol/src"],
        minutes: 8,
        run: |_| crate::task(&["cross"]),
    },
    Stage {
        name: "fuzz",
        guards: &["crates/host/src", "crates/protocol/src", "crates/report/src/import", "fuzz"],
        minutes: 9,
        run: |workspace| fuzz::all(workspace, A_TARGET),
    },
    Stage {
        name: "conformance",
        guards: &["conformance", "crates/protocol/src", "crates/report/src/iperf3"],
        minutes: 15,
        run: |workspace| conform(workspace, &["matrix"]),
    },
];

/// Of programs too, of which the gate documents the libraries alone.
fn documentation(workspace: &Workspace) -> Result<()> {
    let mut cargo = command::cargo(["doc", "--workspace", "--no-deps"]);
    cargo.env("RUSTDOCFLAGS", "-D warnings");
    command::run(cargo.current_dir(&workspace.root))
}

fn conform(workspace: &Workspace, arguments: &[&str]) -> Result<()> {
    let arguments: Vec<_> = arguments.iter().map(OsString::from).collect();
    conformance::play(workspace, Build::Checked, &arguments)
}

/// Without the flood, which measures rather than tests.
const SIEGE: [&str; 5] = [
    "siege",
    "--short",
    "--generous",
    "--only",
    "shut,held,crowd,hostile,vanished,spoofed,mutator",
];
/// For each target of fuzzing.
const A_TARGET: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn what_a_stage_guards_is_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let guards = STAGES.iter().flat_map(|stage| stage.guards);
        guards.for_each(|guard| assert!(root.join(guard).exists(), "{guard}"));
    }

    #[test]
    fn contributors_are_told_which_stage_guards_what() {
        let told = include_str!("../../CONTRIBUTING.md");
        for stage in &STAGES {
            let head = format!("| `{}` |", stage.name);
            let row = told.lines().find(|line| line.starts_with(&head)).expect(stage.name);
            assert_eq!(row.rsplit('|').nth(1).map(str::trim), Some(&*guards(stage)));
        }
    }

    fn guards(stage: &Stage) -> String {
        stage.guards.iter().map(|guard| format!("`{guard}`")).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn changes_call_for_their_stages_and_the_number_of_commits_for_one_more() {
        let names = |files: &[&str], commits| {
            let due = due(&files.iter().copied().collect(), commits);
            due.iter().map(|stage| stage.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&[], 0), ["documentation"]);
        assert_eq!(names(&[], 1), ["shaped"]);
        assert_eq!(names(&["web/src/chart.ts"], 1), ["browser", "shaped"]);
        let browser = STAGES.iter().position(|stage| stage.name == "browser").expect("it");
        assert_eq!(names(&["web/src/chart.ts"], browser), ["browser", "board"]);
    }

    #[test]
    fn each_turn_comes_to_another_stage() {
        let turns: BTreeSet<_> =
            (0..STAGES.len()).map(|commits| due(&BTreeSet::new(), commits)[0].name).collect();
        assert_eq!(turns.len(), STAGES.len());
    }
}
