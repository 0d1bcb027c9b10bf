//! Lines of `iperf -y C` (`reportCSV_*` of iperf 2): time, both addresses and ports, id, interval, bytes,
//! bits per second; of a receiver of UDP also jitter, lost, all, share, and out of order.

use std::net::{IpAddr, SocketAddr};

use measurement::Transport;

use super::checks;
use super::ends::Tool;
use super::figure::Figure;
use super::found::Found;
use super::row::{FigureRow, Id, Tail};
use super::view::{Connection, Flow, Place, Side, View};

/// Puts the lines of runs together.
pub(super) struct Csv {
    text: usize,
    open: Option<View>,
    /// For each stream the row from zero that was last.
    held: Vec<Line>,
}

/// A line.
#[derive(Clone, Copy)]
struct Line {
    row: FigureRow,
    connection: Connection,
}

impl Csv {
    pub(super) const fn new(text: usize) -> Self {
        Self { text, open: None, held: Vec::new() }
    }

    /// Takes a line of the text; false: it is something else.
    pub(super) fn take(&mut self, line: &str, place: (usize, usize), found: &mut Found) -> bool {
        let Some(line) = Line::parse(line) else { return false };
        if line.row.id == Id::Sum {
            return true;
        }
        if self.begins_another(&line) {
            self.close(found);
        }
        let place = Place { text: self.text, first: place.0, last: place.1 };
        let view = self.open.get_or_insert_with(|| View::new(Tool::Iperf2, None, place));
        view.place.last = place.last;
        checks::row(&line.row, place.first, &mut view.problems);
        let known = view.connections.iter().any(|one| one.number == line.connection.number);
        if !known {
            view.connections.push(line.connection);
        }
        if line.row.tail.has_jitter {
            view.transport = Some(Transport::Udp);
        }
        self.hold(&line);
        true
    }

    /// Whether a line is of another run than the open one: of another connection with the same
    /// id, or of another length.
    fn begins_another(&self, line: &Line) -> bool {
        let number = line.connection.number;
        let of = |one: &&Line| one.connection.number == number;
        if let Some(same) = self.held.iter().find(of) {
            return same.connection != line.connection;
        }
        let ended = self.held.first().is_some_and(|one| {
            let apart = (one.row.to.value - line.row.to.value).abs();
            line.row.from.value == 0.0 && apart > one.row.to.value.mul_add(0.1, 1.0)
        });
        ended && self.open.as_ref().is_some_and(|view| view.sent.intervals.is_empty())
    }

    /// A row from zero is the whole run, unless others follow it.
    fn hold(&mut self, line: &Line) {
        let Some(view) = &mut self.open else { return };
        let flow = flow_of(view, line);
        let number = line.connection.number;
        let at = self.held.iter().position(|one| one.connection.number == number);
        let starts = line.row.from.value == 0.0;
        match at {
            Some(at) if starts && is_other_end(&self.held[at].row, &line.row) => {
                let (sent, arrived) = by_amount(&self.held[at].row, &line.row);
                flow.by_receiver.push(line.row.id, Side::of(&arrived));
                self.held[at].row = sent;
            }
            Some(at) => {
                let first = std::mem::replace(&mut self.held[at], *line);
                flow.intervals.push(&first.row, true);
            }
            None => self.held.push(*line),
        }
    }

    /// Ends the open run.
    pub(super) fn close(&mut self, found: &mut Found) {
        let Some(mut view) = self.open.take() else { return };
        for line in std::mem::take(&mut self.held) {
            let Line { row, .. } = line;
            let (flow, side) = (flow_of(&mut view, &line), Side::of(&row));
            if row.from.value > 0.0 {
                flow.intervals.push(&row, true);
            } else if row.tail.total.is_some() {
                flow.by_receiver.push(row.id, side);
            } else {
                flow.by_sender.push(row.id, side);
            }
        }
        found.views.push(view);
    }
}

/// The direction of a line: that of the first stream, or back to the host where that begins.
fn flow_of<'a>(view: &'a mut View, line: &Line) -> &'a mut Flow {
    let first = view.connections.first().map(|one| one.local.ip());
    let is_back = first.is_some_and(|first| first != line.connection.local.ip());
    view.flow_mut(!is_back)
}

/// Whether both rows are of the same run, by its two ends.
fn is_other_end(one: &FigureRow, other: &FigureRow) -> bool {
    let apart = (one.to.value - other.to.value).abs();
    apart <= one.to.value * 0.05 && one.bytes.agrees(other.bytes, 0.2)
}

/// The row of a receiver has losses, or else the smaller amount.
fn by_amount(one: &FigureRow, other: &FigureRow) -> (FigureRow, FigureRow) {
    let is_first = match (one.tail.total, other.tail.total) {
        (Some(_), None) => false,
        (None, Some(_)) => true,
        _ => one.bytes.value >= other.bytes.value,
    };
    if is_first { (*one, *other) } else { (*other, *one) }
}

impl Line {
    fn parse(line: &str) -> Option<Self> {
        let line = line.trim_matches(|one: char| one.is_whitespace() || "\"'>+|`".contains(one));
        if !line.starts_with(|one: char| one.is_ascii_digit()) || line.len() > LONGEST {
            return None;
        }
        let fields: Vec<_> = line.split(',').map(str::trim).collect();
        let time = fields.first()?.split('.').next()?;
        if !matches!(fields.len(), 9 | 14) || time.len() != 14 || time.parse::<u64>().is_err() {
            return None;
        }
        let address = |at: usize| {
            let ip: IpAddr = fields[at].parse().ok()?;
            Some(SocketAddr::new(ip.to_canonical(), fields[at + 1].parse().ok()?))
        };
        let (local, peer) = (address(1)?, address(3)?);
        let number: i64 = fields[5].parse().ok()?;
        let (from, to) = fields[6].split_once('-')?;
        let whole = |at: usize| fields[at].parse::<u64>().ok();
        let exact = |at: usize| Some(Figure::exact(whole(at)? as f64));
        let id = u32::try_from(number).map_or(Id::Sum, |number| Id::Stream { number, back: false });
        let row = FigureRow {
            id,
            mark: None,
            from: Figure::parse(from)?,
            to: Figure::parse(to)?,
            bytes: exact(7)?,
            rate: exact(8)?,
            tail: if fields.len() == 14 { tail(&fields)? } else { Tail::default() },
        };
        let number = u32::try_from(number).unwrap_or(0);
        let connection =
            Connection { number, back: false, local, peer, reverse: false, both: false };
        Some(Self { row, connection })
    }
}

/// Columns of a receiver of UDP; a sender has -1 for all datagrams.
fn tail(fields: &[&str]) -> Option<Tail> {
    let total: i64 = fields[11].parse().ok()?;
    if total < 0 {
        return Some(Tail { has_jitter: true, ..Tail::default() });
    }
    let jitter = Figure::parse(fields[9]);
    let lost = fields[10].parse().ok()?;
    Some(Tail { jitter, has_jitter: true, lost: Some(lost), total: Some(total), ..Tail::default() })
}

/// Bytes: two addresses and eleven numbers.
const LONGEST: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_exact_numbers() {
        let line = "19700101000000,127.0.0.1,58586,127.0.0.1,5001,1,0.0-2.0,12714044,50190326";
        let parsed = Line::parse(line).expect("a line");
        assert_eq!(parsed.row.bytes, Figure::exact(12_714_044.0));
        assert_eq!(parsed.connection.peer.port(), 5_001);
        assert!(Line::parse("1,2,3").is_none() && Line::parse("2026-11-25,a,b").is_none());
    }
}
