//! The table: columns whose width is known before the first row.

use std::time::Duration;

use measurement::{
    BitRate, Direction, DirectionAccount, DirectionOutcome, RecordSet, Stamp, TestPlan, TestRecord,
    Transport,
};

use super::{INDENT, Shape};
use crate::columns::{Cell, Emphasis, line};
use crate::measured;
use crate::rates::{UnitFormat, show};

/// The columns of a table of a width.
#[derive(Clone, Debug)]
pub(super) struct Table {
    columns: Vec<&'static Column>,
    /// Width of the names of rows.
    name: usize,
    /// That of rates.
    unit: UnitFormat,
}

/// What a row tells of.
#[derive(Clone, Copy)]
struct Source<'a> {
    record: &'a TestRecord,
    outcome: &'a DirectionOutcome,
    unit: UnitFormat,
}

/// One column.
#[derive(Debug)]
struct Column {
    title: &'static str,
    width: usize,
    /// Of which tables it is part.
    of: fn(&Kinds) -> bool,
    cell: fn(&Source<'_>) -> Cell,
    /// A narrow terminal has those of the least numbers.
    rank: u8,
}

/// What rows a table has.
struct Kinds {
    tcp: bool,
    udp: bool,
    probed: bool,
}

/// In their order.
const COLUMNS: &[Column] = &[
    Column { title: "delivered", width: 15, of: |_| true, cell: delivered, rank: 0 },
    Column { title: "on wire", width: 14, of: |_| true, cell: on_wire, rank: 4 },
    Column { title: "packets/s", width: 11, of: |kinds| kinds.udp, cell: packets, rank: 5 },
    Column { title: "lost", width: 9, of: |kinds| kinds.udp, cell: lost, rank: 1 },
    Column { title: "resent", width: 9, of: |kinds| kinds.tcp, cell: resent, rank: 1 },
    Column {
        title: "latency",
        width: 9,
        of: |kinds| kinds.tcp || kinds.probed,
        cell: latency,
        rank: 3,
    },
    Column { title: "trust", width: 9, of: |_| true, cell: trust, rank: 2 },
];

impl Table {
    pub(super) fn new(width: usize, shape: &Shape<'_>) -> Self {
        let Shape { plans, probed, repeated, unit } = *shape;
        let has = |transport| plans.iter().any(|plan| plan.transport == transport);
        let kinds = Kinds { tcp: has(Transport::Tcp), udp: has(Transport::Udp), probed };
        let mut columns: Vec<_> = COLUMNS.iter().filter(|column| (column.of)(&kinds)).collect();
        let name = plans.iter().map(|plan| name(plan, Direction::Receive).len()).max();
        let name = name.unwrap_or_default() + if repeated { RUN } else { 0 };
        let wide = |columns: &[&Column]| {
            INDENT + name + columns.iter().map(|column| column.width).sum::<usize>()
        };
        while wide(&columns) > width {
            let Some(last) = columns.iter().map(|column| column.rank).max() else { break };
            columns.retain(|column| column.rank != last);
        }
        Self { columns, name, unit }
    }

    pub(super) fn titles(&self) -> String {
        let titles =
            self.columns.iter().map(|one| (Cell::new(one.title, Emphasis::Faint), one.width));
        line(INDENT, (Cell::default(), self.name), titles)
    }

    pub(super) fn row(&self, record: &TestRecord, run: &str) -> Vec<String> {
        let each = record.outcome.directions.iter().map(|outcome| {
            let name = Cell::from(name(&record.plan, outcome.direction) + run);
            let source = Source { record, outcome, unit: self.unit };
            let cells = self.columns.iter().map(|one| ((one.cell)(&source), one.width));
            line(INDENT, (name, self.name), cells)
        });
        each.collect()
    }
}

/// `TCP send`; with both directions at a time `TCP both send`.
pub(super) fn name(plan: &TestPlan, direction: Direction) -> String {
    let both = if plan.direction == Direction::Both { "both " } else { "" };
    format!("{} {both}{direction}", plan.transport)
}

/// `TCP send`, `UDP both`: a record as a whole.
pub(super) fn row_name(plan: &TestPlan) -> String {
    match plan.direction {
        Direction::Both => format!("{} both", plan.transport),
        direction => format!("{} {direction}", plan.transport),
    }
}

fn delivered(source: &Source<'_>) -> Cell {
    let known = |rate: BitRate| Cell::new(show(source.unit, rate), Emphasis::Strong);
    source.arrived().map_or_else(|| Cell::new("unknown", Emphasis::Warning), known)
}

/// The unit is that of what arrived, where it is the same.
fn on_wire(source: &Source<'_>) -> Cell {
    let Some(rate) = source.account().and_then(|account| account.on_wire) else { return nothing() };
    let text = show(source.unit, rate);
    let unit = |text: &str| text.split_once(' ').map(|(_, unit)| unit.to_owned());
    let beside = source.arrived().map(|rate| show(source.unit, rate));
    if beside.is_some_and(|beside| unit(&beside) == unit(&text)) {
        return Cell::from(text.split(' ').next().unwrap_or_default());
    }
    Cell::from(text)
}

fn packets(source: &Source<'_>) -> Cell {
    let outcome = source.outcome;
    let Some((all, arrived)) = outcome.datagrams.zip(outcome.delivered) else { return nothing() };
    let seconds = arrived.span.as_secs_f64();
    let each = all.sent.saturating_sub(all.lost) as f64 / seconds.max(f64::MIN_POSITIVE);
    Cell::from(short(each))
}

fn lost(source: &Source<'_>) -> Cell {
    let Some(all) = source.outcome.datagrams else { return nothing() };
    let emphasis = if all.lost > 0 { Emphasis::Warning } else { Emphasis::None };
    Cell::new(share(all.loss()), emphasis)
}

/// A share; the number of segments where there is none.
fn resent(source: &Source<'_>) -> Cell {
    if let Some(resent) = measured::resent(source.record, source.outcome) {
        return Cell::from(share(resent));
    }
    let is_tcp = source.record.plan.transport == Transport::Tcp;
    let count = source.outcome.retransmits.filter(|_| is_tcp);
    count.map_or_else(nothing, |count| Cell::from(segments(count)))
}

/// What load adds to a round trip.
fn latency(source: &Source<'_>) -> Cell {
    let probed = source.record.outcome.latency.as_ref();
    let probed = probed.map(|probe| probe.loaded.times.p50.saturating_sub(probe.idle.times.p50));
    let tcp = source.account().and_then(|account| account.tcp.as_ref());
    let of_tcp = tcp.and_then(|tcp| Some(tcp.rtt_micros?.saturating_sub(tcp.min_rtt_micros?)));
    let added = probed.or(of_tcp.map(|micros| Duration::from_micros(micros.into())));
    added.map_or_else(nothing, |added| Cell::from(format!("+{}", time(added))))
}

fn trust(source: &Source<'_>) -> Cell {
    let Some(judgement) = &source.record.judgement else { return nothing() };
    Cell::new(judgement.stamp.to_string(), emphasis(judgement.stamp))
}

impl<'a> Source<'a> {
    fn arrived(&self) -> Option<BitRate> {
        let arrived = self.outcome.delivered.or(self.outcome.acknowledged);
        arrived.map(|arrived| arrived.rate)
    }

