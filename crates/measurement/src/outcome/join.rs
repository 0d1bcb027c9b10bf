//! Computes the result of a test from the counters of both ends ([`Ends`]): throughput, loss and
//! jitter of each direction. They are computed nowhere else; nothing is judged.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::{DatagramLedger, DirectionOutcome, Fairness, Throughput};
use crate::delay_variation::DelayVariation;
use crate::engine::Engines;
use crate::pacing::PacingReport;
use crate::plan::TestPlan;
use crate::sample::{Sample, StreamSample};
use crate::stream::{PeerStream, StreamRecord};
use crate::transport::{Direction, Transport};
use crate::units::{ByteSize, Timestamp};

/// End of the control connection: client or server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The client, which requested the test.
    Client,
    /// The server, which accepted the test.
    Server,
}

/// Counters of both ends after a test, from which the result is computed.
#[derive(Clone, Copy, Debug)]
pub struct Ends<'a> {
    /// The end that computes the result.
    pub side: Side,
    /// Plan of the test.
    pub plan: &'a TestPlan,
    /// Streams of this end.
    pub records: &'a [StreamRecord],
    /// Sample of this end at the end of the omitted start; none: the test did not get so far.
    pub base: Option<&'a Sample>,
    /// Last sample of this end.
    pub last: Option<&'a Sample>,
    /// When this end stopped sending; none: it did not.
    pub stopped: Option<Timestamp>,
    /// Pacing report of this end's senders.
    pub pacing: Option<&'a PacingReport>,
    /// Delay variation that this end's receivers saw.
    pub ipdv: Option<DelayVariation>,
    /// Engines of this end.
    pub engines: &'a Engines,
    /// Counters that the peer reported; empty: none.
    pub peer: &'a [PeerStream],
    /// Pacing report of the peer's senders; none: not reported.
    pub peer_pacing: Option<&'a PacingReport>,
    /// Delay variation that the peer's receivers saw; none: not reported.
    pub peer_ipdv: Option<DelayVariation>,
    /// Engines of the peer, as far as reported.
    pub peer_engines: &'a Engines,
}

impl Ends<'_> {
    /// Results of the test, one for each direction in which this end has streams. `Send` is always
    /// from client to server, whichever end computes the results. Empty for an exchange of
    /// requests.
    pub fn directions(&self) -> Vec<DirectionOutcome> {
        if self.plan.exchange.is_some() {
            return Vec::new();
        }
        let both = match self.side {
            Side::Client => [(true, Direction::Send), (false, Direction::Receive)],
            Side::Server => [(false, Direction::Send), (true, Direction::Receive)],
        };
        let takes_part = |sender| self.records.iter().any(|record| record.sender == sender);
        both.into_iter()
            .filter(|(sender, _)| takes_part(*sender))
            .map(|(sender, direction)| View::new(self, sender).outcome(direction))
            .collect()
    }
}

/// One direction's streams, seen from here and from the peer.
struct View<'a> {
    ends: &'a Ends<'a>,
    sender: bool,
    /// Since the omitted start, at this end.
    here: Vec<StreamSample>,
    /// Since the very start, at this end.
    whole: Vec<StreamSample>,
    there: Vec<&'a PeerStream>,
    /// The peer's streams by their ids.
    reported: HashMap<u32, &'a PeerStream>,
    span_here: Duration,
}

impl<'a> View<'a> {
    fn new(ends: &'a Ends<'a>, sender: bool) -> Self {
        let own = ends.records.iter().filter(|record| record.sender == sender);
        let own: HashSet<u32> = own.map(|record| record.id).collect();
        let includes = |id| own.contains(&id);
        let mut view = Self {
            ends,
            sender,
            here: Vec::new(),
            whole: Vec::new(),
            there: ends.peer.iter().filter(|stream| includes(stream.id)).collect(),
            reported: HashMap::new(),
            span_here: Duration::ZERO,
        };
        if let (Some(base), Some(last)) = (ends.base, ends.last) {
            let pairs = base.streams.iter().zip(&last.streams).filter(|(_, to)| includes(to.id));
            view.here = pairs.clone().map(|(from, to)| to.since(from)).collect();
            view.whole = pairs.map(|(_, to)| *to).collect();
            view.span_here = view.end(last.at).since(base.at);
        }
        // Of a peer that reports a stream twice the first report counts.
        for stream in view.there.iter().rev() {
            view.reported.insert(stream.id, stream);
        }
        view
    }

