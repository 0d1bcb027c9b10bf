//! Computes the figures of text and JSON, as iperf3 counts them, from the samples of a test and the
//! results of the peer.
//!
//! Counters of the samples are only subtracted here; iperf3's terms are kept.

use std::time::Duration;

use measurement::{Course, Direction, Sample, StreamRecord, StreamSample, Timestamp};

use super::{PeerResults, Role};

mod interval;
mod total;

pub(super) use interval::{Detail, IntervalRow, Progress, Step, Way};
pub(super) use total::{StreamTotal, Total, TotalSum, totals};

/// The directions in the order in which an end prints them; true: it sends. The client's
/// payload goes first.
pub(super) fn ways(role: Role, direction: Direction) -> Vec<bool> {
    let client_sends = match direction {
        Direction::Send => vec![true],
        Direction::Receive => vec![false],
        Direction::Both => vec![true, false],
    };
    client_sends.into_iter().map(|client| client == (role == Role::Client)).collect()
}

/// The mark of a row where both ends send, e.g. `[TX-C]`; empty where one does.
pub(super) fn mark(role: Role, direction: Direction, sender: bool) -> &'static str {
    match (direction, role, sender) {
        (Direction::Both, Role::Client, true) => "[TX-C]",
        (Direction::Both, Role::Client, false) => "[RX-C]",
        (Direction::Both, Role::Server, true) => "[TX-S]",
        (Direction::Both, Role::Server, false) => "[RX-S]",
        _ => "",
    }
}

/// Whether what the server sends has names of its own, next to what the client sends.
pub(super) fn is_reverse(role: Role, direction: Direction, sender: bool) -> bool {
    direction == Direction::Both && sender == (role == Role::Server)
}

/// A span of time, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    /// Begin, since the test began, or the part of it that counts.
    pub(super) start: f64,
    /// End, since the test began, or the part of it that counts.
    pub(super) end: f64,
    /// Length.
    pub(super) seconds: f64,
}

/// Datagrams as a receiver counts them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Datagrams {
    /// Datagrams sent, by the highest sequence number.
    pub(super) packets: i64,
    /// Missing datagrams; negative when earlier gaps filled up.
    pub(super) lost: i64,
    /// Interarrival jitter (RFC 3550, A.8) in milliseconds.
    pub(super) jitter_millis: f64,
}

impl Datagrams {
    /// Missing datagrams in percent.
    pub(super) fn lost_percent(&self) -> f64 {
        percent(self.lost, self.packets)
    }
}

/// `part` of `whole` in percent; 0 if `whole` is 0.
pub(super) fn percent(part: i64, whole: i64) -> f64 {
    // Counts of two ends, or of a peer that errs, need not fit each other.
    if whole > 0 { (100.0 * part as f64 / whole as f64).min(100.0) } else { 0.0 }
}

/// Bytes per second; 0 over no time.
pub(super) fn rate(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 / seconds } else { 0.0 }
}

/// A sender's time ends when it stops.
fn span(origin: Timestamp, from: Timestamp, to: Timestamp, stopped: Option<Timestamp>) -> Span {
    let clip = |at: Timestamp| stopped.map_or(at, |stopped| at.min(stopped));
    let (from, to) = (clip(from), clip(to));
    let seconds = |span: Duration| span.as_secs_f64();
    Span {
        start: seconds(from.since(origin)),
        end: seconds(to.since(origin)),
        seconds: seconds(to.since(from)),
    }
}

/// The streams of one direction, each with its state at two samples.
fn pairs<'a>(
    course: &Course<'a>,
    sender: bool,
    earlier: &'a Sample,
    later: &'a Sample,
) -> impl Iterator<Item = (&'a StreamRecord, &'a StreamSample, &'a StreamSample)> {
    let samples = earlier.streams.iter().zip(&later.streams);
    course
        .streams
        .iter()
        .zip(samples)
        .filter(move |(stream, _)| stream.sender == sender)
        .map(|(stream, (a, b))| (stream, a, b))
}

fn retransmits_between(a: &StreamSample, b: &StreamSample) -> i64 {
    let count = |sample: &StreamSample| sample.tcp.map_or(0, |tcp| tcp.retransmits);
    difference(count(a), count(b))
}

fn packets_between(a: &StreamSample, b: &StreamSample) -> i64 {
    difference(a.counters.sequence, b.counters.sequence)
}

fn lost_between(a: &StreamSample, b: &StreamSample) -> i64 {
    difference(a.counters.missing(), b.counters.missing())
}

/// How much more `b` is than `a`.
const fn difference(a: u64, b: u64) -> i64 {
    b.cast_signed().wrapping_sub(a.cast_signed())
}

fn millis(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

/// Congestion control of the sending and of the receiving end, as far as they are known.
pub(super) fn congestion<'a>(
    course: &Course<'a>,
    peer: &PeerResults<'a>,
    sender: bool,
) -> (Option<&'a str>, Option<&'a str>) {
    let own = course.streams.iter().find_map(|stream| stream.congestion.as_deref());
    if sender { (own, peer.congestion) } else { (peer.congestion, own) }
}
