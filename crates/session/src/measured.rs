//! A test that is over, as this end saw it.

use std::time::Duration;

use measurement::outcome::join::Ends;
pub(crate) use measurement::outcome::join::Side;
use measurement::outcome::{CpuUse, DirectionOutcome};
use measurement::record::{DirectionIntervals, PeerStream, StreamRecord};
use measurement::{
    DelayVariation, Engines, HostEvidence, PacingReport, Probe, Pulse, RoundTrips, Runtime, Sample,
    TestPlan, Timestamp,
};

/// A test that is over.
pub(crate) struct Measured {
    pub(crate) side: Side,
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
    /// How the peer's senders kept their rate, if it reported it.
    pub(crate) peer_pacing: Option<PacingReport>,
    /// The delay variation that receivers of this end, and of the peer, saw.
    pub(crate) ipdv: (Option<DelayVariation>, Option<DelayVariation>),
    /// What moved the payload at this end.
    pub(crate) engines: Engines,
    /// What moved the payload at the peer, as far as it reported it.
    pub(crate) peer_engines: Engines,
    /// How long answers took, if this end asked.
    pub(crate) round_trips: Option<RoundTrips>,
    pub(crate) probes: Vec<Probe>,
    /// What this host has and did, if it was sampled.
    pub(crate) host: HostEvidence,
    pub(crate) pulses: Vec<Pulse>,
    pub(crate) stream_error: Option<String>,
}

impl Measured {
    /// What both ends counted, joined to one result per direction. `peer` is empty if its
    /// results never came.
    pub(crate) fn directions(&self, peer: &[PeerStream]) -> Vec<DirectionOutcome> {
        let ends = Ends {
            side: self.side,
            plan: &self.plan,
            records: &self.records,
            base: self.samples.get(self.base),
            last: self.samples.last(),
            stopped: self.stopped,
            pacing: self.pacing.as_ref(),
            ipdv: self.ipdv.0,
            engines: &self.engines,
            peer,
            peer_pacing: self.peer_pacing.as_ref(),
            peer_ipdv: self.ipdv.1,
            peer_engines: &self.peer_engines,
        };
        ends.directions()
    }

    /// Time from the first sample to the last.
    pub(crate) fn span(&self) -> Duration {
        let ends = self.samples.last().zip(self.samples.first());
        ends.map_or(Duration::ZERO, |(last, first)| last.at.since(first.at))
    }

    /// Datagrams that the sockets of this end dropped.
    pub(crate) fn dropped(&self) -> u64 {
        let last = self.samples.last().into_iter().flat_map(|sample| &sample.streams);
        last.filter_map(|stream| stream.udp).map(|udp| udp.drops).sum()
    }

    /// Blocks, datagrams or requests that all streams moved.
    pub(crate) fn blocks(&self) -> u64 {
        let last = self.samples.last().into_iter().flat_map(|sample| &sample.streams);
        last.map(|stream| stream.counters.blocks).sum()
    }
}
