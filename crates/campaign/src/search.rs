//! Strategies that decide from the tests so far which test is run next: [`Repeat`], [`Alternate`],
//! [`Fastest`], [`Sweep`], [`Decide`] and [`Throughput`]. They do no I/O; [`Runner::search`](crate::Runner::search)
//! runs the tests.
//!
//! A new strategy is one file in this folder and one line in the list below.

use std::path::PathBuf;
use std::time::Duration;

use measurement::outcome::Ending;
use measurement::plan::PlanDraft;
use measurement::remedy::{Change, Setting};
use measurement::{RateSearch, RecordSet, TestPlan, TestRecord, Transport};
use session::SessionError;
use session::client::Watching;

mod alternate;
mod decide;
mod engines;
mod fastest;
mod rate;
mod repeat;
mod sweep;
mod throughput;

pub use alternate::{Alternate, Pairs};
pub use decide::Decide;
pub use fastest::Fastest;
pub use repeat::Repeat;
pub use sweep::Sweep;
pub use throughput::Throughput;

/// A strategy that decides after each test which one to run next, e.g. [`Repeat`].
/// [`Runner::search`](crate::Runner::search) runs the tests.
pub trait Search {
    /// The next step, given the finished trials `done` of this search in order.
    fn next(&mut self, done: &[Trial]) -> Next;

    /// The tasks that are not run if the search ends after `done`, in the order in which they would
    /// have run.
    fn remaining(&self, _done: &[Trial]) -> Vec<Task> {
        Vec::new()
    }

    /// Adds summaries over all records of the search.
    fn conclude(&self, _records: &mut RecordSet) {}
}

/// What a [`Search`] does next: run a test, or end.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub enum Next {
    /// Run this task as the next test.
    Run(Task),
    /// End: the search is complete.
    Done,
    /// End: the search cannot continue, since the last test ended early.
    Stop,
}

/// A test that a [`Search`] requests: its plan, and its purpose (a result or a trial).
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Plan of the test, and what is measured beside it.
    pub row: PlannedRow,
    /// Whether the test gives a result or is a trial.
    pub purpose: Purpose,
}

/// Plan of a test, and whether the round-trip time is probed beside it. A search runs a row once or
/// several times.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedRow {
    /// Plan of the test.
    pub plan: TestPlan,
    /// Where its rate comes from.
    pub rate: RowRate,
    /// Time from one probe of the round-trip time to the next; none: no probe runs beside the test.
    pub probe_every: Option<Duration>,
    /// CPUs to which the workers of this host are pinned, in place of those of the request; empty:
    /// they are not pinned. None: those of the request.
    pub cpus: Option<Vec<usize>>,
    /// Settings of this host that are in effect while the row runs, beside its own ones; a
    /// [`Tuner`](crate::Tuner) makes them.
    pub settings: Vec<Setting>,
    /// Settings of further hosts, which let this one change them, in effect while the row runs.
    pub elsewhere: Vec<Change>,
    /// Server of the row, in place of that of the request; none: that of the request.
    pub server: Option<ServerAddress>,
    /// Program that runs the test of the row, by a [`Delegate`](crate::Delegate); none: this one.
    pub program: Option<PathBuf>,
    /// Whether single datagrams were too slow: datagrams go and come many in one piece (GSO, GRO) where
    /// both ends can do so.
    pub pieces: bool,
}

/// Address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    /// Name or address of the host.
    pub host: String,
    /// Port of the server.
    pub port: u16,
}

/// Where the rate of a row comes from.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum RowRate {
    /// The plan has it.
    #[default]
    Planned,
    /// Trials are to find the highest rate without loss first; for UDP. They take up to half
    /// of the time of the row, and it the rest.
    ToFind,
    /// A search found it: the plan has it.
    Found(Box<RateSearch>),
}

/// Purpose of a test: a result that is reported, or a trial that helps a search to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The test gives a result: it is watched, judged and kept as a record.
    Result {
        /// Index of the run among repeated runs of the row, from 0.
        run: u32,
        /// Number of runs of the row.
        of: u32,
    },
    /// The test gives a result as well: it is to answer a question that earlier results left open.
    Further {
        /// The question, e.g. `does a slower run lose as well?`
        question: &'static str,
    },
    /// The test is a trial that helps a search to decide: it is neither judged nor a result.
    Trial {
        /// Description for the progress bar, e.g. `trying engines`.
        what: &'static str,
        /// The hosts that are watched meanwhile.
        watching: Watching,
    },
}

