//! The table that people read.

use std::collections::BTreeMap;
use std::io::{self, Write};

use measurement::outcome::{Ending, Fairness};
use measurement::record::{Neighbour, StreamRecord};
use measurement::units::{group_thousands, show_duration};
use measurement::{
    BitRate, Direction, DirectionOutcome, End, Peer, RecordSet, TestPlan, TestRecord, Transport,
};

use crate::columns::{Cell, Columns, Emphasis};
use crate::pacing;

/// Writes one row per record and direction, then what a reader must know.
///
/// # Errors
/// What the writer reports.
pub fn write(records: &RecordSet, out: &mut dyn Write) -> io::Result<()> {
    let Some(first) = records.records.first() else { return Ok(()) };
    writeln!(out, "{}", heading(&first.linerate, &first.peer))?;
    writeln!(out)?;
    let mut columns = Columns::default();
    columns.push(head());
    for record in &records.records {
        for outcome in &record.outcome.directions {
            columns.push(row(record, outcome));
        }
    }
    columns.write(out, 2)?;
    write_fairness(records, out)?;
    write_pacing(records, out)?;
    write_summaries(records, out)?;
    write_notes(records, out)
}

/// Who measured against whom.
pub fn heading(version: &str, peer: &Peer) -> String {
    format!(
        "linerate {version}: {} -> {} ({})",
        peer.local_address.ip(),
        peer.address,
        peer.software
    )
}

/// What a plan does, in a few words: `TCP send`.
pub fn title(plan: &TestPlan) -> String {
    format!("{} {}", plan.transport, plan.direction)
}

fn head() -> Vec<Cell> {
    [
        "",
        "asked",
        "offered",
        "delivered",
        "time",
        "lost",
        "datagrams",
        "reordered",
        "retransmits",
        "jitter",
    ]
    .into_iter()
    .map(|text| Cell::new(text, Emphasis::Faint))
    .collect()
}

fn row(record: &TestRecord, outcome: &DirectionOutcome) -> Vec<Cell> {
    let plan = &record.plan;
    let delivered = outcome.delivered.map(|throughput| throughput.rate);
    // What write(2) took of a TCP stream may still lie in a buffer.
    let offered = outcome.acknowledged.or(outcome.offered).map(|throughput| throughput.rate);
    vec![
        Cell::from(row_title(plan, outcome.direction)),
        asked(plan, outcome),
        rate(offered, falls_short(offered, outcome.asked), Emphasis::None),
        rate(delivered, falls_short(delivered, offered), Emphasis::Strong),
        Cell::from(outcome.headline().map_or_else(String::new, |t| show_duration(t.span))),
        lost(outcome),
        Cell::from(outcome.datagrams.map_or_else(String::new, |d| d.sent.to_string())),
        Cell::from(reordered(outcome)),
        Cell::from(outcome.retransmits.map_or_else(String::new, |count| count.to_string())),
        Cell::from(outcome.jitter_seconds.map_or_else(String::new, jitter)),
    ]
}

fn row_title(plan: &TestPlan, direction: Direction) -> String {
    let both = if plan.direction == Direction::Both { " (both ways)" } else { "" };
    let streams = if plan.streams > 1 {
        format!(", {} streams", group_thousands(plan.streams.into()))
    } else {
        String::new()
    };
    format!("{} {direction}{both}{streams}", plan.transport)
}

/// What was asked: a rate, an amount, or as much as goes.
fn asked(plan: &TestPlan, outcome: &DirectionOutcome) -> Cell {
    let amount = match (plan.end, plan.transport) {
        (End::Time(_) | End::Open, _) => None,
        (End::Bytes(size), _) => Some(size.to_string()),
        (End::Blocks(count), Transport::Tcp) => Some(format!("{count} blocks")),
        (End::Blocks(count), Transport::Udp) => Some(format!("{count} datagrams")),
    };
    match (outcome.asked, amount) {
        (Some(rate), Some(amount)) => Cell::from(format!("{amount} at {rate}")),
        (Some(rate), None) => Cell::from(rate.to_string()),
        (None, Some(amount)) => Cell::from(amount),
        (None, None) => Cell::new("unlimited", Emphasis::Faint),
    }
}

/// A rate, marked if it falls short of the one before it.
fn rate(rate: Option<BitRate>, short: bool, emphasis: Emphasis) -> Cell {
    let (emphasis, mark) = if short { (Emphasis::Warning, " !") } else { (emphasis, "") };
    rate.map_or_else(
        || Cell::new("unknown", Emphasis::Warning),
        |r| Cell::new(format!("{r}{mark}"), emphasis),
    )
}

