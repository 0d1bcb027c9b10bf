//! Computes the figures of the intervals between two samples.

use std::time::Duration;

use measurement::{Course, Sample, StreamSample, TcpSample, Timestamp, Transport};

use super::{
    Datagrams, Span, lost_between, millis, packets_between, pairs, retransmits_between, span, ways,
};
use crate::iperf3::Role;

/// Counts the intervals that are reported already.
#[derive(Clone, Copy, Debug)]
pub(in crate::iperf3) struct Progress {
    reported: usize,
}

/// The intervals that a new sample completes.
#[derive(Clone, Debug)]
pub(in crate::iperf3) enum Step {
    /// A complete interval, by direction.
    Shown(Vec<Way>),
    /// The end of the omitted start. Nothing else of it is shown, as no intervals were requested.
    OmitOver,
}

impl Progress {
    /// No interval is reported yet.
    pub(in crate::iperf3) const fn new() -> Self {
        Self { reported: 0 }
    }

    /// The intervals that came since the last call.
    pub(in crate::iperf3) fn advance(&mut self, role: Role, course: &Course<'_>) -> Vec<Step> {
        let from = self.reported;
        self.reported = course.samples.len().saturating_sub(1).max(from);
        (from..self.reported).filter_map(|index| step(role, course, index)).collect()
    }
}

fn step(role: Role, course: &Course<'_>, index: usize) -> Option<Step> {
    if course.plan.interval.is_zero() && index + 1 == course.base {
        return Some(Step::OmitOver);
    }
    let ways = interval(role, course, index)?;
    is_worth_it(course.plan.interval, &ways).then_some(Step::Shown(ways))
}

/// Whether iperf3 prints an interval: it leaves out a short last one without payload.
fn is_worth_it(interval: Duration, ways: &[Way]) -> bool {
    let least = interval.as_secs_f64() / 10.0;
    ways.iter().flat_map(|way| &way.rows).any(|row| row.span.seconds >= least || row.bytes > 0)
}

/// One direction of an interval.
#[derive(Clone, Debug)]
pub(in crate::iperf3) struct Way {
    /// Whether this end sends.
    pub(in crate::iperf3) sender: bool,
    /// Rows of its streams.
    pub(in crate::iperf3) rows: Vec<IntervalRow>,
    /// Sum of the rows.
    pub(in crate::iperf3) sum: IntervalRow,
}

/// One stream in an interval.
#[derive(Clone, Copy, Debug)]
pub(in crate::iperf3) struct IntervalRow {
    /// Descriptor of the socket, by which iperf3 names the stream.
    pub(in crate::iperf3) socket: u32,
    /// Begin, end and length.
    pub(in crate::iperf3) span: Span,
    /// Payload bytes written to the socket or read from it.
    pub(in crate::iperf3) bytes: u64,
    /// Further figures by the kind of stream.
    pub(in crate::iperf3) detail: Detail,
    /// Whether it lies in the omitted start.
    pub(in crate::iperf3) omitted: bool,
}

/// Figures besides the bytes, by the kind of stream.
#[derive(Clone, Copy, Debug)]
pub(in crate::iperf3) enum Detail {
    /// The kernel's figures, and the segments retransmitted in this interval.
    TcpSender(TcpSample, i64),
    /// No further figures.
    TcpReceiver,
    /// Datagrams sent.
    UdpSender(i64),
    /// Datagrams received and missing, and the jitter.
    UdpReceiver(Datagrams),
}

/// The interval after a sample; none: no stream was opened, or it is not over.
fn interval(role: Role, course: &Course<'_>, index: usize) -> Option<Vec<Way>> {
    course.streams.first()?;
    let ends = (course.samples.get(index)?, course.samples.get(index + 1)?);
    let omitted = index < course.base;
    let origin = course.samples.get(if omitted { 0 } else { course.base })?.at;
    let ways = ways(role, course.plan.direction).into_iter();
    Some(ways.map(|sender| way(course, ends, origin, omitted, sender)).collect())
}

fn way(
    course: &Course<'_>,
    (earlier, later): (&Sample, &Sample),
    origin: Timestamp,
    omitted: bool,
    sender: bool,
) -> Way {
    let transport = course.plan.transport;
    let span = span(origin, earlier.at, later.at, course.stopped.filter(|_| sender));
    let row = |socket, a: &StreamSample, b: &StreamSample| IntervalRow {
        socket,
        span,
        bytes: b.counters.bytes.saturating_sub(a.counters.bytes),
        detail: detail(transport, sender, a, b),
        omitted,
    };
    let streams = pairs(course, sender, earlier, later);
    let rows: Vec<_> =
        streams.map(|(stream, a, b)| row(stream.socket.unwrap_or_default(), a, b)).collect();
    let nothing = StreamSample::default();
    let sum = sum(&rows, row(0, &nothing, &nothing));
    Way { sender, rows, sum }
}

fn detail(transport: Transport, sender: bool, a: &StreamSample, b: &StreamSample) -> Detail {
    match (transport, sender) {
        (Transport::Tcp, true) => {
            Detail::TcpSender(b.tcp.unwrap_or_default(), retransmits_between(a, b))
        }
        (Transport::Tcp, false) => Detail::TcpReceiver,
        (Transport::Udp, true) => Detail::UdpSender(packets_between(a, b)),
        (Transport::Udp, false) => Detail::UdpReceiver(Datagrams {
            packets: packets_between(a, b),
            lost: lost_between(a, b),
            jitter_millis: millis(b.counters.jitter_nanos),
        }),
    }
}

/// The sum of the rows; the jitter is their mean.
fn sum(rows: &[IntervalRow], empty: IntervalRow) -> IntervalRow {
    let mut sum = rows.iter().fold(empty, |sum, row| IntervalRow {
        bytes: sum.bytes + row.bytes,
        detail: add(sum.detail, row.detail),
        ..sum
    });
    if let Detail::UdpReceiver(datagrams) = &mut sum.detail {
        datagrams.jitter_millis /= rows.len().max(1) as f64;
    }
    sum
}

fn add(a: Detail, b: Detail) -> Detail {
    match (a, b) {
        (Detail::TcpSender(tcp, a), Detail::TcpSender(_, b)) => Detail::TcpSender(tcp, a + b),
        (Detail::UdpSender(a), Detail::UdpSender(b)) => Detail::UdpSender(a + b),
        (Detail::UdpReceiver(a), Detail::UdpReceiver(b)) => Detail::UdpReceiver(Datagrams {
            packets: a.packets + b.packets,
            lost: a.lost + b.lost,
            jitter_millis: a.jitter_millis + b.jitter_millis,
        }),
        (a, _) => a,
    }
}
