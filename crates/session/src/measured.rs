//! A test that is over, as this end saw it.

use measurement::outcome::CpuUse;
use measurement::record::StreamRecord;
use measurement::{Course, PacingReport, Sample, TestPlan, Timestamp};

/// Which end of the control connection this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// A test that is over.
pub(crate) struct Measured {
    pub(crate) plan: TestPlan,
    pub(crate) records: Vec<StreamRecord>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) base: usize,
    pub(crate) stopped: Option<Timestamp>,
    pub(crate) cpu: CpuUse,
    /// How this end's senders kept their rate.
    pub(crate) pacing: Option<PacingReport>,
    /// The same of the peer's, if it told.
    pub(crate) peer_pacing: Option<PacingReport>,
    pub(crate) stream_error: Option<String>,
}

impl Measured {
    /// The same, for those who only look.
    pub(crate) fn course(&self) -> Course<'_> {
        Course {
            plan: &self.plan,
            streams: &self.records,
            samples: &self.samples,
            base: self.base,
            stopped: self.stopped,
            cpu: self.cpu,
        }
    }
}
