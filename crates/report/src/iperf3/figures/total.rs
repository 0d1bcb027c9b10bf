//! Computes the figures of the whole test, from the reports of both ends.

use measurement::record::PeerStream;
use measurement::{Course, Direction, Sample, StreamSample, TcpSample, Transport};

use super::{
    difference, lost_between, millis, packets_between, pairs, percent, retransmits_between, span,
    ways,
};
use crate::iperf3::{PeerResults, Role};

/// One direction of the whole test.
#[derive(Clone, Debug)]
pub(in crate::iperf3) struct Total {
    /// Whether this end sends.
    pub(in crate::iperf3) sender: bool,
    /// Time that the sending end measured, in seconds.
    pub(in crate::iperf3) sender_seconds: f64,
    /// Time that the receiving end measured, in seconds.
    pub(in crate::iperf3) receiver_seconds: f64,
    /// TCP: whether the sending end reports retransmits.
    pub(in crate::iperf3) has_retransmits: bool,
    /// Totals of its streams.
    pub(in crate::iperf3) streams: Vec<StreamTotal>,
}

/// One stream over the whole test, by the reports of both ends; what is not known is 0.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::iperf3) struct StreamTotal {
    /// Descriptor of the socket, by which iperf3 names the stream.
    pub(in crate::iperf3) socket: u32,
    /// Bytes handed to the sending socket.
    pub(in crate::iperf3) sent: u64,
    /// Bytes read from the receiving socket.
    pub(in crate::iperf3) received: u64,
    /// TCP: retransmitted segments.
    pub(in crate::iperf3) retransmits: i64,
    /// TCP: extremes of the kernel's figures (`tcp_info`, tcp(7)).
    pub(in crate::iperf3) extremes: Extremes,
    /// UDP: datagrams by the sender's count.
    pub(in crate::iperf3) sender_packets: i64,
    /// UDP: datagrams by the receiver's count.
    pub(in crate::iperf3) receiver_packets: i64,
    /// UDP: datagrams by the sender's count if it is known, else by the receiver's.
    pub(in crate::iperf3) packets: i64,
    /// UDP: missing datagrams.
    pub(in crate::iperf3) lost: i64,
    /// UDP: whether `lost` is without the datagrams that are missing in the omitted start.
    pub(in crate::iperf3) is_lost_known: bool,
    /// UDP: interarrival jitter (RFC 3550, A.8) in milliseconds.
    pub(in crate::iperf3) jitter_millis: f64,
    /// UDP: datagrams that arrived out of order at this end.
    pub(in crate::iperf3) reordered: i64,
}

impl StreamTotal {
    /// UDP: missing datagrams in percent of all that are known to have been sent.
    pub(in crate::iperf3) fn lost_percent(&self) -> f64 {
        let whole =
            if self.sender_packets > 0 { self.sender_packets } else { self.receiver_packets };
        percent(self.lost, whole)
    }
}

/// Extremes of the kernel's figures of a connection (`tcp_info`, tcp(7)), the omitted start
/// included.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::iperf3) struct Extremes {
    /// Reordering distance at the end of the test (`tcpi_reordering`).
    pub(in crate::iperf3) reorder: u32,
    /// Largest congestion window in bytes.
    pub(in crate::iperf3) max_snd_cwnd: u64,
    /// Largest window that the receiver advertised, in bytes.
    pub(in crate::iperf3) max_snd_wnd: u64,
    /// Largest round-trip time in microseconds.
    pub(in crate::iperf3) max_rtt: u32,
    /// Smallest round-trip time in microseconds.
    pub(in crate::iperf3) min_rtt: u32,
    /// Mean round-trip time in microseconds.
    pub(in crate::iperf3) mean_rtt: u64,
}

impl Extremes {
    fn from_samples(samples: &[TcpSample]) -> Self {
        let rtts = || samples.iter().map(|tcp| tcp.rtt_micros);
        let rtt_sum: u64 = rtts().map(u64::from).sum();
        Self {
            reorder: samples.last().map_or(0, |tcp| tcp.reordering),
            max_snd_cwnd: samples.iter().map(|tcp| tcp.congestion_window).max().unwrap_or(0),
            max_snd_wnd: samples.iter().map(|tcp| tcp.send_window).max().unwrap_or(0),
            max_rtt: rtts().max().unwrap_or(0),
            min_rtt: rtts().filter(|rtt| *rtt > 0).min().unwrap_or(0),
            mean_rtt: rtt_sum.checked_div(samples.len() as u64).unwrap_or(0),
        }
    }
}

/// Sums of the streams of a direction; each field is that of [`StreamTotal`].
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::iperf3) struct TotalSum {
    /// Bytes handed to the sending sockets.
    pub(in crate::iperf3) sent: u64,
    /// Bytes read from the receiving sockets.
    pub(in crate::iperf3) received: u64,
    /// TCP: retransmitted segments.
    pub(in crate::iperf3) retransmits: i64,
    /// UDP: datagrams by the sender's count.
    pub(in crate::iperf3) sender_packets: i64,
    /// UDP: datagrams by the receiver's count.
    pub(in crate::iperf3) receiver_packets: i64,
    /// UDP: datagrams by the sender's count if it is known, else by the receiver's.
    pub(in crate::iperf3) packets: i64,
    /// UDP: missing datagrams.
    pub(in crate::iperf3) lost: i64,
    /// UDP: mean of the interarrival jitter of the streams, in milliseconds.
    pub(in crate::iperf3) jitter_millis: f64,
}

impl TotalSum {
    /// UDP: missing datagrams in percent.
    pub(in crate::iperf3) fn lost_percent(&self) -> f64 {
        percent(self.lost, self.packets)
    }
}

