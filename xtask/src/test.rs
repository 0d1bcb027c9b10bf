//! `test`: the gate, everything that a change must pass, from an empty target folder.
//!
//! All that it compiles it compiles once: lints, documentation and tests share what clippy's driver
//! makes. What takes longer than a change should wait for is a stage of `long`.

use std::ffi::OsString;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;

use crate::output::say;
use crate::workspace::{Build, Workspace};
use crate::{check, conformance, packages};

mod built;
mod documentation;
mod suite;

use suite::Job;

/// Runs what a change must pass: rules, lints, tests, documentation, short conformance and fuzzing
#[derive(Debug, Args)]
pub(crate) struct Test {}

impl Test {
    #[expect(clippy::unused_self, reason = "each task is run by its value")]
    pub(crate) fn run(self) -> Result<String> {
        let start = Instant::now();
        let workspace = Workspace::find()?;
        for (number, stage) in STAGES.iter().enumerate() {
            let stage_start = Instant::now();
            say(format!("\n== test {} of {}: {}", number + 1, STAGES.len(), stage.name));
            (stage.run)(&workspace).with_context(|| format!("test failed at: {}", stage.name))?;
            say(format!("== {} took {}", stage.name, spent(stage_start)));
        }
        Ok(format!("\ntest: everything passed in {}", spent(start)))
    }
}

/// The time since `start`: `3 min 20 s`.
pub(crate) fn spent(start: Instant) -> String {
    let seconds = start.elapsed().as_secs();
    format!("{} min {} s", seconds / 60, seconds % 60)
}

struct Stage {
    name: &'static str,
    run: fn(&Workspace) -> Result<()>,
}

const STAGES: [Stage; 4] = [
    Stage { name: "programs that the tests run", run: |_| packages::provide(&packages::TESTS) },
    Stage { name: "rules, generated files and formatting", run: check::quick },
    Stage { name: "lints, tests, short fuzzing and conformance", run: lints_and_tests },
    Stage { name: "documentation and its examples", run: documentation::check },
];

fn lints_and_tests(workspace: &Workspace) -> Result<()> {
    let mut jobs: Vec<_> = built::build(workspace)?.iter().map(Job::tests).collect();
    // Every pairing with iperf3; iperf2; the drop-in beside iperf3.
    for what in ["matrix", "iperf2", "golden"] {
        let arguments = [what, "--short"].map(OsString::from);
        // Built already; and overflows are seen.
        let command = conformance::command(workspace, Build::Checked, &arguments)?;
        jobs.push(Job { name: format!("conformance {what}"), command });
    }
    suite::run(jobs)
}
