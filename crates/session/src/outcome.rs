//! From what both ends counted to one result per direction.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use measurement::outcome::Fairness;
use measurement::record::PeerStream;
use measurement::{
    DatagramLedger, Direction, DirectionOutcome, Engines, StreamSample, Throughput, Timestamp,
    Transport,
};

use crate::measured::{Measured, Side};

/// The result of every direction of the plan, named as the client sees it. `peer` is
/// empty if its word never came.
pub(crate) fn directions(
    measured: &Measured,
    peer: &[PeerStream],
    side: Side,
) -> Vec<DirectionOutcome> {
    if measured.plan.exchange.is_some() {
        return Vec::new();
    }
    let both = match side {
        Side::Client => [(true, Direction::Send), (false, Direction::Receive)],
        Side::Server => [(false, Direction::Send), (true, Direction::Receive)],
    };
    let takes_part = |sender| measured.records.iter().any(|record| record.sender == sender);
    both.into_iter()
        .filter(|(sender, _)| takes_part(*sender))
        .map(|(sender, direction)| View::new(measured, peer, sender).outcome(direction))
        .collect()
}

/// One direction's streams, seen from here and from the peer.
struct View<'a> {
    measured: &'a Measured,
    sender: bool,
    /// Since the omitted start, at this end.
    here: Vec<StreamSample>,
    /// Since the very start, at this end.
    whole: Vec<StreamSample>,
    there: Vec<&'a PeerStream>,
    /// The same by their ids.
    told: HashMap<u32, &'a PeerStream>,
    span_here: Duration,
}

impl<'a> View<'a> {
    fn new(measured: &'a Measured, peer: &'a [PeerStream], sender: bool) -> Self {
        let own = measured.records.iter().filter(|record| record.sender == sender);
        let own: HashSet<u32> = own.map(|record| record.id).collect();
        let includes = |id| own.contains(&id);
        let mut view = Self {
            measured,
            sender,
            here: Vec::new(),
            whole: Vec::new(),
            there: peer.iter().filter(|stream| includes(stream.id)).collect(),
            told: HashMap::new(),
            span_here: Duration::ZERO,
        };
        let (base, last) = (measured.samples.get(measured.base), measured.samples.last());
        if let (Some(base), Some(last)) = (base, last) {
            let pairs = base.streams.iter().zip(&last.streams).filter(|(_, to)| includes(to.id));
            view.here = pairs.clone().map(|(from, to)| to.since(from)).collect();
            view.whole = pairs.map(|(_, to)| *to).collect();
            view.span_here = view.end(last.at).since(base.at);
        }
        // Of a peer that tells of a stream twice the first word counts.
        for stream in view.there.iter().rev() {
            view.told.insert(stream.id, stream);
        }
        view
    }

    /// A sender's measurement ends when it stops, a receiver's with the last datagram.
    fn end(&self, last: Timestamp) -> Timestamp {
        if self.sender { self.measured.stopped.unwrap_or(last) } else { last }
    }

    fn outcome(&self, direction: Direction) -> DirectionOutcome {
        let plan = &self.measured.plan;
        let is_tcp = plan.transport == Transport::Tcp;
        let (offered, delivered) = if self.sender {
            (self.throughput_here(), self.throughput_there())
        } else {
            (self.throughput_there(), self.throughput_here())
        };
        DirectionOutcome {
            direction,
            asked: plan.asked(),
            offered,
            acknowledged: self.acknowledged(),
            delivered,
            retransmits: if is_tcp { self.retransmits() } else { None },
            datagrams: if is_tcp { None } else { self.ledger() },
            jitter_seconds: if is_tcp { None } else { self.jitter() },
            fairness: self.fairness(),
            pacing: if self.sender {
                self.measured.pacing.clone()
            } else {
                self.measured.peer_pacing.clone()
            },
            engines: self.engines(),
        }
    }

    /// What sent and what received.
    fn engines(&self) -> Engines {
        let (here, there) = (&self.measured.engines, &self.measured.peer_engines);
        let (sender, receiver) = if self.sender { (here, there) } else { (there, here) };
        Engines { send: sender.send.clone(), receive: receiver.receive.clone() }
    }

    /// By what the receiver got of each stream, else by what it acknowledged.
    fn fairness(&self) -> Option<Fairness> {
        let here = |stream: &StreamSample| stream.moved(self.sender);
        let bytes = if self.sender && !self.there.is_empty() {
            self.there.iter().map(|stream| stream.bytes).collect()
        } else {
            self.here.iter().map(here).collect()
        };
        let block = self.measured.records.first().map_or(0, |stream| stream.block.bytes());
        Fairness::of(bytes, self.span_here, block)
    }

    fn throughput_here(&self) -> Option<Throughput> {
        let bytes = self.here.iter().map(|stream| stream.counters.bytes).sum();
        (!self.here.is_empty()).then(|| Throughput::over(bytes, self.span_here))
    }

    fn throughput_there(&self) -> Option<Throughput> {
        let bytes = self.there.iter().map(|stream| stream.bytes).sum();
        let seconds = self.there.iter().map(|stream| stream.seconds).fold(0.0, f64::max);
        // Before 3.2 a peer does not tell how long it measured (clause 10.6), and one that
        // measured far longer than this end ran cannot be right.
        let plausible = 0.0..2.0 * self.span_here.as_secs_f64() + 10.0;
        let span = if seconds > 0.0 && plausible.contains(&seconds) {
            Duration::try_from_secs_f64(seconds).unwrap_or_default()
        } else {
            self.span_here
        };
        (!self.there.is_empty()).then(|| Throughput::over(bytes, span))
    }

