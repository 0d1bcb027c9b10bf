//! A record of a run, by what one or both of its ends printed. What nobody printed stays unknown.

use std::net::SocketAddr;
use std::time::Duration;

use measurement::outcome::{CpuUse, Ending};
use measurement::plan::PlanDraft;
use measurement::record::DirectionIntervals;
use measurement::{
    BitRate, ByteSize, DatagramLedger, Direction, DirectionOutcome, End as Until, Sample,
    StreamCounters, StreamRecord, StreamSample, TcpSample, TestPlan, TestRecord, Throughput,
    Timestamp, Transport,
};

use super::block;
use super::ends::{End, Tool};
use super::pairing::Pair;
use super::view::{Side, View};

/// The record of a run; `source` says where it was printed.
pub(super) fn record(run: &Pair, source: String) -> TestRecord {
    let account = Account::of(run);
    let mut record = TestRecord::imported(account.plan(), source);
    let outcome = &mut record.outcome;
    outcome.directions = account.directions.iter().map(|way| account.outcome(*way)).collect();
    outcome.contradictions = run.problems();
    outcome.notes = account.notes();
    outcome.ending = account.ending();
    if let Some(cpu) = run.client.as_ref().and_then(|client| client.details.cpu) {
        outcome.cpu = Some(cpu_use(&cpu[..3]));
        outcome.peer_cpu = Some(cpu_use(&cpu[3..])).filter(|cpu| cpu.total > 0.0);
    }
    record.streams = account.streams();
    record.intervals = account.intervals();
    account.add_times(&mut record);
    record
}

/// What is known of a run.
struct Account<'a> {
    run: &'a Pair,
    views: Vec<&'a View>,
    transport: Transport,
    directions: Vec<Direction>,
    /// Bytes of a datagram.
    datagram: Option<u64>,
}

impl<'a> Account<'a> {
    fn of(run: &'a Pair) -> Self {
        let views: Vec<_> = run.views().collect();
        let transport = views.iter().find_map(|view| view.transport).unwrap_or(Transport::Tcp);
        let is_asked = |view: &&View| view.both && view.tool == Tool::Iperf3;
        let both = views.iter().any(|view| is_asked(view) || view.is_both());
        let reverse = views.iter().any(|view| view.is_reverse());
        let directions = match (both, reverse) {
            (true, _) => vec![Direction::Send, Direction::Receive],
            (false, true) => vec![Direction::Receive],
            (false, false) => vec![Direction::Send],
        };
        let datagram = if transport == Transport::Udp { block::of_datagrams(&views) } else { None };
        Self { run, views, transport, directions, datagram }
    }

