//! Formats the rows of one direction.

use measurement::{Direction, TestPlan, Transport};

use super::Text;
use crate::iperf3::Role;
use crate::iperf3::figures::{
    Datagrams, Detail, IntervalRow, Span, StreamTotal, Total, TotalSum, mark, percent, rate,
};
use crate::iperf3::number::general;
use crate::iperf3::unit::amount;

/// Prints the rows of one direction.
pub(super) struct Printer<'a> {
    text: &'a Text,
    mark: &'static str,
    sender: bool,
}

impl<'a> Printer<'a> {
    /// A printer for the streams on which this end is `sender`, or receiver.
    pub(super) fn new(text: &'a Text, direction: Direction, sender: bool) -> Self {
        Self { text, mark: mark(text.role, direction, sender), sender }
    }

    /// The row of a stream in an interval.
    pub(super) fn row(&self, row: &IntervalRow) -> String {
        let head = self.head(&id(row.socket), &row.span, row.bytes);
        let omitted = if row.omitted { "(omitted)" } else { "" };
        match row.detail {
            Detail::TcpSender(tcp, retransmits) => {
                let window = amount(tcp.congestion_window as f64);
                format!("{head}  {retransmits:3}   {window}       {omitted}\n")
            }
            _ => self.common(&head, &row.detail, omitted),
        }
    }

    /// The row of the sum of all streams in an interval.
    pub(super) fn row_sum(&self, row: &IntervalRow) -> String {
        let head = self.head(SUM, &row.span, row.bytes);
        let omitted = if row.omitted { "(omitted)" } else { "" };
        match row.detail {
            Detail::TcpSender(_, retransmits) => {
                format!("{head}  {retransmits:3}             {omitted}\n")
            }
            _ => self.common(&head, &row.detail, omitted),
        }
    }

    /// Rows that look the same for one stream and for all of them.
    fn common(&self, head: &str, detail: &Detail, omitted: &str) -> String {
        match detail {
            Detail::UdpSender(packets) => {
                let jitter = if self.mark.is_empty() { "" } else { NO_JITTER };
                format!("{head} {jitter} {packets}  {omitted}\n")
            }
            Detail::UdpReceiver(datagrams) => udp(head, datagrams, omitted),
            Detail::TcpSender(..) | Detail::TcpReceiver => plain(head, omitted),
        }
    }

    /// The begin of all rows: stream, time, amount, rate.
    fn head(&self, id: &str, span: &Span, bytes: u64) -> String {
        self.head_over(id, span.start, span.end, span.seconds, bytes)
    }

    fn head_over(&self, id: &str, start: f64, end: f64, seconds: f64, bytes: u64) -> String {
        format!(
            "{id}{} {start:6.2}-{end:<6.2} sec  {}  {}/sec",
            self.mark,
            amount(bytes as f64),
            self.text.unit.rate(rate(bytes, seconds))
        )
    }

    fn total_head(&self, id: &str, seconds: f64, bytes: u64) -> String {
        self.head_over(id, 0.0, seconds, seconds, bytes)
    }

    /// A server does not know the other end's side.
    fn knows(&self, sender: bool) -> bool {
        self.text.role == Role::Client || self.sender == sender
    }

    fn unknown(&self, id: &str, whose: &str) -> String {
        self.text.if_verbose(|| format!("{id} ({whose} statistics not available)\n"))
    }

    /// The rows of the whole test.
    pub(super) fn total(&self, plan: &TestPlan, total: &Total) -> String {
        let stream = |stream| match plan.transport {
            Transport::Tcp => self.tcp_total(total, stream),
            Transport::Udp => self.udp_total(total, stream),
        };
        let mut out: String = total.streams.iter().map(stream).collect();
        if plan.streams > 1 {
            out += &match plan.transport {
                Transport::Tcp => self.tcp_sum(total, &total.sum()),
                Transport::Udp => self.udp_sum(total, &total.sum()),
            };
        }
        out
    }

    fn tcp_total(&self, total: &Total, stream: &StreamTotal) -> String {
        let id = id(stream.socket);
        let sender = self.tcp_sender(total, &id, stream.sent, stream.retransmits, 12);
        sender + &self.disk_file(stream) + &self.tcp_receiver(total, &id, stream.received)
    }

    fn tcp_sum(&self, total: &Total, sum: &TotalSum) -> String {
        let sender = self.tcp_sender(total, SUM, sum.sent, sum.retransmits, 13);
        sender + &self.tcp_receiver(total, SUM, sum.received)
    }

