//! What one end of a run printed.

use std::net::SocketAddr;

use measurement::{BitRate, Direction, Transport};

use super::command::Asked;
use super::ends::{End, Tool};
use super::figure::Figure;
use super::intervals::Intervals;
use super::name::shortened;
use super::row::{FigureRow, Id, Whose};

/// A stream, as the end that prints sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Connection {
    pub(super) number: u32,
    /// iperf 2: it is marked as the way back.
    pub(super) back: bool,
    /// Unspecified: the text has its port only.
    pub(super) local: SocketAddr,
    /// As the other address.
    pub(super) peer: SocketAddr,
    /// iperf 2: the server sends.
    pub(super) reverse: bool,
    /// iperf 2: both send.
    pub(super) both: bool,
}

/// What one end printed of one run.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) place: Place,
    pub(super) tool: Tool,
    /// `3.12`; none: not printed.
    pub(super) version: Option<String>,
    /// None: it does not show.
    pub(super) end: Option<End>,
    /// The end that only its rows tell; none: more tells it, or nothing.
    pub(super) likely_end: Option<End>,
    /// The server as the client named it.
    pub(super) host: Option<String>,
    pub(super) port: Option<u16>,
    pub(super) transport: Option<Transport>,
    pub(super) reverse: bool,
    pub(super) both: bool,
    /// What the command line asked for, if it stands above.
    pub(super) asked: Option<Asked>,
    /// Rate of each stream that the command line or the details tell.
    pub(super) rate: Option<BitRate>,
    pub(super) connections: Vec<Connection>,
    /// What this end sends.
    pub(super) sent: Flow,
    /// What this end receives.
    pub(super) received: Flow,
    pub(super) details: Details,
    /// iperf 2's client over UDP: the server did not confirm the end.
    pub(super) unacknowledged: bool,
    /// What ended the run before its time.
    pub(super) failure: Option<String>,
    pub(super) problems: Problems,
}

/// Where a view stands: the number of the text, and of its first and last line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) text: usize,
    pub(super) first: usize,
    pub(super) last: usize,
}

/// What iperf3 prints with `-V` or in JSON.
#[derive(Clone, Debug, Default)]
pub(super) struct Details {
    /// Bytes of a write or of a datagram.
    pub(super) block: Option<u64>,
    pub(super) streams: Option<u32>,
    pub(super) omit: Option<u64>,
    pub(super) seconds: Option<f64>,
    /// Shares of one CPU in percent: all, user, system, of this end and of the other.
    pub(super) cpu: Option<[f64; 6]>,
    pub(super) congestion: Option<String>,
    pub(super) segment: Option<u32>,
}

/// One direction at the end that prints.
#[derive(Clone, Debug, Default)]
pub(super) struct Flow {
    pub(super) intervals: Intervals,
    pub(super) by_sender: Totals,
    pub(super) by_receiver: Totals,
    /// Datagrams sent, where a line of its own tells them.
    pub(super) datagrams: Option<u64>,
    pub(super) reordered: Option<u64>,
}

/// The rows of the summary of one end.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    pub(super) streams: Vec<Side>,
    pub(super) sum: Option<Side>,
}

/// Figures of a whole run at one end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Side {
    pub(super) bytes: Figure,
    /// Bits per second.
    pub(super) rate: Figure,
    pub(super) seconds: Figure,
    pub(super) count: Option<u64>,
    /// Seconds.
    pub(super) jitter: Option<f64>,
    pub(super) lost: Option<i64>,
    pub(super) total: Option<i64>,
}

impl Side {
    pub(super) fn of(row: &FigureRow) -> Self {
        Self {
            bytes: row.bytes,
            rate: row.rate,
            seconds: row.span(),
            count: row.tail.count,
            jitter: row.tail.jitter.map(|millis| millis.value / 1e3),
            lost: row.tail.lost,
            total: row.tail.total,
        }
    }

    /// Both streams together; the time is the longer one.
    fn plus(self, other: &Self) -> Self {
        let both = |a: Option<i64>, b: Option<i64>| Some(a?.saturating_add(b?));
        let longer = if other.seconds.value > self.seconds.value { other } else { &self };
        Self {
            bytes: self.bytes + other.bytes,
            rate: self.rate + other.rate,
            seconds: longer.seconds,
            count: self.count.zip(other.count).map(|(a, b)| a.saturating_add(b)),
            jitter: self.jitter.zip(other.jitter).map(|(a, b)| a + b),
            lost: both(self.lost, other.lost),
            total: both(self.total, other.total),
        }
    }

