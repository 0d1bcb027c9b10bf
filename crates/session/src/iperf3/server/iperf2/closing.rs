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
    pub(super) datagrams: Option<(DatagramLedger, f64)>,
    pub(super) streams: Vec<StreamRecord>,
    pub(super) shared: Vec<Neighbour>,
}

impl Over {
    /// Counts and reports it.
    pub(super) fn report(self, server: &ServerContext, log: &dyn Log) {
        let metrics = &server.metrics;
        metrics.received.fetch_add(self.delivered.bytes, Relaxed);
        metrics.running.fetch_sub(1, Relaxed);
        let directions = vec![self.direction()];
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
            sent: 0,
            streams: self.streams,
            directions,
            answered: None,
            shared: self.shared,
        });
    }

    fn direction(&self) -> DirectionOutcome {
        DirectionOutcome {
            direction: Direction::Send,
            asked: None,
            offered: None,
            acknowledged: None,
            delivered: Some(self.delivered),
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
        id,
        sender: false,
        socket: None,
        local: Some(peer.local_address),
        peer: Some(peer.address),
        block: ByteSize::from_bytes(block),
        send_buffer: None,
        receive_buffer: None,
        mss: None,
        congestion: None,
        arrivals: None,
        engine: None,
        worker: None,
        cpu: None,
    }
}

/// What this end reads at a time.
pub(in super::super) const TCP_BLOCK: u64 = 256 * 1024;
/// The longest datagram.
pub(super) const UDP_BLOCK: u64 = 65_536;