    /// `gap` are the spaces after the retransmits.
    fn tcp_sender(
        &self,
        total: &Total,
        id: &str,
        bytes: u64,
        retransmits: i64,
        gap: usize,
    ) -> String {
        if !self.knows(true) {
            return self.unknown(id, "sender");
        }
        let head = self.total_head(id, total.sender_seconds, bytes);
        if total.has_retransmits {
            format!("{head}  {retransmits:3}{:gap$}sender\n", "")
        } else {
            plain(&head, "sender")
        }
    }

    fn tcp_receiver(&self, total: &Total, id: &str, bytes: u64) -> String {
        if !self.knows(false) {
            return self.unknown(id, "receiver");
        }
        plain(&self.total_head(id, total.receiver_seconds, bytes), "receiver")
    }

    fn udp_total(&self, total: &Total, stream: &StreamTotal) -> String {
        let id = id(stream.socket);
        let mut out = if self.knows(true) {
            let head = self.total_head(&id, total.sender_seconds, stream.sent);
            udp(&head, &sent(stream.sender_packets), "sender")
        } else {
            self.unknown(&id, "sender")
        };
        out += &self.late(total, stream.reordered);
        out += &self.disk_file(stream);
        out + &if self.knows(false) {
            self.udp_receiver(total, stream)
        } else {
            self.unknown(&id, "receiver")
        }
    }

    fn udp_receiver(&self, total: &Total, stream: &StreamTotal) -> String {
        let head = self.total_head(&id(stream.socket), total.receiver_seconds, stream.received);
        let packets = stream.receiver_packets;
        let jitter_millis = stream.jitter_millis;
        if stream.is_lost_known {
            udp(&head, &Datagrams { packets, lost: stream.lost, jitter_millis }, "receiver")
        } else {
            format!("{head}  {jitter_millis:5.3} ms  Unknown/{packets}  receiver\n")
        }
    }

    /// The line with the datagrams out of order. iperf3 gives that of one stream the name of all.
    fn late(&self, total: &Total, reordered: i64) -> String {
        if reordered <= 0 {
            return String::new();
        }
        format!(
            "{SUM}{} {:4.1}-{:4.1} sec  {reordered} datagrams received out-of-order\n",
            self.mark, 0.0, total.sender_seconds
        )
    }

    fn udp_sum(&self, total: &Total, sum: &TotalSum) -> String {
        let mut out = String::new();
        if self.knows(true) {
            let head = self.total_head(SUM, total.sender_seconds, sum.sent);
            out += &udp(&head, &sent(sum.sender_packets), "sender");
        }
        if self.knows(false) {
            let head = self.total_head(SUM, total.receiver_seconds, sum.received);
            let (lost, packets) = (sum.lost, sum.receiver_packets);
            let share = percent(lost, sum.packets);
            out += &udp_line(&head, sum.jitter_millis, lost, packets, share, "receiver");
        }
        out
    }

    fn disk_file(&self, stream: &StreamTotal) -> String {
        let Some(file) = &self.text.file else { return String::new() };
        let bytes = if self.sender { stream.sent } else { stream.received };
        format!(
            "        Sent {} / {} ({}%) of {}\n",
            amount(bytes as f64),
            amount(file.size as f64),
            file.percent(bytes),
            file.name
        )
    }
}

/// The column that begins a row: the descriptor of the socket.
pub(super) fn id(socket: u32) -> String {
    format!("[{socket:3}]")
}

fn plain(head: &str, note: &str) -> String {
    format!("{head}                  {note}\n")
}

fn udp(head: &str, datagrams: &Datagrams, note: &str) -> String {
    let Datagrams { packets, lost, jitter_millis } = *datagrams;
    udp_line(head, jitter_millis, lost, packets, datagrams.lost_percent(), note)
}

fn udp_line(
    head: &str,
    jitter_millis: f64,
    lost: i64,
    packets: i64,
    lost_percent: f64,
    note: &str,
) -> String {
    let share = general(lost_percent, 2);
    format!("{head}  {jitter_millis:5.3} ms  {lost}/{packets} ({share}%)  {note}\n")
}

/// The datagrams of a sender, which has neither losses nor jitter.
fn sent(packets: i64) -> Datagrams {
    Datagrams { packets, ..Datagrams::default() }
}

const SUM: &str = "[SUM]";
const NO_JITTER: &str = "          ";