    /// What the sender's kernel knows to have arrived; a plain iperf3 does not tell.
    fn acknowledged(&self) -> Option<Throughput> {
        let acknowledged = |stream: &StreamSample| stream.tcp.map(|tcp| tcp.acknowledged);
        if self.sender {
            let bytes = self.here.iter().map(acknowledged).sum::<Option<u64>>()?;
            (!self.here.is_empty()).then(|| Throughput::over(bytes, self.span_here))
        } else {
            let bytes =
                self.there.iter().map(|peer| acknowledged(&peer.counted?)).sum::<Option<u64>>()?;
            self.throughput_there().map(|offered| Throughput::over(bytes, offered.span))
        }
    }

    fn retransmits(&self) -> Option<u64> {
        if self.sender {
            self.here.iter().map(|stream| stream.tcp.map(|tcp| tcp.retransmits)).sum()
        } else if self.there.is_empty() {
            None
        } else {
            self.there.iter().map(|stream| stream.retransmits).sum()
        }
    }

    /// None too where datagrams went or came in pieces: those of one piece have one time.
    fn jitter(&self) -> Option<f64> {
        let engines = self.engines();
        let mut used = [&engines.send, &engines.receive].into_iter().flatten();
        if self.measured.plan.options.segmentation_offload
            || used.any(|engine| engine.name.may_be_batched())
        {
            return None;
        }
        let values: Vec<f64> = if self.sender {
            // An iperf3 whose clock went wrong, as that of 3.5 now and then, tells of years.
            let can_be = 0.0..=self.span_here.as_secs_f64();
            let told = self.there.iter().map(|stream| stream.jitter_seconds);
            told.filter(|jitter| can_be.contains(jitter)).collect()
        } else {
            let nanos = self.here.iter().map(|stream| stream.counters.jitter_nanos);
            nanos.map(|nanos| Duration::from_nanos(nanos).as_secs_f64()).collect()
        };
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// None if the receiver is the peer and its word never came.
    fn ledger(&self) -> Option<DatagramLedger> {
        match (self.sender, self.there.is_empty()) {
            (false, _) => Some(self.own_ledger()),
            (true, false) => Some(self.ledger_of_peer()),
            (true, true) => None,
        }
    }

    /// This end received: it saw everything but the tail, which the sender's last
    /// sequence number shows.
    fn own_ledger(&self) -> DatagramLedger {
        let mut ledger = DatagramLedger::default();
        let (mut tail, mut reordered, mut duplicate, mut late) = (0, 0, 0, 0);
        for (since, whole) in self.here.iter().zip(&self.whole) {
            let told = self.told.get(&whole.id);
            let beyond =
                told.map_or(0, |peer| peer.datagrams.saturating_sub(whole.counters.sequence));
            tail += beyond;
            ledger.sent =
                ledger.sent.saturating_add(since.counters.sequence.saturating_add(beyond));
            ledger.received += since.counters.unique;
            reordered += since.counters.reordered;
            duplicate += since.counters.duplicate;
            late += since.counters.late;
        }
        // Stragglers from the omitted start are received and were not sent since.
        ledger.received = ledger.received.min(ledger.sent);
        ledger.lost = ledger.sent - ledger.received;
        ledger.tail = (!self.there.is_empty()).then_some(tail);
        (ledger.reordered, ledger.duplicate, ledger.late) =
            (Some(reordered), Some(duplicate), Some(late));
        ledger
    }

    /// The peer received: a linerate tells everything, an iperf3 only gaps and nothing
    /// of its tail (clause 14.1).
    fn ledger_of_peer(&self) -> DatagramLedger {
        let sent = self.here.iter().map(|stream| stream.counters.sequence).sum();
        let mut ledger = DatagramLedger { sent, ..DatagramLedger::default() };
        let (mut tail, mut unaccounted) = (0, 0);
        for whole in &self.whole {
            let Some(peer) = self.told.get(&whole.id) else { continue };
            let last = whole.counters.sequence;
            ledger.lost += peer.lost.saturating_sub(peer.omitted_lost.unwrap_or(0));
            if let Some(counted) = peer.counted {
                let omitted = peer.omitted_datagrams.unwrap_or(0);
                tail += last.saturating_sub(counted.counters.sequence + omitted);
            } else {
                unaccounted += last.saturating_sub(peer.datagrams);
            }
        }
        ledger.lost = ledger.lost.min(sent);
        ledger.received = sent.saturating_sub(ledger.lost + unaccounted);
        self.add_counts_of_linerate(&mut ledger, tail);
        ledger.unaccounted = Some(unaccounted).filter(|count| *count > 0);
        ledger
    }

    /// What only a linerate receiver tells.
    fn add_counts_of_linerate(&self, ledger: &mut DatagramLedger, tail: u64) {
        let counted: Option<Vec<_>> = self.there.iter().map(|peer| peer.counted).collect();
        let Some(counted) = counted else { return };
        let sum = |of: fn(&StreamSample) -> u64| Some(counted.iter().map(of).sum());
        ledger.tail = Some(tail);
        ledger.reordered = sum(|stream| stream.counters.reordered);
        ledger.duplicate = sum(|stream| stream.counters.duplicate);
        ledger.late = sum(|stream| stream.counters.late);
    }
}
