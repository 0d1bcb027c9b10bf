//! The data of the last stage: a test that runs, or has run.

use std::time::Duration;

use measurement::Timestamp;
use measurement::record::PeerStream;

use crate::server::concurrent_tests::Presence;
use crate::server::deferred::Deferred;
use crate::server::limits::{Excess, Limits, Watch};
use crate::server::options::SessionOptions;
use crate::server::pace::Pace;
use crate::server::progress::Progress;
use crate::server::stay::Stay;
use crate::spec::RunSpec;
use crate::trial::Trial;

/// A test that runs, or has run.
pub(super) struct Running {
    pub(super) trial: Trial,
    /// Its entry among the tests that run at one time; none: it is a probe.
    pub(super) presence: Option<Presence>,
    watch: Watch,
    progress: Option<Progress>,
    /// Whether it moves enough to keep its place when others need it.
    pace: Pace,
    /// Nothing was received for too long.
    silence: Deferred,
    /// The client should have ended the test.
    grace: Deferred,
    pub(super) peer_streams: Vec<PeerStream>,
    pub(super) conclusion: Conclusion,
    pub(super) length: Length,
}

/// Whether the observer has been shown the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conclusion {
    Pending,
    Shown,
}

/// How long a test ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    Whole,
    /// The client ended it in order, but long before its time.
    CutShort,
}

/// Why a running test is ended by the server.
pub(super) enum Failure {
    Excess(Excess),
    NothingReceived,
    TimeIsUp,
}

impl Running {
    pub(super) fn new(
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
            peer_streams: Vec::new(),
            conclusion: Conclusion::Pending,
            length: Length::Whole,
        }
    }

    /// When it is to be looked at next.
    pub(super) fn next_look(&self) -> Option<Timestamp> {
        let trial = &self.trial;
        let overtime = trial.time_is_up_at().map(|end| end.after(OVERTIME));
        let overtime = overtime.filter(|_| trial.stopped_at().is_none());
        let progress = self.progress.as_ref().map(Progress::next_look);
        let (silence, grace) = (self.silence.next_look(), self.grace.next_look());
        let looks = [overtime, trial.next_tick(), grace, silence, progress];
        let pace = trial.stopped_at().is_none().then(|| self.pace.next_look());
        let further = [self.watch.next_look(), pace];
        looks.into_iter().chain(further).flatten().min()
    }

    /// Tells others whether it moves enough to keep its place.
    pub(super) fn look_at_pace(&mut self, now: Timestamp, stay: &Stay) {
        let trial = &self.trial;
        if trial.stopped_at().is_none() {
            self.pace.look(now, trial.pause(), || trial.moved(), stay);
        }
    }

    /// Why the server ends it now, if it does.
    pub(super) fn failure(&mut self, now: Timestamp, options: &SessionOptions) -> Option<Failure> {
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
/// How long after its time the client may end the test before the sending stops.
pub(super) const OVERTIME: Duration = Duration::from_secs(1);