/// Whether a rate is less than 98 % of what it should be.
fn falls_short(got: Option<BitRate>, wanted: Option<BitRate>) -> bool {
    match (got, wanted) {
        (Some(got), Some(wanted)) => {
            u128::from(got.bits_per_second()) * 100 < u128::from(wanted.bits_per_second()) * 98
        }
        _ => false,
    }
}

fn lost(outcome: &DirectionOutcome) -> Cell {
    let Some(datagrams) = outcome.datagrams else { return Cell::default() };
    let emphasis = if datagrams.lost > 0 { Emphasis::Warning } else { Emphasis::None };
    Cell::new(format!("{} ({:.3} %)", datagrams.lost, 100.0 * datagrams.loss()), emphasis)
}

/// Shown only if there is something to show.
fn reordered(outcome: &DirectionOutcome) -> String {
    let count = outcome.datagrams.and_then(|datagrams| datagrams.reordered);
    count.filter(|count| *count > 0).map_or_else(String::new, |count| count.to_string())
}

fn jitter(seconds: f64) -> String {
    format!("{:.3} ms", seconds * 1e3)
}

/// How the streams of each row shared it.
fn write_fairness(records: &RecordSet, out: &mut dyn Write) -> io::Result<()> {
    let mut columns = Columns::default();
    let head = ["each stream", "slowest", "median", "fastest", "Jain's index", "idle"];
    columns.push(head.into_iter().map(|text| Cell::new(text, Emphasis::Faint)).collect());
    let mut is_empty = true;
    for record in &records.records {
        for outcome in &record.outcome.directions {
            if let Some(fairness) = outcome.fairness {
                columns.push(fairness_row(&record.plan, outcome.direction, fairness));
                is_empty = false;
            }
        }
    }
    if is_empty {
        return Ok(());
    }
    writeln!(out)?;
    columns.write(out, 2)
}

fn fairness_row(plan: &TestPlan, direction: Direction, fairness: Fairness) -> Vec<Cell> {
    let is_uneven = fairness.jain < EVEN;
    let (emphasis, mark) = if is_uneven { (Emphasis::Warning, " !") } else { (Emphasis::None, "") };
    let idle = group_thousands(fairness.idle.into());
    let idle = if fairness.idle > 0 { Cell::new(idle, Emphasis::Warning) } else { idle.into() };
    vec![
        Cell::from(row_title(plan, direction)),
        Cell::from(fairness.least.to_string()),
        Cell::from(fairness.median.to_string()),
        Cell::from(fairness.most.to_string()),
        Cell::new(format!("{:.3}{mark}", fairness.jain), emphasis),
        idle,
    ]
}

/// Which worker ran which streams on which CPU, a line for each worker.
pub fn placement(streams: &[StreamRecord]) -> Vec<String> {
    let mut workers: BTreeMap<u32, (Vec<usize>, Option<u32>)> = BTreeMap::new();
    for (index, stream) in streams.iter().enumerate() {
        let (own, cpu) = workers.entry(stream.worker).or_default();
        own.push(index + 1);
        *cpu = stream.cpu;
    }
    let line = |(worker, (own, cpu)): (u32, (Vec<usize>, Option<u32>))| {
        let cpu = cpu.map_or_else(|| "any CPU".to_owned(), |cpu| format!("CPU {cpu}"));
        format!("{} -> MPU {worker} -> {cpu}", numbers(&own))
    };
    workers.into_iter().map(line).collect()
}

/// Numbers of streams, from 1, as short as they can be said.
fn numbers(own: &[usize]) -> String {
    let step = if own.len() > 2 { own[1] - own[0] } else { 1 };
    let is_regular = own.windows(2).all(|pair| pair[1] - pair[0] == step);
    match own {
        [only] => format!("stream {only}"),
        [first, .., last] if is_regular && step == 1 => format!("streams {first}-{last}"),
        [first, second, .., last] if is_regular => {
            format!("streams {first}, {second}, ... {last}")
        }
        _ => format!("{} streams", group_thousands(own.len() as u64)),
    }
}

