//! What a test of an iperf2 client came to, for the counters and the log.

use measurement::outcome::{DatagramLedger, DirectionOutcome, Ending, Throughput};
use measurement::record::{Neighbour, StreamRecord};
use measurement::{ByteSize, Direction, Engines, Peer, TestPlan, Transport};
use portable_atomic::Ordering::Relaxed;

use crate::iperf3::server::context::ServerContext;
use crate::server::log::{Log, Served};
use crate::server::metrics::Refusal;

/// A test that is over.
pub(super) struct Over {
    pub(super) peer: Peer,
    pub(super) plan: TestPlan,
    pub(super) ending: Ending,
    pub(super) refusal: Option<Refusal>,
    pub(super) delivered: Throughput,
    /// What the server sent; none: it did not.
    pub(super) offered: Option<Throughput>,
    pub(super) datagrams: Option<(DatagramLedger, f64)>,
    pub(super) streams: Vec<StreamRecord>,
    /// Payload bytes of each of them; empty: of the one that there is.
    pub(super) carried: Vec<u64>,
    pub(super) shared: Vec<Neighbour>,
}

impl Over {
    /// Counts and reports it.
    pub(super) fn report(self, server: &ServerContext, log: &dyn Log) {
        let metrics = &server.metrics;
        metrics.received.fetch_add(self.delivered.bytes, Relaxed);
        metrics.running.fetch_sub(1, Relaxed);
        let sent = self.offered.map_or(0, |offered| offered.bytes);
        metrics.sent.fetch_add(sent, Relaxed);
        let directions = self.directions();
        match self.ending {
            Ending::Completed => {
                metrics.completed.fetch_add(1, Relaxed);
                metrics.keep(self.peer.address.ip(), self.plan.transport, &directions);
            }
            Ending::Interrupted => _ = metrics.interrupted.fetch_add(1, Relaxed),
            Ending::Failed { .. } => _ = metrics.failed.fetch_add(1, Relaxed),
        }
        log.ended(&Served {
            received: self.delivered.bytes,
            peer: self.peer,
            plan: Some(self.plan),
            ending: self.ending,
            refusal: self.refusal,
            sent,
            streams: self.streams,
            carried: self.carried,
            directions,
            answered: None,
            shared: self.shared,
        });
    }

    fn directions(&self) -> Vec<DirectionOutcome> {
        let way = self.plan.direction;
        let received = way.sends().then(|| DirectionOutcome {
            delivered: Some(self.delivered),
            ..self.direction(Direction::Send)
        });
        let sent = way.receives().then(|| DirectionOutcome {
            offered: self.offered,
            ..self.direction(Direction::Receive)
        });
        received.into_iter().chain(sent).collect()
    }

    fn direction(&self, direction: Direction) -> DirectionOutcome {
        DirectionOutcome {
            direction,
            asked: None,
            offered: None,
            acknowledged: None,
            delivered: None,
            retransmits: None,
            datagrams: self.datagrams.map(|(ledger, _)| ledger),
            jitter_seconds: self.datagrams.map(|(_, jitter)| jitter),
            ipdv: None,
            fairness: None,
            pacing: None,
            engines: Engines::default(),
        }
    }
}

/// The stream between these addresses, which this end received.
pub(super) fn stream(peer: &Peer, id: u32, transport: Transport) -> StreamRecord {
    let block = if transport == Transport::Tcp { TCP_BLOCK } else { UDP_BLOCK };
    StreamRecord {
        local: Some(peer.local_address),
        peer: Some(peer.address),
        ..StreamRecord::unknown(id, false, ByteSize::from_bytes(block))
    }
}

/// What this end reads at a time.
pub(in super::super) const TCP_BLOCK: u64 = 256 * 1024;
/// The longest datagram.
pub(super) const UDP_BLOCK: u64 = 65_536;
