//! Builds the JSON objects of intervals, of streams and of sums over streams.

use measurement::{Direction, Transport};

use crate::iperf3::figures::{
    Detail, IntervalRow, Span, StreamTotal, Total, TotalSum, Way, is_reverse, rate,
};
use crate::iperf3::{DiskFile, Role, Tree};

/// The object of an interval, with all its directions.
pub(super) fn interval(role: Role, direction: Direction, ways: &[Way]) -> Tree {
    let streams = ways.iter().flat_map(|way| &way.rows);
    let streams = streams.map(|row| {
        let socket = [("socket", Tree::from(row.socket))];
        Tree::object(socket.into_iter().chain(row_members(row, Whole::No)))
    });
    let mut interval = Tree::object([("streams", Tree::List(streams.collect()))]);
    for way in ways {
        let reverse = is_reverse(role, direction, way.sender);
        let name = if reverse { "sum_bidir_reverse" } else { "sum" };
        interval.push(name, Tree::object(row_members(&way.sum, Whole::Yes)));
    }
    interval
}

/// Whether a row is of one stream, or the sum of all.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whole {
    No,
    Yes,
}

fn row_members(row: &IntervalRow, whole: Whole) -> Vec<(&'static str, Tree)> {
    let mut members = amount(&row.span, row.bytes);
    members.extend(detail_members(&row.detail, whole));
    members.push(("omitted", row.omitted.into()));
    members.push((
        "sender",
        matches!(row.detail, Detail::TcpSender(..) | Detail::UdpSender(_)).into(),
    ));
    members
}

fn detail_members(detail: &Detail, whole: Whole) -> Vec<(&'static str, Tree)> {
    match detail {
        Detail::TcpSender(_, retransmits) if whole == Whole::Yes => {
            vec![("retransmits", (*retransmits).into())]
        }
        Detail::TcpSender(tcp, retransmits) => vec![
            ("retransmits", (*retransmits).into()),
            ("snd_cwnd", tcp.congestion_window.into()),
            ("snd_wnd", tcp.send_window.into()),
            ("rtt", tcp.rtt_micros.into()),
            ("rttvar", tcp.rtt_variation_micros.into()),
            ("pmtu", tcp.path_mtu.into()),
            ("reorder", tcp.reordering.into()),
        ],
        Detail::TcpReceiver => Vec::new(),
        Detail::UdpSender(packets) => vec![("packets", (*packets).into())],
        Detail::UdpReceiver(datagrams) => {
            let lost_percent = datagrams.lost_percent();
            lost(datagrams.jitter_millis, datagrams.lost, datagrams.packets, lost_percent)
        }
    }
}

/// The members with which every object of an amount begins.
fn amount(span: &Span, bytes: u64) -> Vec<(&'static str, Tree)> {
    vec![
        ("start", span.start.into()),
        ("end", span.end.into()),
        ("seconds", span.seconds.into()),
        ("bytes", bytes.into()),
        ("bits_per_second", (rate(bytes, span.seconds) * 8.0).into()),
    ]
}

fn amount_over(seconds: f64, bytes: u64) -> Vec<(&'static str, Tree)> {
    amount(&Span { start: 0.0, end: seconds, seconds }, bytes)
}

fn lost(
    jitter_millis: f64,
    lost: i64,
    packets: i64,
    lost_percent: f64,
) -> Vec<(&'static str, Tree)> {
    vec![
        ("jitter_ms", jitter_millis.into()),
        ("lost_packets", lost.into()),
        ("packets", packets.into()),
        ("lost_percent", lost_percent.into()),
    ]
}

/// The object of a stream over the whole test.
pub(super) fn stream(
    transport: Transport,
    total: &Total,
    stream: &StreamTotal,
    file: Option<&DiskFile>,
) -> Tree {
    let mut members = Tree::Object(Vec::new());
    match transport {
        Transport::Tcp => members.push("sender", tcp_sender(total, stream)),
        Transport::Udp => members.push("udp", udp_stream(total, stream)),
    }
    if let Some(file) = file {
        members.push("diskfile", disk_file(file, stream));
    }
    if transport == Transport::Tcp {
        members.push("receiver", tcp_receiver(total, stream));
    }
    members
}