    /// The view of the end that sends, or receives, in a direction.
    fn end(&self, direction: Direction, sender: bool) -> Option<&'a View> {
        let is_client = (direction == Direction::Send) == sender;
        if is_client { self.run.client.as_ref() } else { self.run.server.as_ref() }
    }

    /// What the sender printed of itself, else what the receiver printed of it.
    fn sent(&self, direction: Direction) -> Option<Side> {
        let own = self.end(direction, true).and_then(|view| view.flow(direction).by_sender.side());
        let told = || self.end(direction, false)?.flow(direction).by_sender.side();
        own.or_else(|| told().filter(|side| !side.is_zero()))
            .or_else(|| self.end(direction, true).and_then(|view| of_intervals(view, direction)))
    }

    /// What the receiver printed of itself, else what the sender printed of it.
    fn arrived(&self, direction: Direction) -> Option<Side> {
        let own = self.end(direction, false).and_then(|view| own_arrival(view, direction));
        let told = || {
            let view = self.end(direction, true)?;
            let side = view.flow(direction).by_receiver.side()?;
            // Without the other's results iperf3 prints zeros.
            let is_real = !side.is_zero() || (self.transport == Transport::Udp && !view.is_cut());
            is_real.then_some(side)
        };
        own.or_else(told)
            .or_else(|| self.end(direction, false).and_then(|view| of_intervals(view, direction)))
    }

    fn outcome(&self, direction: Direction) -> DirectionOutcome {
        let (sent, arrived) = (self.sent(direction), self.arrived(direction));
        let datagrams = self.datagrams(direction, sent.as_ref(), arrived.as_ref());
        let is_tcp = self.transport == Transport::Tcp;
        let asked = self.rate().map(|rate| rate.times(u64::from(self.stream_count())));
        DirectionOutcome {
            asked: asked.filter(|_| direction == Direction::Send || !self.is_of_iperf2()),
            offered: sent.map(|side| self.throughput(&side, datagrams.map(|all| all.sent))),
            delivered: arrived
                .map(|side| self.throughput(&side, datagrams.map(|all| all.received))),
            retransmits: sent.and_then(|side| side.count).filter(|_| is_tcp),
            datagrams,
            jitter_seconds: arrived.and_then(|side| side.jitter).filter(|_| !is_tcp),
            ..DirectionOutcome::unknown(direction)
        }
    }

    /// An amount as printed, or exactly by its datagrams.
    fn throughput(&self, side: &Side, datagrams: Option<u64>) -> Throughput {
        let span = seconds(side.seconds.value);
        let exact = self.datagram.zip(datagrams).map(|(block, count)| count.saturating_mul(block));
        let exact = exact
            .filter(|bytes| side.bytes.agrees(super::figure::Figure::exact(*bytes as f64), EXACT));
        match exact {
            Some(bytes) if !span.is_zero() => Throughput::over(bytes, span),
            _ => Throughput {
                bytes: side.bytes.whole(),
                span,
                rate: BitRate::from_bits_per_second(side.rate.whole()),
            },
        }
    }

    fn datagrams(
        &self,
        direction: Direction,
        sent: Option<&Side>,
        arrived: Option<&Side>,
    ) -> Option<DatagramLedger> {
        if self.transport == Transport::Tcp {
            return None;
        }
        let count = |number: i64| u64::try_from(number).unwrap_or(0);
        let (lost, total) =
            arrived.and_then(|side| Some((count(side.lost?), count(side.total?))))?;
        let negative = arrived.and_then(|side| side.lost).is_some_and(|lost| lost < 0);
        if negative {
            return None;
        }
        let flow = self.end(direction, true).map(|view| view.flow(direction));
        let line = flow.and_then(|flow| flow.datagrams);
        let own = sent.and_then(|side| side.total.map(count).filter(|all| *all > 0).or(side.count));
        let sent = line.or(own).unwrap_or(total).max(total);
        let received = total.saturating_sub(lost);
        let none_came = total == 0;
        let lost = if none_came { sent } else { lost };
        let unaccounted = sent.saturating_sub(received).saturating_sub(lost);
        let reordered = self.end(direction, false).and_then(|view| view.flow(direction).reordered);
        Some(DatagramLedger {
            sent,
            received,
            lost,
            unaccounted: Some(unaccounted),
            reordered: reordered.or_else(|| flow.and_then(|flow| flow.reordered)),
            ..DatagramLedger::default()
        })
    }

    fn is_of_iperf2(&self) -> bool {
        self.views.iter().any(|view| view.tool == Tool::Iperf2)
    }

    /// Requested rate of each stream.
    fn rate(&self) -> Option<BitRate> {
        self.views.iter().find_map(|view| view.rate)
    }

    /// Streams of each direction.
    fn stream_count(&self) -> u32 {
        let told = self.views.iter().find_map(|view| {
            view.details.streams.or_else(|| view.asked.and_then(|asked| asked.streams))
        });
        let rows = self.views.iter().flat_map(|view| {
            [&view.sent, &view.received]
                .map(|flow| flow.by_sender.streams.len().max(flow.by_receiver.streams.len()))
        });
        let connections = self.views.iter().map(|view| view.connections.len()).max();
        let connections = connections.unwrap_or(0) / self.directions.len();
        let counted = rows.max().unwrap_or(0).max(connections);
        told.or_else(|| u32::try_from(counted).ok()).unwrap_or(1).max(1)
    }

    fn plan(&self) -> TestPlan {
        let direction = match self.directions[..] {
            [one] => one,
            _ => Direction::Both,
        };
        let mut draft = PlanDraft::new(self.transport, direction);
        let plain = draft.clone();
        draft.streams = self.stream_count();
        draft.end = self.until();
        let asked = self.views.iter().find_map(|view| view.asked);
        let omit = self.views.iter().find_map(|view| view.details.omit).map(Duration::from_secs);
        draft.omit = omit.or_else(|| asked.and_then(|asked| asked.omit)).unwrap_or_default();
        draft.options.rate = self.rate();
        draft.options.window = asked.and_then(|asked| asked.window);
        draft.options.block = self.block().map(ByteSize::from_bytes);
        let within_limits = draft.check().or_else(|_| plain.check());
        within_limits.expect("a default draft is a plan")
    }

    /// When the run ends: by what was typed, else as long as it took.
    fn until(&self) -> Until {
        let asked = self.views.iter().find_map(|view| view.asked);
        if let Some(bytes) = asked.and_then(|asked| asked.bytes) {
            return Until::Bytes(ByteSize::from_bytes(bytes));
        }
        let told = self.views.iter().find_map(|view| view.details.seconds).map(seconds);
        let typed = asked.and_then(|asked| asked.time);
        let took = self.directions.iter().filter_map(|way| self.sent(*way).or(self.arrived(*way)));
        let took = took.map(|side| side.seconds.value).reduce(f64::max);
        let whole = |took: f64| if (took - took.round()).abs() < 0.1 { took.round() } else { took };
        told.or(typed)
            .or_else(|| took.map(|took| seconds(whole(took))))
            .map_or(Until::Open, Until::Time)
    }

    /// Bytes of a write or a datagram that are known.
    fn block(&self) -> Option<u64> {
        match self.transport {
            Transport::Udp => self.datagram,
            Transport::Tcp => self.views.iter().find_map(|view| {
                let typed = view.asked.and_then(|asked| asked.block).map(ByteSize::bytes);
                view.details.block.or(typed)
            }),
        }
    }

    /// Where nothing tells: of datagrams their mean length, of writes the usual one.
    fn likely_block(&self) -> u64 {
        let sides = self.directions.iter().filter_map(|way| self.sent(*way).or(self.arrived(*way)));
        let mean = sides.filter_map(|side| {
            let datagrams = side.total? - side.lost.unwrap_or(0);
            (datagrams > 0).then(|| side.bytes.times(1.0 / datagrams as f64).whole())
        });
        let mean = mean.take(1).next().filter(|_| self.transport == Transport::Udp);
        mean.unwrap_or(USUAL_BLOCK)
    }

    fn streams(&self) -> Vec<StreamRecord> {
        let Some(view) = self.views.first() else { return Vec::new() };
        let block = ByteSize::from_bytes(self.block().unwrap_or_else(|| self.likely_block()));
        let is_client = view.end != Some(End::Server);
        let each = self.stream_count() as usize;
        let stream = |(at, one): (usize, &super::view::Connection)| {
            let sender = match self.directions[..] {
                [one] => one == Direction::Send,
                _ => (at < each) == is_client,
            };
            let (local, peer) =
                if is_client { (one.local, one.peer) } else { (one.peer, one.local) };
            let known = |socket: SocketAddr| Some(socket).filter(|it| !it.ip().is_unspecified());
            let (local, peer) = (known(local), known(peer));
            let id = u32::try_from(at + 1).unwrap_or(u32::MAX);
            let congestion = view.details.congestion.clone().filter(|_| sender);
            let mss = view.details.segment.filter(|_| self.transport == Transport::Tcp);
            StreamRecord {
                local,
                peer,
                congestion,
                mss,
                ..StreamRecord::unknown(id, sender, block)
            }
        };
        view.connections.iter().enumerate().map(stream).collect()
    }

    fn intervals(&self) -> Vec<DirectionIntervals> {
        let of = |way: &Direction| {
            let found = self.views.iter().map(|view| &view.flow(*way).intervals.rows);
            let rows = found.max_by_key(|rows| usize::from(!rows.is_empty()))?;
            let sender = *way == Direction::Send;
            (!rows.is_empty()).then(|| DirectionIntervals { sender, intervals: rows.clone() })
        };
        self.directions.iter().filter_map(of).collect()
    }

    /// The only clock of a log is the time since the start. With the window of one TCP stream there
    /// are samples at both ends of the run.
    fn add_times(&self, record: &mut TestRecord) {
        let spans = record.outcome.directions.iter().filter_map(DirectionOutcome::headline);
        let Some(span) = spans.map(|one| one.span).max().filter(|span| !span.is_zero()) else {
            return;
        };
        let (start, end) = (Timestamp::default(), Timestamp::default().after(span));
        (record.start, record.stopped) = (Some(start), Some(end));
        let (Some(client), [outcome], [stream]) =
            (&self.run.client, &record.outcome.directions[..], &record.streams[..])
        else {
            return;
        };
        let intervals = &client.sent.intervals;
        let (Some(window), Some(arrived)) = (intervals.window, outcome.delivered) else { return };
        let sample = |at, acknowledged, retransmits| Sample {
            at,
            streams: vec![StreamSample {
                id: stream.id,
                counters: StreamCounters { bytes: acknowledged, ..StreamCounters::default() },
                tcp: Some(TcpSample {
                    acknowledged,
                    retransmits,
                    congestion_window: window,
                    ..TcpSample::default()
                }),
                udp: None,
            }],
        };
        let resent = outcome.retransmits.unwrap_or(0);
        record.samples = vec![sample(start, 0, 0), sample(end, arrived.bytes, resent)];
    }

    fn ending(&self) -> Ending {
        let failure = self.views.iter().find_map(|view| view.failure.clone());
        let is_cut = self.views.iter().all(|view| view.is_cut());
        match failure {
            Some(error) => Ending::Failed { error },
            None if is_cut => {
                Ending::Failed { error: "the text ends before the summary".to_owned() }
            }
            None => Ending::Completed,
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.views.iter().all(|view| view.transport.is_none()) {
            notes.push("the text does not tell the transport: read as TCP".to_owned());
        }
        if self.views.iter().all(|view| view.end.is_none() && !view.both) {
            notes
                .push("the text does not tell which end printed it: read as the client".to_owned());
        }
        if self.views.iter().all(|view| view.likely_end.is_some()) {
            notes
                .push("the text does not tell which end printed it: read as the server".to_owned());
        }
        let to_iperf3 = self.is_of_iperf2()
            && self.run.server.is_none()
            && self.views.iter().any(|view| {
                view.port == Some(IPERF3_PORT)
                    || view.ports().any(|(_, server)| server.port() == IPERF3_PORT)
            });
        if to_iperf3 {
            notes.push(
                "port 5201 is that of iperf3, which never confirms what iperf 2 sends".to_owned(),
            );
        }
        if self.views.iter().any(|view| view.unacknowledged) {
            notes.push("the server did not acknowledge the last datagram".to_owned());
        }
        let gap = self
            .views
            .iter()
            .any(|view| view.sent.intervals.has_gap || view.received.intervals.has_gap);
        if gap {
            notes.push("intervals are missing in the text".to_owned());
        }
        notes
    }
}

