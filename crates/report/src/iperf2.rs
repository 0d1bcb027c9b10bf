//! Reports a test as the text and the comma-separated values of iperf 2.1.8, for people and scripts
//! that read those.
//!
//! The bytes of a sender are those handed to its socket, the header of a connection among them. A
//! caller calls the methods in the order of a test: `opened`, `sampled` after each sample,
//! `summary`.

use std::fmt::Write;
use std::net::SocketAddr;

use measurement::record::PeerStream;
use measurement::{ByteSize, Course, Direction, RoundTrips, StreamRecord, TestPlan, Transport};

mod bounce;
mod carried;
mod rows;

pub use self::carried::Carried;
use self::rows::{Datagrams, Iperf2Row, Whose, intervals, totals};
use crate::iperf3::{UnitFormat, amount};

/// The version in output in iperf2's format: the iperf that linerate imitates, and linerate's own
/// version.
pub const VERSION: &str = concat!("iperf version 2.1.8 (linerate ", env!("CARGO_PKG_VERSION"), ")");

/// How a test is written (`-y` of iperf(1)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As text.
    Text,
    /// As comma-separated values (`-y C`).
    Csv,
}

/// What a client of iperf2 prints, in pieces while the test runs.
#[derive(Clone, Debug)]
pub struct Text {
    form: Form,
    unit: UnitFormat,
    /// Samples of which the rows are written.
    reported: usize,
    is_headed: bool,
}

impl Text {
    /// Makes the text of a test that has not begun; `unit` is the unit of rates and amounts (`-f`).
    pub const fn new(form: Form, unit: UnitFormat) -> Self {
        Self { form, unit, reported: 0, is_headed: false }
    }

    /// The lines that are printed when the streams to `host` are open.
    pub fn opened(
        &self,
        (host, port): (&str, u16),
        plan: &TestPlan,
        streams: &[StreamRecord],
    ) -> String {
        if self.form == Form::Csv {
            return String::new();
        }
        let transport = plan.transport;
        let mut out = format!("{RULE}Client connecting to {host}, {transport} port {port}\n");
        if let Some(exchange) = plan.exchange {
            let length = exchange.request.bytes();
            _ = writeln!(out, "Bounce-back test (size= {length} Byte)");
        }
        out += &streams.first().map_or_else(String::new, |first| settings(plan, first));
        out += RULE;
        for (number, stream) in (1..=plan.streams).zip(streams) {
            let way = match (plan.direction, stream.sender) {
                (Direction::Both, _) => " (full-duplex)",
                (_, true) => "",
                (_, false) => " (reverse)",
            };
            if let (Some(local), Some(peer)) = (stream.local, stream.peer) {
                let (local, peer) = (at(local), at(peer));
                _ = writeln!(out, "[{number:3}] local {local} connected with {peer}{way}");
            }
        }
        out
    }

    /// The rows of the intervals that are new since the last call; `date` is the time of day as
    /// `20261126174035`. Empty: there are none, or no intervals were asked for.
    pub fn sampled(&mut self, course: &Course<'_>, date: &str) -> String {
        let from = self.reported;
        self.reported = course.samples.len().saturating_sub(1).max(from);
        if course.plan.interval.is_zero() {
            return String::new();
        }
        (from..self.reported).map(|index| self.rows(&intervals(course, index), date)).collect()
    }

    /// The rows of the whole test, and what the server `reported` of UDP.
    pub fn summary(&mut self, course: &Course<'_>, reported: &[PeerStream], date: &str) -> String {
        let rows = totals(course);
        let mut out = self.rows(&rows, date);
        if course.plan.transport == Transport::Udp && self.form == Form::Text {
            out += &rows.iter().filter(|row| row.sent > 0).map(sent).collect::<String>();
        }
        for (index, stream) in course.streams.iter().enumerate() {
            let report = reported.iter().find(|report| report.id == stream.id);
            out +=
                &report.map_or_else(String::new, |report| self.report(index, stream, report, date));
        }
        out
    }

    /// The row of the whole test with the round trips of its requests.
    pub fn round_trips(&mut self, course: &Course<'_>, trips: &RoundTrips, date: &str) -> String {
        let rows = totals(course);
        if self.form == Form::Csv {
            return self.rows(&rows, date);
        }
        let Some(row) = rows.last() else { return String::new() };
        let text = row.text(self.unit);
        format!("{HEADER}{}\n{}{}\n", bounce::COLUMNS, text.trim_end(), bounce::columns(trips))
    }