fn tcp_sender(total: &Total, stream: &StreamTotal) -> Tree {
    let mut members = vec![("socket", stream.socket.into())];
    members.extend(amount_over(total.sender_seconds, stream.sent));
    if total.has_retransmits {
        let extremes = &stream.extremes;
        members.extend([
            ("retransmits", stream.retransmits.into()),
            ("reorder", extremes.reorder.into()),
            ("max_snd_cwnd", extremes.max_snd_cwnd.into()),
            ("max_snd_wnd", extremes.max_snd_wnd.into()),
            ("max_rtt", extremes.max_rtt.into()),
            ("min_rtt", extremes.min_rtt.into()),
            ("mean_rtt", extremes.mean_rtt.into()),
        ]);
    }
    members.push(("sender", total.sender.into()));
    Tree::object(members)
}

fn tcp_receiver(total: &Total, stream: &StreamTotal) -> Tree {
    let mut members = vec![("socket", stream.socket.into())];
    members.extend(amount_over(total.receiver_seconds, stream.received));
    members.push(("sender", total.sender.into()));
    Tree::object(members)
}

/// The object of a UDP stream, one for both ends: the sender's bytes, the receiver's losses.
fn udp_stream(total: &Total, stream: &StreamTotal) -> Tree {
    let mut members = vec![("socket", stream.socket.into())];
    members.extend(amount_over(total.sender_seconds, stream.sent));
    let lost_percent = stream.lost_percent();
    members.extend(lost(stream.jitter_millis, stream.lost, stream.packets, lost_percent));
    members.push(("out_of_order", stream.reordered.into()));
    members.push(("sender", total.sender.into()));
    Tree::object(members)
}

fn disk_file(file: &DiskFile, stream: &StreamTotal) -> Tree {
    Tree::object([
        ("sent", stream.sent.into()),
        ("received", stream.received.into()),
        ("size", file.size.into()),
        ("percent_sent", file.percent(stream.sent).into()),
        ("percent_received", file.percent(stream.received).into()),
        ("filename", file.name.as_str().into()),
    ])
}

/// Adds the objects of the sums over the streams of a direction, for the whole test.
pub(super) fn push_sums(end: &mut Tree, transport: Transport, total: &Total, suffix: &str) {
    let sum = total.sum();
    let (sent, received) = match transport {
        Transport::Tcp => (tcp_sent(total, &sum), tcp_received(total, &sum)),
        Transport::Udp => {
            end.push(&format!("sum{suffix}"), udp_sum(total, &sum));
            (udp_sent(total, &sum), udp_received(total, &sum))
        }
    };
    end.push(&format!("sum_sent{suffix}"), sent);
    end.push(&format!("sum_received{suffix}"), received);
}

fn tcp_sent(total: &Total, sum: &TotalSum) -> Tree {
    let mut members = amount_over(total.sender_seconds, sum.sent);
    if total.has_retransmits {
        members.push(("retransmits", sum.retransmits.into()));
    }
    members.push(("sender", total.sender.into()));
    Tree::object(members)
}

fn tcp_received(total: &Total, sum: &TotalSum) -> Tree {
    let mut members = amount_over(total.receiver_seconds, sum.received);
    members.push(("sender", total.sender.into()));
    Tree::object(members)
}

/// The object `sum` of UDP, which mixes both ends: the sender's bytes and rate over the
/// receiver's time.
fn udp_sum(total: &Total, sum: &TotalSum) -> Tree {
    let seconds = total.receiver_seconds;
    let bits_per_second = rate(sum.sent, total.sender_seconds) * 8.0;
    let mut members: Vec<(&str, Tree)> = vec![
        ("start", 0.0.into()),
        ("end", seconds.into()),
        ("seconds", seconds.into()),
        ("bytes", sum.sent.into()),
        ("bits_per_second", bits_per_second.into()),
    ];
    members.extend(lost(sum.jitter_millis, sum.lost, sum.packets, sum.lost_percent()));
    members.push(("sender", total.sender.into()));
    Tree::object(members)
}

fn udp_sent(total: &Total, sum: &TotalSum) -> Tree {
    let mut members = amount_over(total.sender_seconds, sum.sent);
    members.extend(lost(0.0, 0, sum.sender_packets, 0.0));
    members.push(("sender", true.into()));
    Tree::object(members)
}

fn udp_received(total: &Total, sum: &TotalSum) -> Tree {
    let mut members = amount_over(total.receiver_seconds, sum.received);
    members.extend(lost(sum.jitter_millis, sum.lost, sum.receiver_packets, sum.lost_percent()));
    members.push(("sender", false.into()));
    Tree::object(members)
}