impl View {
    /// Whether it has figures of both directions.
    fn is_both(&self) -> bool {
        !self.sent.is_empty() && !self.received.is_empty()
    }

    /// Whether only the server sends.
    fn is_reverse(&self) -> bool {
        let only = |a: &super::view::Flow, b: &super::view::Flow| !a.is_empty() && b.is_empty();
        match self.end {
            Some(End::Server) => only(&self.sent, &self.received),
            _ => only(&self.received, &self.sent),
        }
    }

    /// Whether no summary was printed, or something ended the run.
    fn is_cut(&self) -> bool {
        let flows = [&self.sent, &self.received];
        let has_total =
            |flow: &super::view::Flow| !flow.by_sender.is_empty() || !flow.by_receiver.is_empty();
        self.failure.is_some() || !flows.into_iter().any(has_total)
    }
}

/// What a receiver printed of itself. To 3.6 the summary of a server of iperf3 has the losses and
/// no amount, which is then that of the intervals.
fn own_arrival(view: &View, direction: Direction) -> Option<Side> {
    let side = view.flow(direction).by_receiver.side()?;
    let has_amount = side.bytes.value > 0.0 || side.total.unwrap_or(0) <= side.lost.unwrap_or(0);
    let counted = || of_intervals(view, direction);
    let Some(counted) = (!has_amount).then(counted).flatten() else { return Some(side) };
    Some(Side { bytes: counted.bytes, rate: counted.rate, ..side })
}