/// A test that was run for a [`Search`]: the task, and its record or the error for which there is
/// none.
#[derive(Debug)]
pub struct Trial {
    /// The task of the test.
    pub task: Task,
    /// Record of the test, judged if the task asks for a result; or the error for which there is
    /// none.
    pub result: Result<TestRecord, SessionError>,
    /// How long the test took, with its opening and its end.
    pub took: Duration,
}

impl PlannedRow {
    /// A row with this plan, without a probe of the round-trip time.
    pub const fn of_plan(plan: TestPlan) -> Self {
        Self {
            plan,
            rate: RowRate::Planned,
            probe_every: None,
            cpus: None,
            settings: Vec::new(),
            elsewhere: Vec::new(),
            server: None,
            program: None,
            pieces: false,
        }
    }

    /// The same row, whose rate trials are to find: UDP without a rate.
    #[must_use]
    pub fn at_the_rate_without_loss(self) -> Self {
        let is_open = self.plan.transport == Transport::Udp
            && self.plan.options.rate.is_none()
            && self.plan.exchange.is_none();
        if is_open { Self { rate: RowRate::ToFind, ..self } } else { self }
    }

    /// The CPUs of the row as its record has them, under the label [`CPUS`]: `0,2`, or `any`. None:
    /// those of the request, which the record does not have.
    pub(crate) fn placement(&self) -> Option<String> {
        let names = self.cpus.as_ref()?.iter().map(usize::to_string).collect::<Vec<_>>();
        Some(if names.is_empty() { "any".to_owned() } else { names.join(",") })
    }

    /// The settings of the row as its record has them, under the label [`SETTINGS`]. None: it has none.
    pub(crate) fn shown_settings(&self) -> Option<String> {
        let shown: Vec<_> = self.settings.iter().map(Setting::to_string).collect();
        (!shown.is_empty()).then(|| shown.join("; "))
    }

    /// Whether `record` is one of this row, whatever rate a search found for it.
    pub fn is_of(&self, record: &TestRecord) -> bool {
        let is_pinned_so = |cpus: String| record.tags.get(CPUS) == Some(&cpus);
        let is_set_so = record.tags.get(SETTINGS) == self.shown_settings().as_ref();
        if !is_set_so || !self.placement().is_none_or(is_pinned_so) {
            return false;
        }
        if record.trials.rate.is_none() {
            return record.plan == self.plan;
        }
        let mut draft = PlanDraft::from(record.plan.clone());
        (draft.options.rate, draft.end) = (self.plan.options.rate, self.plan.end);
        draft == *self.plan
    }
}

impl Task {
    /// Title of the task for progress displays, e.g. `TCP send 2/3` for the second of three runs.
    pub fn title(&self) -> String {
        let title = self.row.plan.title();
        match self.purpose {
            Purpose::Result { of: 0 | 1, .. } => title,
            Purpose::Result { run, of } => format!("{title} {}/{of}", run + 1),
            Purpose::Further { question } => format!("{title}: {question}"),
            Purpose::Trial { what, .. } => format!("{title}: {what}"),
        }
    }
}

impl Purpose {
    /// Whether the test is judged and kept as a record; false for a [`Self::Trial`].
    pub const fn is_result(self) -> bool {
        matches!(self, Self::Result { .. } | Self::Further { .. })
    }

    /// The question that a [`Self::Further`] test is to answer, e.g. `does a slower run lose as
    /// well?`. None: the user requested the test, or it is a trial.
    pub const fn question(self) -> Option<&'static str> {
        match self {
            Self::Further { question } => Some(question),
            Self::Result { .. } | Self::Trial { .. } => None,
        }
    }
}

impl Trial {
    /// Whether the test has a result and ran to its planned end.
    pub fn is_complete(&self) -> bool {
        self.result.as_ref().is_ok_and(|record| record.outcome.ending == Ending::Completed)
    }
}

/// The label of a record for the CPUs to which its row pinned the workers of this host.
pub(crate) const CPUS: &str = "cpus";
/// Label of a record: settings of this host that were in effect for its test alone.
pub(crate) const SETTINGS: &str = "settings";

/// The tests that gave a result, or were to.
fn results(done: &[Trial]) -> impl Iterator<Item = &Trial> {
    done.iter().filter(|trial| trial.task.purpose.is_result())
}

#[cfg(test)]
mod tests;
