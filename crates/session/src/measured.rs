//! A test that is over, as this end saw it.

use measurement::outcome::CpuUse;
use measurement::record::{DirectionIntervals, StreamRecord};
use measurement::{
    Engines, HostEvidence, PacingReport, Probe, Pulse, RoundTrips, Runtime, Sample, TestPlan,
    Timestamp,
};

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
    pub(crate) intervals: Vec<DirectionIntervals>,
    pub(crate) base: usize,
    pub(crate) stopped: Option<Timestamp>,
    pub(crate) cpu: CpuUse,
    pub(crate) runtime: Option<Runtime>,
    /// How this end's senders kept their rate.
    pub(crate) pacing: Option<PacingReport>,
    /// The same of the peer's, if it told.
    pub(crate) peer_pacing: Option<PacingReport>,
    /// What moved the payload at this end.
    pub(crate) engines: Engines,
    /// The same of the peer, as far as it told.
    pub(crate) peer_engines: Engines,
    /// How long answers took, if this end asked.
    pub(crate) round_trips: Option<RoundTrips>,
    pub(crate) probes: Vec<Probe>,
    /// What this host has and did, if somebody watched it.
    pub(crate) host: HostEvidence,
    pub(crate) pulses: Vec<Pulse>,
    pub(crate) stream_error: Option<String>,
}

impl Measured {
    /// Blocks, datagrams or requests that all streams moved.
    pub(crate) fn blocks(&self) -> u64 {
        let last = self.samples.last().into_iter().flat_map(|sample| &sample.streams);
        last.map(|stream| stream.counters.blocks).sum()
    }
}