impl Total {
    /// Sums of the streams.
    pub(in crate::iperf3) fn sum(&self) -> TotalSum {
        let mut sum = self.streams.iter().fold(TotalSum::default(), |sum, stream| TotalSum {
            sent: sum.sent + stream.sent,
            received: sum.received + stream.received,
            retransmits: sum.retransmits + stream.retransmits,
            sender_packets: sum.sender_packets + stream.sender_packets,
            receiver_packets: sum.receiver_packets + stream.receiver_packets,
            packets: sum.packets + stream.packets,
            lost: sum.lost + stream.lost,
            jitter_millis: sum.jitter_millis + stream.jitter_millis,
        });
        sum.jitter_millis /= self.streams.len().max(1) as f64;
        sum
    }
}

/// Every direction of the whole test.
pub(in crate::iperf3) fn totals(
    role: Role,
    course: &Course<'_>,
    peer: &PeerResults<'_>,
) -> Vec<Total> {
    let ways = ways(role, course.plan.direction);
    ways.into_iter().map(|sender| total(course, peer, sender)).collect()
}

fn total(course: &Course<'_>, peer: &PeerResults<'_>, sender: bool) -> Total {
    let streams = || course.streams.iter().filter(move |stream| stream.sender == sender);
    let here = own_seconds(course, sender);
    let reported =
        streams().next().and_then(|first| peer_stream(peer, first.id)).map_or(0.0, |w| w.seconds);
    let there = if reported > 0.0 { reported } else { here };
    let is_tcp = course.plan.transport == Transport::Tcp;
    let peer_reports = || peer.streams.iter().any(|stream| stream.retransmits.is_some());
    Total {
        sender,
        sender_seconds: if sender { here } else { there },
        receiver_seconds: if sender { there } else { here },
        has_retransmits: is_tcp && (sender || peer_reports()),
        streams: stream_totals(course, peer, sender),
    }
}

/// The sample from which the result counts; a test that was cut off in its omitted start
/// counts from its beginning, as iperf3's does.
fn base<'a>(course: &Course<'a>) -> Option<&'a Sample> {
    course.samples.get(course.base).or(course.samples.first())
}

fn own_seconds(course: &Course<'_>, sender: bool) -> f64 {
    let (Some(base), Some(last)) = (base(course), course.samples.last()) else { return 0.0 };
    span(base.at, base.at, last.at, course.stopped.filter(|_| sender)).seconds
}

fn peer_stream<'a>(peer: &PeerResults<'a>, id: u32) -> Option<&'a PeerStream> {
    peer.streams.iter().find(|stream| stream.id == id)
}

fn stream_totals(course: &Course<'_>, peer: &PeerResults<'_>, sender: bool) -> Vec<StreamTotal> {
    let (Some(base), Some(last)) = (base(course), course.samples.last()) else {
        return Vec::new();
    };
    let is_both = course.plan.direction == Direction::Both;
    pairs(course, sender, base, last)
        .map(|(stream, a, b)| {
            let word = peer_stream(peer, stream.id);
            let total = if sender { sender_total(a, b, word) } else { receiver_total(a, b, word) };
            // Where both ends send, iperf3 looks at the receiving sockets too.
            let extremes = (sender || is_both).then(|| extremes(course, stream.id));
            StreamTotal {
                socket: stream.socket.unwrap_or_default(),
                extremes: extremes.unwrap_or_default(),
                ..total
            }
        })
        .collect()
}

fn extremes(course: &Course<'_>, id: u32) -> Extremes {
    let states = course.samples.iter().skip(1).flat_map(|sample| &sample.streams);
    Extremes::from_samples(
        &states.filter(|state| state.id == id).filter_map(|s| s.tcp).collect::<Vec<_>>(),
    )
}

/// The total of a stream that this end sent, between the samples `a` and `b`.
fn sender_total(a: &StreamSample, b: &StreamSample, word: Option<&PeerStream>) -> StreamTotal {
    let own = StreamTotal {
        sent: b.counters.bytes.saturating_sub(a.counters.bytes),
        retransmits: retransmits_between(a, b),
        sender_packets: packets_between(a, b),
        packets: packets_between(a, b),
        is_lost_known: true,
        ..StreamTotal::default()
    };
    let Some(word) = word else { return own };
    let omitted = a.counters.sequence;
    // Old versions report the whole test only.
    let is_lost_known = word.omitted_lost.is_some() || omitted == 0 || word.lost == 0;
    StreamTotal {
        received: word.bytes,
        receiver_packets: difference(word.omitted_datagrams.unwrap_or(omitted), word.datagrams),
        lost: difference(word.omitted_lost.unwrap_or(0), word.lost),
        is_lost_known,
        jitter_millis: word.jitter_seconds * 1e3,
        ..own
    }
}

/// The total of a stream that this end received, between the samples `a` and `b`.
fn receiver_total(a: &StreamSample, b: &StreamSample, word: Option<&PeerStream>) -> StreamTotal {
    let received = packets_between(a, b);
    let own = StreamTotal {
        received: b.counters.bytes.saturating_sub(a.counters.bytes),
        receiver_packets: received,
        packets: received,
        lost: lost_between(a, b),
        is_lost_known: true,
        jitter_millis: millis(b.counters.jitter_nanos),
        reordered: difference(a.counters.reordered, b.counters.reordered),
        ..StreamTotal::default()
    };
    let Some(word) = word else { return own };
    // A sender that does not report what it sent in the omitted start sent at least what came.
    let omitted = word.omitted_datagrams.unwrap_or(a.counters.sequence);
    let sent = difference(omitted, word.datagrams);
    StreamTotal {
        sent: word.bytes,
        retransmits: word.retransmits.map_or(0, u64::cast_signed),
        sender_packets: sent,
        packets: if word.datagrams > 0 { sent } else { received },
        ..own
    }
}
