//! Programs side by side on hosts of their own: what a bench of them says, and how all of them run.

use anyhow::Result;
use clap::Args;
use testbed::candidate::Candidate;
use testbed::comparison::{self, Comparison, Job};
use testbed::output::say;
use testbed::progress::Progress;
use testbed::rounds::{self, JobRow};
use testbed::topology;

use super::flags::Flags;
use super::values;

/// What is compared, and what is promised of it. Its fields are its options.
pub(super) trait Bench: Args {
    /// Who chooses the congestion control of TCP.
    const CONGESTION: Congestion = Congestion::Programs;
    /// Runs a program once.
    const RUN: comparison::Run = comparison::seen;
    /// Counts the runs.
    const PROGRESS: fn(usize) -> Result<Progress> = Progress::start;
    /// Shows a row when it is complete.
    const SHOW: fn(&JobRow<Job>) = values::show;

    /// The programs, in the order in which they take turns.
    fn candidates(&self, flags: &Flags) -> Result<Vec<Candidate>>;

    /// What each of them is asked for.
    fn jobs(&self) -> Vec<Job>;

    /// Rounds, and seconds of each run.
    fn extent(&self, flags: &Flags) -> (u32, u32) {
        (flags.rounds, flags.time)
    }

    /// What stands above the report, and is shown before the first round; empty: nothing.
    fn head(&self, _comparison: &Comparison) -> Result<String> {
        Ok(String::new())
    }

    /// The tables.
    fn report(&self, comparison: &Comparison, rows: &[JobRow<Job>]) -> String {
        values::report(comparison, rows)
    }

    /// The last line.
    fn verdict(&self, rows: &[JobRow<Job>]) -> Result<String>;
}

/// Who chooses the congestion control of TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Congestion {
    /// Each program has its own, or none is sent by TCP.
    Programs,
    /// It is one that all of them take.
    Common,
}

// A bench with the flags that all have; its help is that of the bench.
#[derive(Debug, Args)]
pub(super) struct Compared<B: Bench> {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    bench: B,
}

impl<B: Bench> Compared<B> {
    pub(super) fn run(self) -> Result<String> {
        let Self { flags, bench } = self;
        let candidates = bench.candidates(&flags)?;
        // Before the first thread, as it asks.
        topology::prepare()?;
        let congestion = match B::CONGESTION {
            Congestion::Programs => None,
            Congestion::Common => Some(comparison::congestion(&candidates)?),
        };
        let (rounds, seconds) = bench.extent(&flags);
        let (run, progress, show) = (B::RUN, B::PROGRESS, B::SHOW);
        let comparison =
            Comparison { rounds, seconds, congestion, candidates, run, progress, show };
        let head = bench.head(&comparison)?;
        if !head.is_empty() {
            say(&head);
        }
        let rows = rounds::run(&comparison, &bench.jobs())?;
        flags.publish(&format!("{head}{}", bench.report(&comparison, &rows)))?;
        bench.verdict(&rows)
    }
}