    fn report(
        &self,
        index: usize,
        stream: &StreamRecord,
        report: &PeerStream,
        date: &str,
    ) -> String {
        let row = Iperf2Row {
            datagrams: Some(Datagrams {
                jitter_millis: report.jitter_seconds * 1e3,
                lost: report.lost,
                all: report.datagrams,
                one_way: report.one_way,
            }),
            // As in versions that print it, it is the server's row, whose address stands first.
            way: (stream.peer, stream.local),
            ..Iperf2Row::new(
                Whose::Stream(index, stream.sender),
                (0.0, report.seconds),
                report.bytes,
            )
        };
        match self.form {
            Form::Csv => row.csv(date),
            Form::Text => {
                let number = index + 1;
                let times = if report.one_way.is_some() { TIMES } else { "" };
                let row = row.text(self.unit);
                format!("[{number:3}] Server Report:\n{HEADER}{COLUMNS}{times}\n{row}")
            }
        }
    }

    fn rows(&mut self, rows: &[Iperf2Row], date: &str) -> String {
        if self.form == Form::Csv {
            return rows.iter().map(|row| row.csv(date)).collect();
        }
        let is_first = !std::mem::replace(&mut self.is_headed, true);
        let columns = if rows.iter().any(|row| row.datagrams.is_some()) { COLUMNS } else { "" };
        let head = if is_first { format!("{HEADER}{columns}\n") } else { String::new() };
        rows.iter().fold(head, |out, row| out + &row.text(self.unit))
    }
}

/// The lines on the settings of a test.
fn settings(plan: &TestPlan, first: &StreamRecord) -> String {
    let buffer = if first.sender { first.send_buffer } else { first.receive_buffer };
    let buffer = buffer.map(|size| with_wish(size, plan.options.window));
    match plan.transport {
        Transport::Tcp => {
            let mss =
                plan.options.mss.map(|mss| format!("MSS req size {mss} bytes (per TCP_MAXSEG)\n"));
            let window = buffer.map(|text| format!("TCP window size: {text}\n"));
            mss.unwrap_or_default() + &window.unwrap_or_default()
        }
        Transport::Udp => {
            let length = first.block.bytes();
            let frames = plan.options.burst.zip(plan.options.rate).map(|(burst, rate)| {
                let bits = u64::from(burst) * length * 8;
                let per_second = rate.bits_per_second() as f64 / bits.max(1) as f64;
                format!("Isochronous: {per_second:.2} frames/sec of {burst} datagrams\n")
            });
            let gap = plan.options.rate.map(|rate| {
                let micros = length as f64 * 8e6 / rate.bits_per_second().max(1) as f64;
                format!(", IPG target: {micros:.2} us")
            });
            let sending = format!("Sending {length} byte datagrams{}\n", gap.unwrap_or_default());
            frames.unwrap_or_default()
                + &sending
                + &buffer.map_or_else(String::new, |text| format!("UDP buffer size: {text}\n"))
        }
    }
}

/// The size of a socket buffer, and that which was asked for.
fn with_wish(size: ByteSize, asked: Option<ByteSize>) -> String {
    match asked {
        None => format!("{} (default)", buffer(size)),
        Some(asked) if asked == size => buffer(size),
        Some(asked) => format!("{} (WARNING: requested {})", buffer(size), buffer(asked)),
    }
}

fn buffer(size: ByteSize) -> String {
    amount(size.bytes() as f64).trim_end_matches('s').to_owned()
}

fn at(address: SocketAddr) -> String {
    format!("{} port {}", address.ip().to_canonical(), address.port())
}

/// The datagrams that were sent, that which ends a flow among them.
fn sent(row: &Iperf2Row) -> String {
    let label = match row.whose {
        Whose::Sum(streams) => format!("[SUM-{streams}]"),
        Whose::Stream(..) => row.label(),
    };
    format!("{label} Sent {} datagrams\n", row.sent)
}

const RULE: &str = "------------------------------------------------------------\n";
const HEADER: &str = "[ ID] Interval       Transfer     Bandwidth";
const TIMES: &str = "  Latency avg/min/max/stdev";
const COLUMNS: &str = "        Jitter   Lost/Total Datagrams";

#[cfg(test)]
mod tests;
