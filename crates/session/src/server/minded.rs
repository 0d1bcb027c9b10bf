//! A test that runs at a server, and what it is held to while it does.

use measurement::Timestamp;

use super::concurrent_tests::Presence;
use super::deferred::Deferred;
use super::limits::{Excess, Limits, Watch};
use super::options::SessionOptions;
use super::pace::Pace;
use super::progress::Progress;
use super::stay::Stay;
use crate::spec::RunSpec;
use crate::trial::Trial;

/// A test that runs, or has run.
pub(crate) struct MindedTrial {
    pub(crate) trial: Trial,
    /// Its entry among the tests that run at one time; none: it is a probe.
    pub(crate) presence: Option<Presence>,
    watch: Watch,
    progress: Option<Progress>,
    /// Whether it moves enough to keep its place when others need it.
    pace: Pace,
    /// Nothing was received for too long.
    silence: Deferred,
    /// The client should have ended the test.
    grace: Deferred,
}

/// Why a running test is ended by the server.
pub(crate) enum Failure {
    Excess(Excess),
    NothingReceived,
    TimeIsUp,
}

impl MindedTrial {
    pub(crate) fn new(
        trial: Trial,
        presence: Option<Presence>,
        (options, limits): (&SessionOptions, &Limits),
        (spec, pace): (&RunSpec, Pace),
    ) -> Self {
        Self {
            trial,
            presence,
            watch: Watch::new(limits),
            progress: options.stall.map(|patience| Progress::new(patience, spec)),
            pace,
            silence: Deferred::default(),
            grace: Deferred::default(),
        }
    }

    /// When it is to be looked at next.
    pub(crate) fn next_look(&self) -> Option<Timestamp> {
        let trial = &self.trial;
        let progress = self.progress.as_ref().map(Progress::next_look);
        let (silence, grace) = (self.silence.next_look(), self.grace.next_look());
        let looks = [trial.next_tick(), grace, silence, progress];
        let pace = trial.stopped_at().is_none().then(|| self.pace.next_look());
        let further = [self.watch.next_look(), pace];
        looks.into_iter().chain(further).flatten().min()
    }

    /// Tells others whether it moves enough to keep its place.
    pub(crate) fn look_at_pace(&mut self, now: Timestamp, stay: &Stay) {
        let trial = &self.trial;
        if trial.stopped_at().is_none() {
            self.pace.look(now, trial.pause(), || trial.moved(), stay);
        }
    }

    /// Why the server ends it now, if it does.
    pub(crate) fn failure(&mut self, now: Timestamp, options: &SessionOptions) -> Option<Failure> {
        let trial = &self.trial;
        let pause = trial.pause() / PARTS_OF_A_LOOK;
        if let Some(excess) = self.watch.excess(now, pause, || trial.moved()) {
            return Some(Failure::Excess(excess));
        }
        let patience = options.receive_timeout;
        let deaf = self.silence.is_over(now, || trial.received_last().map(|at| at.after(patience)));
        let progress = self.progress.as_mut();
        let stalled = progress.is_some_and(|progress| progress.is_stalled(now, trial));
        if deaf || stalled {
            return Some(Failure::NothingReceived);
        }
        let late = self.grace.is_over(now, || trial.give_up_at(options.grace));
        late.then_some(Failure::TimeIsUp)
    }
}

/// The counters of a stream are read so many times faster than what the kernel reports of it.
const PARTS_OF_A_LOOK: u32 = 10;
