//! Conformance: real programs against each other, in networks made for them.
//!
//! Every run joins two hosts of crate `lab`, starts a server on one and a client on the
//! other, and holds what they report against what was asked ([`promises`]). What iperf3
//! is known to do differently is data ([`deviations`]), each with its clause of
//! docs/protocol/iperf3.md; anything else fails. [`siege`] holds the server alone against
//! crowds and attackers. It touches no network of the machine.

#![forbid(unsafe_code)]

mod ask;
mod bench;
mod cell;
mod consumers;
mod deviations;
mod golden;
mod iperf2;
mod matrix;
mod pairwise;
mod program;
mod promises;
mod seen;
mod shaped;
mod siege;
mod suite;
mod table;
mod trial;
mod versions;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

fn main() -> ExitCode {
    match run(&Arguments::parse().task) {
        Ok(verdict) => verdict.into(),
        Err(error) => {
            table::complain(&format!("conformance: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(task: &Task) -> anyhow::Result<Verdict> {
    match task {
        Task::Consumers(task) => task.prepare()?,
        Task::Suite(task) => task.prepare()?,
        _ => {}
    }
    // A bare server runs where the siege starts it.
    if !matches!(task, Task::Bare(_)) {
        // Before the first thread, since only then a user namespace can be entered.
        testbed::topology::prepare()?;
    }
    task.run()
}

/// Runs real iperf3 binaries and linerate against each other.
#[derive(Debug, Parser)]
#[command(name = "conformance")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    #[command(hide = true)]
    Bare(siege::Bare),
    Consumers(consumers::Consumers),
    Golden(golden::Golden),
    Iperf2(iperf2::Iperf2),
    Matrix(matrix::Matrix),
    Shaped(shaped::Shaped),
    Siege(siege::Siege),
    Suite(suite::Suite),
    Versions(versions::Versions),
}

impl Task {
    fn run(&self) -> anyhow::Result<Verdict> {
        match self {
            Self::Bare(task) => task.run(),
            Self::Consumers(task) => task.run(),
            Self::Golden(task) => task.run(),
            Self::Iperf2(task) => task.run(),
            Self::Matrix(task) => task.run(),
            Self::Shaped(task) => task.run(),
            Self::Siege(task) => task.run(),
            Self::Suite(task) => task.run(),
            Self::Versions(task) => task.run(),
        }
    }
}

/// What a task came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Every promise was kept, or the deviation is known.
    Passed,
    /// At least one was not.
    Failed,
}

impl From<Verdict> for ExitCode {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Passed => Self::SUCCESS,
            Verdict::Failed => Self::FAILURE,
        }
    }
}