    /// A sender's measurement ends when it stops, a receiver's with the last datagram.
    fn end(&self, last: Timestamp) -> Timestamp {
        if self.sender { self.ends.stopped.unwrap_or(last) } else { last }
    }

    fn outcome(&self, direction: Direction) -> DirectionOutcome {
        let plan = &self.ends.plan;
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
            ipdv: if is_tcp { None } else { self.ipdv() },
            fairness: self.fairness(),
            pacing: if self.sender {
                self.ends.pacing.cloned()
            } else {
                self.ends.peer_pacing.cloned()
            },
            engines: self.engines(),
        }
    }

    /// The engines that sent and received.
    fn engines(&self) -> Engines {
        let (here, there) = (self.ends.engines, self.ends.peer_engines);
        let (sender, receiver) = if self.sender { (here, there) } else { (there, here) };
        Engines { send: sender.send.clone(), receive: receiver.receive.clone() }
    }

    /// By what the receiver got of each stream, else by what it acknowledged.
    fn fairness(&self) -> Option<Fairness> {
        let block = self.block();
        let here = |stream: &StreamSample| stream.moved(self.sender, block);
        let bytes = if self.sender && !self.there.is_empty() {
            self.there.iter().map(|stream| stream.delivered(block)).collect()
        } else {
            self.here.iter().map(here).collect()
        };
        Fairness::from_bytes(bytes, self.span_here, block.bytes())
    }

    /// The length of a datagram or block, which is that of all streams.
    fn block(&self) -> ByteSize {
        self.ends.records.first().map_or(ByteSize::from_bytes(0), |stream| stream.block)
    }

    /// What the streams of this end sent or received, each datagram once.
    fn throughput_here(&self) -> Option<Throughput> {
        let block = self.block();
        let bytes = |stream: &StreamSample| {
            if self.sender { stream.counters.bytes } else { stream.moved(false, block) }
        };
        let bytes = self.here.iter().map(bytes).sum();
        (!self.here.is_empty()).then(|| Throughput::over(bytes, self.span_here))
    }

    /// What those of the peer received or sent, likewise.
    fn throughput_there(&self) -> Option<Throughput> {
        let block = self.block();
        let bytes = |stream: &&PeerStream| {
            if self.sender { stream.delivered(block) } else { stream.bytes }
        };
        let bytes = self.there.iter().map(bytes).sum();
        let seconds = self.there.iter().map(|stream| stream.seconds).fold(0.0, f64::max);
        // Before 3.2 a peer does not report how long it measured (clause 10.6), and one that
        // measured far longer than this end ran cannot be right.
        let plausible = 0.0..2.0 * self.span_here.as_secs_f64() + 10.0;
        let span = if seconds > 0.0 && plausible.contains(&seconds) {
            Duration::try_from_secs_f64(seconds).unwrap_or_default()
        } else {
            self.span_here
        };
        (!self.there.is_empty()).then(|| Throughput::over(bytes, span))
    }

    /// The payload that the sender's kernel knows to have arrived; a plain iperf3 does not report
    /// it.
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

    /// Whether datagrams went or came in pieces: those of one piece have one time.
    fn is_batched(&self) -> bool {
        let engines = self.engines();
        let mut used = [&engines.send, &engines.receive].into_iter().flatten();
        self.ends.plan.options.segmentation_offload
            || used.any(|engine| engine.name.may_be_batched())
    }

    fn ipdv(&self) -> Option<DelayVariation> {
        let seen = if self.sender { self.ends.peer_ipdv } else { self.ends.ipdv };
        seen.filter(|_| !self.is_batched())
    }

    fn jitter(&self) -> Option<f64> {
        if self.is_batched() {
            return None;
        }
        let values: Vec<f64> = if self.sender {
            // An iperf3 whose clock went wrong, as that of 3.5 now and then, reports years.
            let can_be = 0.0..=self.span_here.as_secs_f64();
            let reported = self.there.iter().map(|stream| stream.jitter_seconds);
            reported.filter(|jitter| can_be.contains(jitter)).collect()
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
            let peer = self.reported.get(&whole.id);
            let beyond =
                peer.map_or(0, |peer| peer.datagrams.saturating_sub(whole.counters.sequence));
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

    /// The peer received: a linerate reports everything, an iperf3 only gaps and nothing
    /// of its tail (clause 14.1).
    fn ledger_of_peer(&self) -> DatagramLedger {
        let sent = self.here.iter().map(|stream| stream.counters.sequence).sum();
        let mut ledger = DatagramLedger { sent, ..DatagramLedger::default() };
        let (mut tail, mut unaccounted) = (0, 0);
        for whole in &self.whole {
            let Some(peer) = self.reported.get(&whole.id) else { continue };
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

    /// Adds the counts that only a linerate receiver reports.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{EngineUse, GSO};
    use crate::plan::PlanDraft;
    use crate::{BitRate, StreamCounters};

    /// A test of one stream over UDP in which this end sends, or receives.
    struct Bench {
        plan: TestPlan,
        records: Vec<StreamRecord>,
        base: Sample,
        last: Sample,
        peer: Vec<PeerStream>,
        engines: Engines,
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_nanos(1).after(Duration::from_secs(seconds))
    }

    fn sample(at: Timestamp, counters: StreamCounters) -> Sample {
        let stream = StreamSample { id: 1, counters, ..StreamSample::default() };
        Sample { at, streams: vec![stream] }
    }

    fn record(sender: bool) -> StreamRecord {
        StreamRecord::unknown(1, sender, ByteSize::from_bytes(1_000))
    }

    fn peer(datagrams: u64, lost: u64) -> PeerStream {
        PeerStream {
            id: 1,
            bytes: 80_000,
            seconds: 2.0,
            retransmits: None,
            datagrams,
            omitted_datagrams: None,
            lost,
            omitted_lost: None,
            one_way: None,
            jitter_seconds: 0.001,
            counted: None,
        }
    }

    /// Ten seconds of a stream that stands at `base` when the omitted start ends.
    fn bench(sender: bool, base: StreamCounters, last: StreamCounters) -> Bench {
        let plan = PlanDraft::new(Transport::Udp, Direction::Send).check().expect("a plan");
        Bench {
            plan,
            records: vec![record(sender)],
            base: sample(at(0), base),
            last: sample(at(10), last),
            peer: Vec::new(),
            engines: Engines::default(),
        }
    }

    fn outcome(bench: &Bench) -> DirectionOutcome {
        let sender = bench.records[0].sender;
        let ends = Ends {
            side: if sender { Side::Client } else { Side::Server },
            plan: &bench.plan,
            records: &bench.records,
            base: Some(&bench.base),
            last: Some(&bench.last),
            stopped: Some(at(8)),
            pacing: None,
            ipdv: Some(variation(1)),
            engines: &bench.engines,
            peer: &bench.peer,
            peer_pacing: None,
            peer_ipdv: Some(variation(2)),
            peer_engines: &Engines::default(),
        };
        let [outcome] = &ends.directions()[..] else { panic!("one direction") };
        assert_eq!(outcome.direction, Direction::Send, "as the client sees it");
        outcome.clone()
    }

    fn variation(pairs: u64) -> DelayVariation {
        DelayVariation { pairs, ..DelayVariation::default() }
    }

    fn counters(bytes: u64, sequence: u64, unique: u64) -> StreamCounters {
        StreamCounters { bytes, sequence, unique, ..StreamCounters::default() }
    }

    #[test]
    fn a_receiver_counts_the_tail_that_the_sender_reports() {
        let mut bench = bench(false, counters(10_000, 10, 10), counters(100_000, 100, 95));
        bench.peer = vec![peer(110, 0)];
        let ledger = outcome(&bench).datagrams.expect("over UDP");
        assert_eq!((ledger.sent, ledger.received, ledger.lost), (100, 85, 15));
        assert_eq!(ledger.tail, Some(10));
        bench.peer.clear();
        let ledger = outcome(&bench).datagrams.expect("over UDP");
        assert_eq!((ledger.sent, ledger.lost, ledger.tail), (90, 5, None), "gaps alone");
    }

    #[test]
    fn stragglers_from_the_omitted_start_are_not_more_than_was_sent() {
        let bench = bench(false, counters(0, 10, 5), counters(0, 20, 20));
        let ledger = outcome(&bench).datagrams.expect("over UDP");
        assert_eq!((ledger.sent, ledger.received, ledger.lost), (10, 10, 0));
    }

    #[test]
    fn an_iperf3_that_receives_leaves_what_was_on_its_way_unaccounted() {
        let mut bench = bench(true, counters(0, 0, 0), counters(100_000, 100, 0));
        bench.peer = vec![peer(95, 5)];
        let ledger = outcome(&bench).datagrams.expect("the peer reported");
        assert_eq!((ledger.sent, ledger.received, ledger.lost), (100, 90, 5));
        assert_eq!((ledger.unaccounted, ledger.tail, ledger.late), (Some(5), None, None));
        bench.peer.clear();
        assert_eq!(outcome(&bench).datagrams, None, "its results never came");
    }

    #[test]
    fn a_linerate_that_receives_reports_its_tail_and_its_late_ones() {
        let mut bench = bench(true, counters(0, 0, 0), counters(100_000, 100, 0));
        let counted = StreamCounters { late: 2, duplicate: 1, ..counters(0, 90, 80) };
        let counted = StreamSample { id: 1, counters: counted, ..StreamSample::default() };
        bench.peer =
            vec![PeerStream { counted: Some(counted), omitted_datagrams: Some(3), ..peer(93, 13) }];
        let ledger = outcome(&bench).datagrams.expect("the peer reported");
        assert_eq!((ledger.tail, ledger.late, ledger.duplicate), (Some(7), Some(2), Some(1)));
        assert_eq!((ledger.lost, ledger.unaccounted), (13, None));
    }

    #[test]
    fn duplicates_are_not_delivered_twice_at_either_end() {
        let delivered = |bench: &Bench| outcome(bench).delivered.expect("reported").bytes;
        let twice = StreamCounters { duplicate: 3, ..counters(103_000, 100, 100) };
        assert_eq!(delivered(&bench(false, counters(0, 0, 0), twice)), 100_000);
        let mut sent = bench(true, counters(0, 0, 0), counters(100_000, 100, 0));
        let counted = StreamSample { id: 1, counters: twice, ..StreamSample::default() };
        sent.peer = vec![PeerStream { bytes: 103_000, counted: Some(counted), ..peer(100, 0) }];
        assert_eq!(delivered(&sent), 100_000);
        sent.peer = vec![PeerStream { bytes: 103_000, ..peer(100, 0) }];
        assert_eq!(delivered(&sent), 100_000, "an iperf3 counts their bytes");
        assert_eq!(sent.peer[0].duplicates(ByteSize::from_bytes(1_000)), Some(3));
        let omitted = PeerStream { omitted_datagrams: Some(40), ..peer(100, 30) };
        sent.peer = vec![PeerStream { bytes: 60_000, omitted_lost: Some(10), ..omitted }];
        assert_eq!(delivered(&sent), 40_000, "60 sent since the omitted start, 20 of them lost");
    }

    #[test]
    fn a_peer_cannot_have_lost_more_than_was_sent() {
        let mut bench = bench(true, counters(0, 0, 0), counters(100_000, 100, 0));
        bench.peer = vec![peer(u64::MAX, u64::MAX)];
        let ledger = outcome(&bench).datagrams.expect("the peer reported");
        assert_eq!((ledger.sent, ledger.received, ledger.lost), (100, 0, 100));
    }

    #[test]
    fn a_measurement_of_the_peer_that_cannot_be_is_taken_over_this_ends_time() {
        let mut bench = bench(true, counters(0, 0, 0), counters(100_000, 100, 0));
        bench.peer = vec![peer(100, 0)];
        let span = |bench: &Bench| outcome(bench).delivered.expect("the peer reported").span;
        assert_eq!(span(&bench), Duration::from_secs(2));
        for seconds in [0.0, -1.0, f64::NAN, f64::INFINITY, 26.0] {
            bench.peer[0].seconds = seconds;
            assert_eq!(span(&bench), Duration::from_secs(8), "{seconds}");
        }
    }

    #[test]
    fn a_sender_is_measured_until_it_stops_and_a_receiver_until_the_last_arrival() {
        let sent = bench(true, counters(0, 0, 0), counters(8_000_000, 100, 0));
        let rate = |throughput: Option<Throughput>| throughput.expect("measured").rate;
        assert_eq!(rate(outcome(&sent).offered), BitRate::from_bits_per_second(8_000_000));
        let received = bench(false, counters(0, 0, 0), counters(8_000_000, 100, 100));
        assert_eq!(rate(outcome(&received).delivered), BitRate::from_bits_per_second(6_400_000));
    }

    #[test]
    fn jitter_of_pieces_and_of_clocks_that_went_wrong_is_not_given() {
        let mut bench = bench(true, counters(0, 0, 0), counters(100_000, 100, 0));
        bench.peer = vec![peer(100, 0)];
        assert_eq!(outcome(&bench).jitter_seconds, Some(0.001));
        bench.peer[0].jitter_seconds = 3e8;
        assert_eq!(outcome(&bench).jitter_seconds, None, "years");
        bench.peer[0].jitter_seconds = 0.001;
        bench.engines.send = Some(EngineUse::from(&GSO));
        assert_eq!(outcome(&bench).jitter_seconds, None, "datagrams of one piece");
    }

    #[test]
    fn the_delay_variation_is_that_of_the_receiver_unless_datagrams_come_in_pieces() {
        let (from, to) = (counters(0, 0, 0), counters(100_000, 100, 100));
        assert_eq!(outcome(&bench(false, from, to)).ipdv, Some(variation(1)), "this end's");
        let mut bench = bench(true, from, to);
        assert_eq!(outcome(&bench).ipdv, Some(variation(2)), "the peer's");
        bench.engines.send = Some(EngineUse::from(&GSO));
        assert_eq!(outcome(&bench).ipdv, None);
    }

    #[test]
    fn the_first_report_of_a_stream_counts() {
        let mut bench = bench(true, counters(0, 0, 0), counters(100_000, 100, 0));
        bench.peer = vec![peer(100, 7), peer(100, 90)];
        assert_eq!(outcome(&bench).datagrams.expect("reported").lost, 7);
    }

    #[test]
    fn the_parts_of_a_ledger_add_up_whatever_was_reported() {
        let wild = DatagramLedger {
            sent: 100,
            received: 60,
            lost: 0,
            tail: Some(1_000),
            unaccounted: Some(30),
            late: Some(20),
            ..DatagramLedger::default()
        };
        let parts = wild.parts();
        assert_eq!((parts.received, parts.in_flight, parts.late), (60, 30, 10));
        assert_eq!((parts.lost, parts.tail), (0, Some(0)));
        let more = DatagramLedger { received: 200, ..wild }.parts();
        assert_eq!((more.received, more.lost), (100, 0));
    }
}
