//! `test`: everything that a contributor or a CI needs, from an empty target folder.

use std::ffi::OsString;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;

use crate::output::say;
use crate::workspace::{Build, Workspace};
use crate::{check, conformance, fuzz, packages, proof};

mod suite;

/// Runs all tests: installs what they need, check, unit tests, conformance
#[derive(Debug, Args)]
pub(crate) struct Test {}

impl Test {
    #[expect(clippy::unused_self, reason = "each task is run by its value")]
    pub(crate) fn run(self) -> Result<String> {
        let start = Instant::now();
        let workspace = Workspace::find()?;
        for (number, stage) in STAGES.iter().enumerate() {
            say(format!("\n== test {} of {}: {}", number + 1, STAGES.len(), stage.name));
            (stage.run)(&workspace).with_context(|| format!("test failed at: {}", stage.name))?;
        }
        let seconds = start.elapsed().as_secs();
        Ok(format!("\ntest: everything passed in {} min {} s", seconds / 60, seconds % 60))
    }
}

struct Stage {
    name: &'static str,
    run: fn(&Workspace) -> Result<()>,
}

const STAGES: [Stage; 9] = [
    Stage { name: "programs that the tests run", run: |_| packages::provide(&packages::TESTS) },
    Stage { name: "check", run: check::check },
    Stage { name: "unit, integration and documentation tests", run: suite::run },
    Stage { name: "fuzzing, five seconds for each decoder", run: fuzz::short },
    Stage { name: "conformance, every pairing", run: |w| play(w, &["matrix", "--short"]) },
    Stage { name: "drop-in, beside iperf3", run: |w| play(w, &["golden", "--short"]) },
    Stage { name: "a besieged server", run: |w| play(w, &SIEGE) },
    Stage { name: "a proof of the ledger", run: proof::short },
    Stage { name: "conformance, shaped links", run: |w| play(w, &["shaped"]) },
];

fn play(workspace: &Workspace, arguments: &[&str]) -> Result<()> {
    let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    // Built already, by the tests before; and overflows are seen.
    conformance::play(workspace, Build::Checked, &arguments)
}

/// Without the flood, which measures rather than tests.
const SIEGE: [&str; 5] =
    ["siege", "--short", "--generous", "--only", "crowd,hostile,vanished,spoofed,mutator"];
