//! One end's results in the words of section 10: from what a trial counted to what travels.

use std::collections::HashMap;
use std::time::Duration;

use measurement::Transport;
use protocol::iperf3::{FinalStream, PeerEvidence, Results, StreamResult};

use crate::server::evidence::Evidence;
use crate::spec::Sent;
use crate::trial::{Counted, CountedStream, Trial};

/// This end's results for the peer. `sent` is what the peer reported as sent, if it did.
pub(super) fn results(trial: &Trial, sent: Option<&[Sent]>) -> Results {
    trial.counted().map_or_else(Results::default, |counted| from_counted(counted, sent))
}

fn from_counted(counted: Counted<'_>, sent: Option<&[Sent]>) -> Results {
    let is_tcp = counted.transport == Transport::Tcp;
    let sends = counted.streams.iter().any(|stream| stream.sender);
    let sent: HashMap<u32, &Sent> =
        sent.unwrap_or_default().iter().map(|stream| (stream.id, stream)).collect();
    let result = |stream: &CountedStream<'_>| {
        stream_result(stream, sent.get(&stream.last.id).map_or(0, |sent| sent.datagrams))
    };
    Results {
        cpu: counted.cpu,
        sender_has_retransmits: if sends { i64::from(is_tcp) } else { -1 },
        congestion_used: counted.congestion.map(str::to_owned),
        streams: counted.streams.iter().map(result).collect(),
        server_output: None,
        shared: Vec::new(),
        pacing: counted.pacing.map(Box::new),
        ipdv: counted.ipdv.map(Box::new),
        runtime: counted.runtime.cloned().map(Box::new),
        engines: Some(Box::new(counted.engines)),
        evidence: None,
    }
}

/// One stream in the words of clause 10.6. `sent` are the datagrams that its sender reported.
fn stream_result(stream: &CountedStream<'_>, sent: u64) -> StreamResult {
    let (from, to) = (stream.base, stream.last);
    let retransmits = match (from.tcp, to.tcp) {
        (Some(from), Some(to)) if stream.sender => {
            i64::try_from(to.retransmits.saturating_sub(from.retransmits)).unwrap_or(i64::MAX)
        }
        _ => -1,
    };
    // A receiver that knows how many were sent counts the tail too.
    let packets = sent.max(to.counters.sequence);
    let (packets, errors, omitted_errors) = if stream.sender {
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
        seconds: stream.span.as_secs_f64(),
        counted: Some(to.since(from)),
    }
}

/// What this host reports of itself to a peer; none: nothing, or it was not sampled.
pub(super) fn peer_evidence(trial: &Trial, evidence: Evidence) -> Option<PeerEvidence> {
    let seen = trial.counted()?.host?;
    let host = match evidence {
        Evidence::Withheld => return None,
        Evidence::Given => host::limit_to_test(seen.host.clone()),
        Evidence::Whole => seen.host.clone(),
    };
    Some(PeerEvidence { host: host::limit_size(host), pulses: seen.pulses.clone(), clock: None })
}

/// What the peer reported as sent on each stream.
pub(super) fn sent_by_peer(streams: &[FinalStream]) -> Vec<Sent> {
    let sent = |stream: &FinalStream| Sent {
        id: stream.id,
        bytes: stream.bytes,
        datagrams: stream.datagrams,
    };
    streams.iter().map(sent).collect()
}

/// What this end sent, as the client hears it (clause 13.3).
pub(super) fn final_streams(sent: Vec<Sent>) -> Vec<FinalStream> {
    let last =
        |sent: Sent| FinalStream { id: sent.id, bytes: sent.bytes, datagrams: sent.datagrams };
    sent.into_iter().map(last).collect()
}