    fn account(&self) -> Option<&'a DirectionAccount> {
        let judgement = self.record.judgement.as_ref()?;
        let mut accounts = judgement.directions.iter();
        accounts.find(|account| account.direction == self.outcome.direction)
    }
}

pub(super) const fn emphasis(stamp: Stamp) -> Emphasis {
    match stamp {
        Stamp::Valid => Emphasis::Good,
        Stamp::Suspect => Emphasis::Warning,
        Stamp::Invalid => Emphasis::Bad,
    }
}

fn nothing() -> Cell {
    Cell::new("-", Emphasis::Faint)
}

/// Two digits or three: `0`, `0.015 %`, `2.3 %`, `17 %`.
pub(super) fn share(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        0.0 => "0".to_owned(),
        percent if percent < 0.001 => "<0.001 %".to_owned(),
        percent if percent < 0.1 => format!("{percent:.3} %"),
        percent if percent < 1.0 => format!("{percent:.2} %"),
        percent if percent < 10.0 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

/// `812`, `8.13 k`, `1.20 M`.
fn short(number: f64) -> String {
    match number {
        number if number < 1e3 => format!("{number:.0}"),
        number if number < 1e4 => format!("{:.2} k", number / 1e3),
        number if number < 1e6 => format!("{:.0} k", number / 1e3),
        number => format!("{:.2} M", number / 1e6),
    }
}

/// In the width of the column: `184 seg`, `1730 seg`, `81 k seg`.
fn segments(count: u64) -> String {
    match count {
        count if count < 10_000 => format!("{count} seg"),
        count if count < 1_000_000 => format!("{} k seg", count / 1_000),
        count => format!("{} M seg", count / 1_000_000),
    }
}

fn time(time: Duration) -> String {
    let millis = time.as_secs_f64() * 1e3;
    match millis {
        millis if millis < 1.0 => format!("{:.0} us", millis * 1e3),
        millis if millis < 10.0 => format!("{millis:.1} ms"),
        millis => format!("{millis:.0} ms"),
    }
}

/// A line for the spread of each row that was run several times.
pub(super) fn summaries(records: &RecordSet) -> Vec<String> {
    let mut lines = Vec::new();
    for one in &records.summaries {
        lines.push(format!(
            "{:INDENT$}{}: median {} of {} runs, {} to {}",
            "", one.row, one.median, one.runs, one.slowest, one.fastest
        ));
        if let Some(spread) = &one.spread {
            lines.push(format!("{:INDENT$}{}: {}", "", spread.stamp, spread.text));
        }
    }
    lines
}

/// Room for the number of a run: ` 10/10`.
const RUN: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_as_many_digits_as_they_need() {
        let shown = [0.0, 1e-6, 0.000_15, 0.001_5, 0.023, 0.17, 1.0].map(share);
        assert_eq!(shown, ["0", "<0.001 %", "0.015 %", "0.15 %", "2.3 %", "17 %", "100 %"]);
    }

    #[test]
    fn numbers_and_times_are_short() {
        assert_eq!(
            [812.0, 8_130.0, 81_300.0, 1.2e6].map(short),
            ["812", "8.13 k", "81 k", "1.20 M"]
        );
        assert_eq!([184, 1_730, 81_300].map(segments), ["184 seg", "1730 seg", "81 k seg"]);
        let times = [Duration::from_micros(35), Duration::from_micros(3_500)].map(time);
        assert_eq!(times, ["35 us", "3.5 ms"]);
    }
}
