//! What this end says of a test: its results, and what its host did meanwhile.

use std::time::Duration;

use measurement::{StreamSample, Transport};
use protocol::iperf3::{FinalStream, PeerEvidence, Results, StreamResult};

use super::{Trial, by_id};
use crate::server::Evidence;

impl Trial {
    /// This end's results for the peer; `sent` as for [`Self::finish`].
    pub(crate) fn results(&self, sent: Option<&[FinalStream]>) -> Results {
        let (Some(base), Some(last)) = (self.samples.get(self.base), self.samples.last()) else {
            return Results::default();
        };
        let is_tcp = self.plan.transport == Transport::Tcp;
        let sends = self.opened.iter().any(|one| one.sender);
        let streams = self.opened.iter().zip(base.streams.iter().zip(&last.streams));
        let sent = sent.map(by_id).unwrap_or_default();
        Results {
            cpu: self.cpu.usage(),
            sender_has_retransmits: if sends { i64::from(is_tcp) } else { -1 },
            congestion_used: self.records.first().and_then(|record| record.congestion.clone()),
            streams: streams
                .map(|(one, (from, to))| {
                    let end = if one.sender { self.stopped.unwrap_or(last.at) } else { last.at };
                    let told = sent.get(&one.id).copied();
                    stream_result(one.sender, from, to, end.since(base.at), told)
                })
                .collect(),
            server_output: None,
            shared: Vec::new(),
            pacing: self.pacing().map(Box::new),
            runtime: self.runtime.clone().map(Box::new),
            engines: Some(Box::new(self.factory.engines())),
            evidence: None,
        }
    }

    /// What this host tells a peer of itself; none: nothing, or nobody watched it.
    pub(crate) fn peer_evidence(&self, evidence: Evidence) -> Option<PeerEvidence> {
        let seen = self.seen.as_ref()?;
        let host = match evidence {
            Evidence::Withheld => return None,
            Evidence::Given => host::for_a_peer(seen.host.clone()),
            Evidence::Whole => seen.host.clone(),
        };
        Some(PeerEvidence {
            host: host::for_the_way(host),
            pulses: seen.pulses.clone(),
            clock: None,
        })
    }
}

/// One stream in the words of clause 10.6.
fn stream_result(
    sender: bool,
    from: &StreamSample,
    to: &StreamSample,
    span: Duration,
    told: Option<&FinalStream>,
) -> StreamResult {
    let retransmits = |s: &StreamSample| s.tcp.map(|tcp| tcp.retransmits);
    let retransmits = match (retransmits(from), retransmits(to)) {
        (Some(from), Some(to)) if sender => i64::try_from(to - from.min(to)).unwrap_or(i64::MAX),
        _ => -1,
    };
    // A receiver that knows how many were sent counts the tail too.
    let packets = told.map_or(0, |told| told.datagrams).max(to.counters.sequence);
    let (packets, errors, omitted_errors) = if sender {
        (to.counters.sequence, 0, 0)
    } else if to.counters.sequence == 0 && to.tcp.is_some() {
        (0, 0, 0)
    } else {
        (packets, packets.saturating_sub(to.counters.unique), from.counters.missing())
    };
    StreamResult {
        id: to.id,
        bytes: to.counters.bytes - from.counters.bytes,
        retransmits,
        jitter: Duration::from_nanos(to.counters.jitter_nanos).as_secs_f64(),
        errors,
        omitted_errors: Some(omitted_errors),
        packets,
        omitted_packets: Some(from.counters.sequence),
        seconds: span.as_secs_f64(),
        counted: Some(to.since(from)),
    }
}