    /// Whether it says nothing: a server prints zeros for what it does not know.
    pub(super) fn is_zero(&self) -> bool {
        self.bytes.value == 0.0 && self.total.unwrap_or(0) == 0
    }
}

impl Totals {
    pub(super) fn push(&mut self, id: Id, side: Side) {
        match id {
            Id::Sum => self.sum = Some(side),
            Id::Stream { .. } if self.streams.len() < MOST_ROWS => self.streams.push(side),
            Id::Stream { .. } => {}
        }
    }

    /// All streams together; none: there is no row.
    pub(super) fn side(&self) -> Option<Side> {
        let Some((first, others)) = self.streams.split_first() else { return self.sum };
        let added = others.iter().fold(*first, Side::plus);
        let jitter = added.jitter.map(|sum| sum / self.streams.len() as f64);
        let added = Side { jitter, ..added };
        Some(self.sum.map_or(added, |sum| Side {
            jitter: sum.jitter.or(added.jitter),
            lost: sum.lost.or(added.lost),
            total: sum.total.or(added.total),
            count: sum.count.or(added.count),
            ..sum
        }))
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.streams.is_empty() && self.sum.is_none()
    }
}

impl Flow {
    pub(super) fn totals(&mut self, whose: Whose) -> &mut Totals {
        match whose {
            Whose::Sender => &mut self.by_sender,
            Whose::Receiver => &mut self.by_receiver,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.intervals.is_empty() && self.by_sender.is_empty() && self.by_receiver.is_empty()
    }
}

impl View {
    /// A view that begins at `place` and has nothing yet.
    pub(super) fn new(tool: Tool, end: Option<End>, place: Place) -> Self {
        Self {
            place,
            tool,
            version: None,
            end,
            likely_end: None,
            host: None,
            port: None,
            transport: None,
            reverse: false,
            both: false,
            asked: None,
            rate: None,
            connections: Vec::new(),
            sent: Flow::default(),
            received: Flow::default(),
            details: Details::default(),
            unacknowledged: false,
            failure: None,
            problems: Problems::default(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sent.is_empty() && self.received.is_empty()
    }

    /// Whether nothing stands above its rows but the head of a table.
    pub(super) const fn is_of_rows(&self) -> bool {
        self.end.is_none() && self.host.is_none() && self.connections.is_empty()
    }

    /// Takes the reason for which a program ended. A server that was stopped behind its summary had
    /// ended the run before.
    pub(super) fn fail(&mut self, reason: &str) {
        let has_summary = [&self.sent, &self.received]
            .iter()
            .any(|flow| !flow.by_sender.is_empty() || !flow.by_receiver.is_empty());
        let is_stopped = reason.contains("the server has terminated");
        if !(has_summary && is_stopped && self.end == Some(End::Server)) {
            self.failure = Some(shortened(reason));
        }
    }

    /// Turns what this end was taken to send to what it receives, and the other way round.
    pub(super) fn turn(&mut self) {
        std::mem::swap(&mut self.sent, &mut self.received);
        for flow in [&mut self.sent, &mut self.received] {
            std::mem::swap(&mut flow.by_sender, &mut flow.by_receiver);
        }
    }

    /// Whether this end sends in a direction.
    pub(super) fn sends(&self, direction: Direction) -> bool {
        (self.end == Some(End::Server)) == (direction == Direction::Receive)
    }

    /// What this end printed of a direction.
    pub(super) fn flow(&self, direction: Direction) -> &Flow {
        if self.sends(direction) { &self.sent } else { &self.received }
    }

    pub(super) fn flow_mut(&mut self, sent: bool) -> &mut Flow {
        if sent { &mut self.sent } else { &mut self.received }
    }

    /// Ports of the client and of the server of each stream; empty: not printed.
    pub(super) fn ports(&self) -> impl Iterator<Item = (SocketAddr, SocketAddr)> {
        let is_server = self.end == Some(End::Server);
        self.connections
            .iter()
            .map(move |one| if is_server { (one.peer, one.local) } else { (one.local, one.peer) })
    }
}

/// Numbers that contradict each other, each one sentence; of many the first.
#[derive(Clone, Debug, Default)]
pub(super) struct Problems(pub(super) Vec<String>);

impl Problems {
    pub(super) fn add(&mut self, sentence: impl FnOnce() -> String) {
        if self.0.len() < MOST_PROBLEMS {
            self.0.push(sentence());
        }
    }
}

/// Rows of the summary of one end.
const MOST_ROWS: usize = 10_000;
/// As many as somebody reads.
const MOST_PROBLEMS: usize = 6;