/// The sum of the intervals at the end that printed them; none: there are none.
fn of_intervals(view: &View, direction: Direction) -> Option<Side> {
    let rows = &view.flow(direction).intervals.rows;
    let counted = || rows.iter().filter(|row| !row.omitted);
    let bytes = counted().fold(0_u64, |sum, row| sum.saturating_add(row.bytes));
    let span: Duration = counted().map(|row| row.to.saturating_sub(row.from)).sum();
    if span.is_zero() {
        return None;
    }
    let exact = |value: f64| super::figure::Figure { value, half: value * ROUNDING };
    let rate = BitRate::average(bytes, span).bits_per_second();
    let is_receiver = !view.sends(direction);
    let lost = counted().fold(0_i64, |sum, row| sum.saturating_add(row.missing));
    let blocks = counted().fold(0_u64, |sum, row| sum.saturating_add(row.blocks));
    let blocks = i64::try_from(blocks).unwrap_or(i64::MAX);
    let is_udp = view.transport == Some(Transport::Udp);
    let retransmits = counted().fold(0_u64, |sum, row| sum.saturating_add(row.retransmits));
    Some(Side {
        bytes: exact(bytes as f64),
        rate: exact(rate as f64),
        seconds: super::figure::Figure::exact(span.as_secs_f64()),
        count: (!is_udp && !is_receiver && view.sent.intervals.window.is_some())
            .then_some(retransmits),
        jitter: None,
        lost: (is_udp && is_receiver).then_some(lost),
        total: is_udp.then(|| blocks.saturating_add(if is_receiver { lost } else { 0 })),
    })
}

fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or_default()
}

fn cpu_use(shares: &[f64]) -> CpuUse {
    match *shares {
        [total, user, system] => CpuUse { total, user, system },
        _ => CpuUse::default(),
    }
}

/// A share by which printed amounts differ from those of whole datagrams.
const EXACT: f64 = 0.005;
/// Of an amount of three digits.
const ROUNDING: f64 = 0.005;
/// Bytes of a write of TCP, of iperf3 and of iperf 2, without `-l`.
const USUAL_BLOCK: u64 = 128 << 10;
const IPERF3_PORT: u16 = 5201;
