//! One line: a stream, or all of them, in an interval or in the whole test.

use std::net::SocketAddr;

use measurement::record::OneWayDelay;
use measurement::{Course, Sample, StreamRecord, Transport};

use crate::iperf3::UnitFormat;

/// Of whom a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// The stream at this index, and whether this end sends on it.
    Stream(usize, bool),
    /// So many streams together.
    Sum(usize),
}

/// What the receiver counts of datagrams.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Datagrams {
    pub(super) jitter_millis: f64,
    pub(super) lost: u64,
    pub(super) all: u64,
    pub(super) one_way: Option<OneWayDelay>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Iperf2Row {
    pub(super) whose: Whose,
    /// Begin and end in seconds.
    pub(super) span: (f64, f64),
    pub(super) bytes: u64,
    /// Datagrams that were sent, the one that ends a flow included.
    pub(super) sent: u64,
    pub(super) transport: Transport,
    /// Of a receiver.
    pub(super) datagrams: Option<Datagrams>,
    /// From whom to whom.
    pub(super) way: Way,
}

/// The addresses of the sender and of the receiver.
pub(super) type Way = (Option<SocketAddr>, Option<SocketAddr>);

/// The way of a stream, whose record is that of one of its ends.
pub(super) const fn way(stream: &StreamRecord) -> Way {
    if stream.sender { (stream.local, stream.peer) } else { (stream.peer, stream.local) }
}

impl Iperf2Row {
    pub(super) const fn new(whose: Whose, span: (f64, f64), bytes: u64) -> Self {
        let (sent, transport) = (0, Transport::Udp);
        Self { whose, span, bytes, sent, transport, datagrams: None, way: (None, None) }
    }

    /// `[  1]`, `[ *1]` of a stream on which the server sends, `[SUM]`.
    pub(super) fn label(&self) -> String {
        match self.whose {
            Whose::Stream(index, true) => format!("[{:3}]", index + 1),
            Whose::Stream(index, false) => format!("[{:>3}]", format!("*{}", index + 1)),
            Whose::Sum(_) => "[SUM]".to_owned(),
        }
    }

    fn seconds(&self) -> f64 {
        self.span.1 - self.span.0
    }

    fn bytes_per_second(&self) -> f64 {
        if self.seconds() > 0.0 { self.bytes as f64 / self.seconds() } else { 0.0 }
    }

    pub(super) fn text(&self, unit: UnitFormat) -> String {
        let (from, to) = self.span;
        let (moved, rate) = (unit.amount(self.bytes as f64), unit.rate(self.bytes_per_second()));
        let datagrams = self.datagrams.map_or_else(String::new, |datagrams| {
            let Datagrams { jitter_millis, lost, all, one_way } = datagrams;
            let one_way = one_way.map_or_else(String::new, times);
            format!("  {jitter_millis:6.3} ms {lost}/{all} ({}%){one_way}", percent(lost, all))
        });
        format!("{} {from:.4}-{to:.4} sec  {moved}  {rate}/sec{datagrams}\n", self.label())
    }

    pub(super) fn csv(&self, date: &str) -> String {
        let address = |address: Option<SocketAddr>| {
            address.map_or_else(
                || ",".to_owned(),
                |address| format!("{},{}", address.ip().to_canonical(), address.port()),
            )
        };
        let (from, to) = (address(self.way.0), address(self.way.1));
        let number = match self.whose {
            Whose::Stream(index, _) => (index + 1).to_string(),
            Whose::Sum(_) => "-1".to_owned(),
        };
        let ((begin, end), bits) = (self.span, self.bytes_per_second() * 8.0);
        let datagrams = match (self.transport, self.datagrams) {
            (Transport::Tcp, _) => String::new(),
            // 2.1.8 has as many values for a sender, which knows nothing of these.
            (Transport::Udp, None) => format!(",0.000,0,{},0.000,0", self.sent),
            (Transport::Udp, Some(Datagrams { jitter_millis, lost, all, .. })) => {
                let share = if all > 0 { 100.0 * lost as f64 / all as f64 } else { 0.0 };
                format!(",{jitter_millis:.3},{lost},{all},{share:.3},0")
            }
        };
        let bytes = self.bytes;
        format!("{date},{from},{to},{number},{begin:.1}-{end:.1},{bytes},{bits:.0}{datagrams}\n")
    }
}

