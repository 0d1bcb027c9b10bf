//! `test`: everything that a contributor or a CI needs, from an empty target folder.

use std::ffi::OsString;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;

use crate::output::say;
use crate::workspace::{Build, Workspace};
use crate::{
    board, check, conformance, exports, fuzz, packages, promises, proof, python, soak,
    static_binary, web,
};

mod suite;

/// Runs all tests: installs what they need, check, unit tests, conformance
#[derive(Debug, Args)]
pub(crate) struct Test {
    /// Only what takes less than four minutes on a warm build: check, and the tests of all
    /// crates but the scenarios of the command line
    #[arg(long)]
    quick: bool,
    /// Without the emulated board, for which Debian's kernel is fetched
    #[arg(long, conflicts_with = "quick")]
    no_board: bool,
    /// Begin with the stage of this number: what comes before has passed
    #[arg(long, value_name = "NUMBER", default_value_t = 1, conflicts_with = "quick")]
    from: usize,
}

impl Test {
    pub(crate) fn run(self) -> Result<String> {
        let start = Instant::now();
        let workspace = Workspace::find()?;
        let stages: &[Stage] = if self.quick { &QUICK } else { &STAGES };
        for (number, stage) in stages.iter().enumerate().skip(self.from.saturating_sub(1)) {
            let stage_start = Instant::now();
            say(format!("\n== test {} of {}: {}", number + 1, stages.len(), stage.name));
            if self.no_board && [STATIC.name, BOARD.name].contains(&stage.name) {
                say("not run: --no-board");
                continue;
            }
            (stage.run)(&workspace).with_context(|| format!("test failed at: {}", stage.name))?;
            say(format!("== {} took {}", stage.name, show(stage_start)));
        }
        Ok(format!("\ntest: everything passed in {}", show(start)))
    }
}

/// The time since `start`: `3 min 20 s`.
fn show(start: Instant) -> String {
    let seconds = start.elapsed().as_secs();
    format!("{} min {} s", seconds / 60, seconds % 60)
}

struct Stage {
    name: &'static str,
    run: fn(&Workspace) -> Result<()>,
}

const PROGRAMS: Stage =
    Stage { name: "programs that the tests run", run: |_| packages::provide(&packages::TESTS) };
const CHECK: Stage = Stage { name: "check", run: check::check };

const BOARD: Stage = Stage { name: "an emulated board", run: board::short };

const STATIC: Stage = Stage {
    name: "static files, for this machine and the board",
    run: |w| static_binary::build_ahead(w, board::riscv()?),
};

const STAGES: [Stage; 17] = [
    PROGRAMS,
    CHECK,
    Stage { name: "unit, integration and documentation tests", run: suite::run },
    Stage { name: "fuzzing, three seconds for each decoder", run: fuzz::short },
    Stage { name: "conformance, every pairing", run: |w| play(w, &["matrix", "--short"]) },
    Stage { name: "conformance, iperf2", run: |w| play(w, &["iperf2", "--short"]) },
    Stage { name: "drop-in, beside iperf3", run: |w| play(w, &["golden", "--short"]) },
    Stage { name: "a besieged server", run: |w| play(w, &SIEGE) },
    Stage { name: "a server under all kinds of clients", run: soak::short },
    Stage { name: "proofs of the ledger, of A/B tests, tunings and copies", run: proof::short },
    // In 8 s the queue that drains after the end is little of what counters see.
    Stage { name: "conformance, shaped links", run: |w| play(w, &["shaped", "--time", "8"]) },
    STATIC,
    Stage { name: "the Python package", run: python::short },
    Stage { name: "exports, by the readers of others", run: exports::check },
    Stage { name: "reports in a browser", run: web::short },
    BOARD,
    Stage { name: "promises of size, memory and wall time", run: promises::quick },
];

/// For daily work.
const QUICK: [Stage; 3] =
    [PROGRAMS, CHECK, Stage { name: "unit and integration tests", run: suite::run_quick }];

fn play(workspace: &Workspace, arguments: &[&str]) -> Result<()> {
    let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    // Built already, by the tests before; and overflows are seen.
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
