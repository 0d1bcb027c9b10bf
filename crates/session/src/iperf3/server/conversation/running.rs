//! The data of the last stage: a test that runs, or has run.

use std::time::Duration;

use measurement::Timestamp;
use measurement::record::PeerStream;

use crate::server::minded::MindedTrial;

/// A test that runs, or has run.
pub(super) struct Running {
    pub(super) minded: Box<MindedTrial>,
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

impl From<Box<MindedTrial>> for Running {
    fn from(minded: Box<MindedTrial>) -> Self {
        let (conclusion, length) = (Conclusion::Pending, Length::Whole);
        Self { minded, peer_streams: Vec::new(), conclusion, length }
    }
}

impl Running {
    /// When it is to be looked at next.
    pub(super) fn next_look(&self) -> Option<Timestamp> {
        let trial = &self.minded.trial;
        let overtime = trial.time_is_up_at().map(|end| end.after(OVERTIME));
        let overtime = overtime.filter(|_| trial.stopped_at().is_none());
        overtime.into_iter().chain(self.minded.next_look()).min()
    }
}

/// How long after its time the client may end the test before the sending stops.
pub(super) const OVERTIME: Duration = Duration::from_secs(1);