/// Mean, least, most and standard deviation of the times on the way.
fn times(delay: OneWayDelay) -> String {
    let OneWayDelay { mean_seconds, min_seconds, max_seconds, deviation_seconds, .. } = delay;
    let [mean, least, most, deviation] =
        [mean_seconds, min_seconds, max_seconds, deviation_seconds].map(|seconds| seconds * 1e3);
    format!(" {mean:.3}/{least:.3}/{most:.3}/{deviation:.3} ms")
}

/// A share with two significant digits.
fn percent(part: u64, whole: u64) -> String {
    let share = if whole > 0 { 100.0 * part as f64 / whole as f64 } else { 0.0 };
    let text = match share {
        share if share >= 9.95 => return format!("{share:.0}"),
        share if share >= 0.995 => format!("{share:.1}"),
        share if share >= 0.0995 => format!("{share:.2}"),
        share => format!("{share:.3}"),
    };
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The rows of the interval after the sample with this index.
pub(super) fn intervals(course: &Course<'_>, index: usize) -> Vec<Iperf2Row> {
    let Some([from, to]) = course.samples.get(index..index + 2) else { return Vec::new() };
    let begin = course.samples[0].at;
    let span = (from.at.since(begin).as_secs_f64(), to.at.since(begin).as_secs_f64());
    rows(course, (from, to), span, 0)
}

/// The rows of the whole test.
pub(super) fn totals(course: &Course<'_>) -> Vec<Iperf2Row> {
    let (Some(first), Some(last)) = (course.samples.first(), course.samples.last()) else {
        return Vec::new();
    };
    let sends = course.streams.iter().any(|stream| stream.sender);
    rows(course, (first, last), (0.0, course.span(sends).as_secs_f64()), 1)
}

/// The rows between two samples; `ends` datagrams of each flow are none of its payload.
fn rows(
    course: &Course<'_>,
    (from, to): (&Sample, &Sample),
    span: (f64, f64),
    ends: u64,
) -> Vec<Iperf2Row> {
    let transport = course.plan.transport;
    // The header was sent before the first sample, and is payload to iperf2.
    let header = |stream: &StreamRecord| {
        let is_first = course.samples.first().is_some_and(|first| first.at == from.at);
        let has_one = transport == Transport::Tcp && course.plan.exchange.is_none();
        if is_first && stream.sender && has_one { HEADER } else { 0 }
    };
    let connections = course.plan.streams.max(1) as usize;
    let pairs = course.streams.iter().zip(from.streams.iter().zip(&to.streams));
    let mut rows: Vec<_> = pairs
        .enumerate()
        .map(|(index, (stream, (a, b)))| {
            let moved = b.counters.since(&a.counters);
            let all = moved.sequence;
            let comes = !stream.sender && transport == Transport::Udp;
            let datagrams = comes.then(|| Datagrams {
                jitter_millis: b.counters.jitter_nanos as f64 / 1e6,
                lost: all.saturating_sub(moved.unique),
                all,
                one_way: None,
            });
            Iperf2Row {
                sent: if stream.sender { all + ends } else { 0 },
                datagrams,
                transport,
                way: way(stream),
                // Both directions of a connection have its number.
                ..Iperf2Row::new(
                    Whose::Stream(index % connections, stream.sender),
                    span,
                    moved.bytes + header(stream),
                )
            }
        })
        .collect();
    // As iperf2 has it, of both directions together.
    if connections > 1 {
        let bytes = rows.iter().map(|row| row.bytes).sum();
        let sent = rows.iter().map(|row| row.sent).sum();
        let last = &rows[rows.len() - 1];
        let way = last.way;
        let sum = Iperf2Row::new(Whose::Sum(rows.len()), span, bytes);
        let datagrams = rows.iter().map(|row| row.datagrams).reduce(together).flatten();
        rows.push(Iperf2Row { sent, transport, datagrams, way, ..sum });
    }
    rows
}

/// What came on two streams; none: this end sends on one.
fn together(one: Option<Datagrams>, other: Option<Datagrams>) -> Option<Datagrams> {
    let (one, other) = (one?, other?);
    Some(Datagrams {
        jitter_millis: one.jitter_millis.max(other.jitter_millis),
        lost: one.lost + other.lost,
        all: one.all + other.all,
        one_way: None,
    })
}

/// Bytes at the start of a connection (docs/protocol/iperf2.md, clause 3.5).
const HEADER: u64 = 60;