fn write_summaries(records: &RecordSet, out: &mut dyn Write) -> io::Result<()> {
    if records.summaries.is_empty() {
        return Ok(());
    }
    let mut columns = Columns::default();
    columns.push(
        ["delivered", "median", "lowest", "highest", "runs"]
            .into_iter()
            .map(|text| Cell::new(text, Emphasis::Faint))
            .collect(),
    );
    for summary in &records.summaries {
        columns.push(vec![
            Cell::from(summary.row.clone()),
            Cell::new(summary.median.to_string(), Emphasis::Strong),
            Cell::from(summary.least.to_string()),
            Cell::from(summary.most.to_string()),
            Cell::from(summary.runs.to_string()),
        ]);
    }
    writeln!(out)?;
    columns.write(out, 2)
}

/// How each rate that was asked was kept.
fn write_pacing(records: &RecordSet, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = Vec::new();
    for record in &records.records {
        for outcome in &record.outcome.directions {
            let title = row_title(&record.plan, outcome.direction);
            let line = outcome.pacing.as_ref().map(pacing::line);
            lines.extend(line.map(|line| format!("  pacing: {title}: {line}")));
        }
    }
    if !lines.is_empty() {
        writeln!(out)?;
    }
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))
}

fn write_notes(records: &RecordSet, out: &mut dyn Write) -> io::Result<()> {
    let mut notes: Vec<String> = Vec::new();
    for record in &records.records {
        let title = title(&record.plan);
        notes.extend(ending_note(record).map(|note| format!("{title}: {note}")));
        notes.extend(record.outcome.notes.iter().map(|note| format!("{title}: {note}")));
        notes.extend(datagram_notes(record));
        notes.extend(neighbour_notes(record));
    }
    notes.dedup();
    if !notes.is_empty() {
        writeln!(out)?;
    }
    notes.iter().try_for_each(|note| writeln!(out, "  note: {note}"))
}

fn ending_note(record: &TestRecord) -> Option<String> {
    match &record.outcome.ending {
        Ending::Completed => None,
        Ending::Interrupted => Some("the numbers are partial: interrupted".to_owned()),
        Ending::Failed { .. } => Some("the numbers are partial: the run failed".to_owned()),
    }
}

/// Datagrams that are in no column of the table.
fn datagram_notes(record: &TestRecord) -> Vec<String> {
    let title = title(&record.plan);
    let ledgers = || record.outcome.directions.iter().filter_map(|outcome| outcome.datagrams);
    let duplicate: u64 = ledgers().filter_map(|ledger| ledger.duplicate).sum();
    let unaccounted: u64 = ledgers().filter_map(|ledger| ledger.unaccounted).sum();
    let mut notes = Vec::new();
    if duplicate > 0 {
        notes.push(format!("{title}: {duplicate} datagrams arrived more than once"));
    }
    if unaccounted > 0 {
        notes.push(format!(
            "{title}: iperf3 stopped counting while {unaccounted} datagrams were on their way; \
             they are neither delivered nor lost"
        ));
    }
    notes
}

/// Who else took a share of the server.
fn neighbour_notes(record: &TestRecord) -> Vec<String> {
    let title = title(&record.plan);
    let span = record.stopped.since(record.start);
    let shared: Vec<_> = record.shared.iter().filter(|other| other.bytes > 0).collect();
    let describe = |neighbour: &&Neighbour| {
        let whose =
            neighbour.address.map_or_else(|| "others".to_owned(), |address| address.to_string());
        let tests =
            if neighbour.tests == 1 { "1 test" } else { &format!("{} tests", neighbour.tests) };
        let rate = BitRate::of(neighbour.bytes, span);
        format!("{title}: shared: {tests} of {whose} moved {rate} at the server meanwhile")
    };
    let most = shared.iter().take(MOST_NEIGHBOURS).map(describe);
    let rest = shared.len().saturating_sub(MOST_NEIGHBOURS);
    let rest = (rest > 0).then(|| format!("{title}: shared: with {rest} more clients"));
    most.chain(rest).collect()
}

/// Below this index of Jain's streams that should be alike are not.
const EVEN: f64 = 0.9;
/// Clients that are named under a result.
const MOST_NEIGHBOURS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_streams_are_as_short_as_they_can_be_said() {
        assert_eq!(numbers(&[7]), "stream 7");
        assert_eq!(numbers(&[1, 2]), "streams 1-2");
        assert_eq!(numbers(&[1, 2, 3, 4]), "streams 1-4");
        assert_eq!(numbers(&[2, 4, 6, 8]), "streams 2, 4, ... 8");
        assert_eq!(numbers(&[1, 3]), "2 streams");
        assert_eq!(numbers(&[1, 2, 4]), "3 streams");
    }
}
