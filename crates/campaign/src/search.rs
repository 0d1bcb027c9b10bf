//! Strategies: objects that decide from the tests so far which test is run next. They do no I/O;
//! [`Runner::search`](crate::Runner::search) drives them.
//!
//! A new strategy is one file in this folder and one line in the list below.

use std::time::Duration;

use measurement::outcome::{Ending, Outcome};
use measurement::{RecordSet, TestPlan};
use session::SessionError;

mod engines;
mod fastest;
mod repeat;

pub use fastest::Fastest;
pub use repeat::Repeat;

/// Decides which test is run next.
pub trait Search {
    /// The decision after the trials that are `done`: all that this search asked for, in order.
    fn next(&mut self, done: &[Trial]) -> Next;

    /// The tasks that an early end after `done` leaves out, in the order in which they would
    /// have run.
    fn remaining(&self, _done: &[Trial]) -> Vec<Task> {
        Vec::new()
    }

    /// Adds to the records of the results what only the search knows.
    fn conclude(&self, _records: &mut RecordSet) {}
}

/// The decision of a search.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub enum Next {
    /// Run this test.
    Run(Task),
    /// The search is complete.
    Done,
    /// The last test ended early, and the search cannot go on without it.
    Stop,
}

/// One test that is to be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// The test, and what is measured beside it.
    pub row: Row,
    /// Why it is run.
    pub purpose: Purpose,
}

/// One plan, and what is measured beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The test.
    pub plan: TestPlan,
    /// Time from one probe of the round-trip time to the next; none: there is no probe.
    pub probe_every: Option<Duration>,
}

/// The purpose of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A result: watched by all means that were asked for, judged, and kept as a record.
    Result {
        /// Which of several runs of the same row, from 0.
        run: u32,
        /// How many runs there are.
        of: u32,
    },
    /// A trial that only helps a search to decide: not watched, not judged, not kept.
    Trial {
        /// A few words for the progress bar, e.g. `trying engines`.
        what: &'static str,
    },
}

/// One test that was run for a search.
#[derive(Debug)]
pub struct Trial {
    /// The task that was run.
    pub task: Task,
    /// The outcome, or why there is no record.
    pub result: Result<Outcome, SessionError>,
}

impl Row {
    /// A plan without a probe beside it.
    pub const fn of_plan(plan: TestPlan) -> Self {
        Self { plan, probe_every: None }
    }
}

impl Task {
    /// A few words that name it: `TCP send 2/3`.
    pub fn title(&self) -> String {
        let title = self.row.plan.title();
        match self.purpose {
            Purpose::Result { of: 0 | 1, .. } => title,
            Purpose::Result { run, of } => format!("{title} {}/{of}", run + 1),
            Purpose::Trial { what } => format!("{title}: {what}"),
        }
    }
}

impl Trial {
    /// Whether it ran to its planned end.
    pub fn is_complete(&self) -> bool {
        self.result.as_ref().is_ok_and(|outcome| outcome.ending == Ending::Completed)
    }
}

#[cfg(test)]
mod tests;
