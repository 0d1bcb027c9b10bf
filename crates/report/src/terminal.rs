//! Writes the table of results for a terminal: a row for each record and direction, then verdicts
//! and notes.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use measurement::outcome::Fairness;
use measurement::record::{Source, StreamRecord};
use measurement::units::{counted, group_thousands, show_time};
use measurement::{
    BitRate, DelayVariation, DirectionOutcome, End, MpuUse, Peer, Quantiles, RecordSet, Runtime,
    TestRecord, Throughput, Transport,
};

use crate::columns::{Cell, Columns, Emphasis};
use crate::page::write_wrapped;
use crate::runs::{Run, numbered};
use crate::width::Width;
use crate::{judgement, notes, pacing, rate_search, round_trips, verdict};

/// Writes the table of results, a row for each record and direction, then the verdicts and notes.
///
/// # Errors
/// An error of writing to `out`.
pub fn write(records: &RecordSet, width: Width, out: &mut dyn Write) -> io::Result<()> {
    if records.records.is_empty() {
        return Ok(());
    }
    write_measured(records, width, out)?;
    verdict::write_short(&numbered(&records.records), width, out)?;
    write_notes(records, width, out)
}

/// Writes the table of results, and the tables of fairness and round-trip times.
pub(crate) fn write_measured(
    records: &RecordSet,
    width: Width,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(first) = records.records.first() else { return Ok(()) };
    write_wrapped(0, &origin(first), width, out)?;
    writeln!(out)?;
    let rows = numbered(&records.records);
    write_rates(&rows, width, out)?;
    write_round_trips(&rows, width, out)?;
    write_fairness(&rows, width, out)?;
    write_accounts(&rows, width, out)?;
    write_summaries(records, width, out)
}

/// Writes the verdicts and notes.
pub(crate) fn write_notes(
    records: &RecordSet,
    width: Width,
    out: &mut dyn Write,
) -> io::Result<()> {
    notes::write(&numbered(&records.records), width, out)
}

fn write_rates(rows: &[Run], width: Width, out: &mut dyn Write) -> io::Result<()> {
    let mut columns = Columns::default();
    columns.push(head());
    for (record, run) in rows {
        for outcome in &record.outcome.directions {
            columns.push(row(record, run, outcome));
        }
    }
    if columns.has_rows() { columns.write(out, 2, width) } else { Ok(()) }
}

fn write_round_trips(rows: &[Run], width: Width, out: &mut dyn Write) -> io::Result<()> {
    let mut columns = Columns::default();
    columns.push(round_trips::head());
    for (record, run) in rows {
        for row in round_trips::rows(record, &(record.plan.row() + run)) {
            columns.push(row);
        }
    }
    if !columns.has_rows() {
        return Ok(());
    }
    if rows.iter().any(|(record, _)| !record.outcome.directions.is_empty()) {
        writeln!(out)?;
    }
    columns.write(out, 2, width)
}

/// The ends of the test, as far as known, or the source of an imported record.
pub(crate) fn origin(record: &TestRecord) -> String {
    let version = &record.origin.linerate;
    match (&record.peer, &record.origin.source) {
        (Some(peer), _) => heading(version, peer),
        (None, Source::Imported(source)) => format!("linerate {version}: from {source}"),
        (None, Source::Measured) => format!("linerate {version}: the server is not known"),
    }
}

/// The line above a table of results: `version` of linerate, addresses of both ends, software of
/// the peer.
pub fn heading(version: &str, peer: &Peer) -> String {
    format!(
        "linerate {version}: {} -> {} ({})",
        peer.local_address.ip(),
        peer.address,
        peer.software
    )
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
        "trust",
    ]
    .into_iter()
    .map(|text| Cell::new(text, Emphasis::Faint))
    .collect()
}

fn row(record: &TestRecord, run: &str, outcome: &DirectionOutcome) -> Vec<Cell> {
    let plan = &record.plan;
    let delivered = outcome.delivered;
    // What write(2) took of a TCP stream may still lie in a buffer.
    let offered = outcome.acknowledged.or(outcome.offered);
    vec![
        Cell::from(plan.row_of_direction(outcome.direction) + run),
        asked(record, outcome),
        rate(offered, misses(offered, outcome.asked), Emphasis::None),
        rate(delivered, falls_short(delivered, offered), Emphasis::Strong),
        Cell::from(outcome.headline().map_or_else(String::new, |t| show_time(t.span))),
        lost(outcome),
        Cell::from(outcome.datagrams.map_or_else(String::new, |d| d.sent.to_string())),
        Cell::from(reordered(outcome)),
        Cell::from(outcome.retransmits.map_or_else(String::new, |count| count.to_string())),
        Cell::from(jitter(outcome)),
        judgement::stamp(record),
    ]
}

/// The requested rate or amount, `search` if a search found the rate, or `unlimited`.
fn asked(record: &TestRecord, outcome: &DirectionOutcome) -> Cell {
    let plan = &record.plan;
    let amount = match (plan.end, plan.transport) {
        (End::Time(_) | End::Open, _) => None,
        (End::Bytes(size), _) => Some(size.to_string()),
        (End::Blocks(count), Transport::Tcp) => Some(counted(count, "block")),
        (End::Blocks(count), Transport::Udp) => Some(counted(count, "datagram")),
    };
    match (outcome.asked, amount) {
        (Some(rate), Some(amount)) => Cell::from(format!("{amount} at {rate}")),
        (Some(rate), None) => Cell::from(rate.to_string()),
        (None, Some(amount)) => Cell::from(amount),
        (None, None) if record.trials.rate.is_some() => Cell::new("search", Emphasis::Faint),
        // What other programs print does not tell it.
        (None, None) if record.origin.source != Source::Measured => Cell::default(),
        (None, None) => Cell::new("unlimited", Emphasis::Faint),
    }
}

/// A rate, marked if it differs from the expected one.
fn rate(throughput: Option<Throughput>, marked: bool, emphasis: Emphasis) -> Cell {
    let (emphasis, mark) = if marked { (Emphasis::Warning, " !") } else { (emphasis, "") };
    throughput.map_or_else(
        || Cell::new("unknown", Emphasis::Warning),
        |throughput| Cell::new(format!("{}{mark}", throughput.rate), emphasis),
    )
}

/// Whether a rate differs from the requested one by more than 2 %.
fn misses(got: Option<Throughput>, asked: Option<BitRate>) -> bool {
    let (Some(got), Some(asked)) = (got, asked) else { return false };
    let (got, asked) = (got.rate.bits_per_second().into(), asked.bits_per_second().into());
    is_short(got, asked) || is_short(asked, got)
}

/// Whether more than 2 % of the sent bytes did not arrive. Bytes are compared, since each end
/// measures its own time.
fn falls_short(got: Option<Throughput>, sent: Option<Throughput>) -> bool {
    got.zip(sent).is_some_and(|(got, sent)| is_short(got.bytes.into(), sent.bytes.into()))
}

fn is_short(got: u128, wanted: u128) -> bool {
    got * 100 < wanted * 98
}

fn lost(outcome: &DirectionOutcome) -> Cell {
    let Some(datagrams) = outcome.datagrams else { return Cell::default() };
    let emphasis = if datagrams.lost > 0 { Emphasis::Warning } else { Emphasis::None };
    Cell::new(format!("{} ({:.3} %)", datagrams.lost, 100.0 * datagrams.loss()), emphasis)
}

/// Number of reordered datagrams; empty if it is zero.
fn reordered(outcome: &DirectionOutcome) -> String {
    let count = outcome.datagrams.and_then(|datagrams| datagrams.reordered);
    count.filter(|count| *count > 0).map_or_else(String::new, |count| count.to_string())
}

/// Jitter; empty for TCP, `n/a` if the receiver did not report it or had no time of each datagram.
fn jitter(outcome: &DirectionOutcome) -> String {
    match (outcome.jitter_seconds, outcome.datagrams) {
        (Some(seconds), _) => milliseconds(seconds),
        (None, Some(_)) => "n/a".to_owned(),
        (None, None) => String::new(),
    }
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.3} ms", seconds * 1e3)
}

/// Writes how evenly the streams of each row shared the rate.
fn write_fairness(rows: &[Run], width: Width, out: &mut dyn Write) -> io::Result<()> {
    let mut columns = Columns::default();
    let head = ["each stream", "slowest", "median", "fastest", "Jain's index", "idle"];
    columns.push(head.into_iter().map(|text| Cell::new(text, Emphasis::Faint)).collect());
    let mut is_empty = true;
    for (record, run) in rows {
        for outcome in &record.outcome.directions {
            if let Some(fairness) = outcome.fairness {
                let title = record.plan.row_of_direction(outcome.direction) + run;
                columns.push(fairness_row(title, fairness));
                is_empty = false;
            }
        }
    }
    if is_empty {
        return Ok(());
    }
    writeln!(out)?;
    columns.write(out, 2, width)
}

fn fairness_row(title: String, fairness: Fairness) -> Vec<Cell> {
    let jain = match fairness.jain {
        _ if !fairness.is_meaningful() => Cell::new("too short", Emphasis::Faint),
        jain if jain < EVEN => Cell::new(format!("{jain:.3} !"), Emphasis::Warning),
        jain => Cell::from(format!("{jain:.3}")),
    };
    let idle = group_thousands(fairness.idle.into());
    let idle = if fairness.idle > 0 { Cell::new(idle, Emphasis::Warning) } else { idle.into() };
    vec![
        Cell::from(title),
        Cell::from(fairness.slowest.to_string()),
        Cell::from(fairness.median.to_string()),
        Cell::from(fairness.fastest.to_string()),
        jain,
        idle,
    ]
}

/// Which worker thread runs which streams: a line for each worker, with its streams and the CPU to
/// which it is pinned.
pub fn placement(streams: &[StreamRecord]) -> Vec<String> {
    let mut workers: BTreeMap<u32, (Vec<usize>, Option<u32>)> = BTreeMap::new();
    let known = streams.iter().enumerate();
    let known = known.filter_map(|(index, stream)| Some((index, stream, stream.worker?)));
    for (index, stream, worker) in known {
        let (own, cpu) = workers.entry(worker).or_default();
        own.push(index + 1);
        *cpu = stream.cpu;
    }
    let line = |(number, (own, cpu)): (u32, (Vec<usize>, Option<u32>))| {
        let own_streams = numbers(&own);
        format!("{}: {} ({own_streams})", worker(number, cpu), count_of_streams(own.len()))
    };
    workers.into_iter().map(line).collect()
}

/// Load of the worker threads: a line for each worker that had streams, with its utilisation in
/// percent.
pub fn load(runtime: &Runtime) -> Vec<String> {
    let workers = (0..).zip(&runtime.mpus).filter(|(_, mpu)| mpu.streams > 0);
    let line = |(number, mpu): (u32, &MpuUse)| {
        let (streams, busy) = (count_of_streams(mpu.streams as usize), 100.0 * mpu.utilisation);
        format!("{}: {streams}, busy {busy:.0} % of the time", worker(number, mpu.cpu))
    };
    workers.map(line).collect()
}

fn worker(number: u32, cpu: Option<u32>) -> String {
    let cpu = cpu.map_or_else(|| "any CPU".to_owned(), |cpu| format!("CPU {cpu}"));
    format!("worker {number}, {cpu}")
}

fn count_of_streams(count: usize) -> String {
    let of = if count == 1 { "stream" } else { "streams" };
    format!("{} {of}", group_thousands(count as u64))
}

/// Numbers of streams, from 1; of many the first three and the last.
fn numbers(own: &[usize]) -> String {
    let listed = |own: &[usize]| own.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let is_a_range = own.windows(2).all(|pair| pair[1] == pair[0] + 1);
    match own {
        [first, _, .., last] if is_a_range => format!("{first}-{last}"),
        [first, second, third, .., last] if own.len() > MOST_LISTED => {
            format!("{}, ... {last}", listed(&[*first, *second, *third]))
        }
        _ => listed(own),
    }
}

fn write_summaries(records: &RecordSet, width: Width, out: &mut dyn Write) -> io::Result<()> {
    if records.summaries.is_empty() {
        return Ok(());
    }
    let mut columns = Columns::default();
    columns.push(
        ["delivered", "slowest", "median", "fastest", "runs"]
            .into_iter()
            .map(|text| Cell::new(text, Emphasis::Faint))
            .collect(),
    );
    for summary in &records.summaries {
        columns.push(vec![
            Cell::from(summary.row.clone()),
            Cell::from(summary.slowest.to_string()),
            Cell::new(summary.median.to_string(), Emphasis::Strong),
            Cell::from(summary.fastest.to_string()),
            Cell::from(summary.runs.to_string()),
        ]);
    }
    writeln!(out)?;
    columns.write(out, 2, width)?;
    for summary in &records.summaries {
        if let Some(spread) = &summary.spread {
            let text = format!("{}: {}: {}", spread.stamp, summary.row, spread.text);
            write_wrapped(2, &text, width, out)?;
        }
    }
    Ok(())
}

/// Writes how well requested rates were kept, where datagrams were dropped, and what TCP waited
/// for.
fn write_accounts(rows: &[Run], width: Width, out: &mut dyn Write) -> io::Result<()> {
    let (mut lines, mut accounts) = (Vec::new(), Vec::new());
    for (record, run) in rows {
        let search = record.trials.rate.as_ref();
        let search = search.map(|one| rate_search::line(one, rate_search::lost(record, one)));
        lines.extend(search.map(|line| format!("search: {}{run}: {line}", record.plan.title())));
        for (index, outcome) in record.outcome.directions.iter().enumerate() {
            let title = record.plan.row_of_direction(outcome.direction) + run;
            let line = outcome.pacing.as_ref().map(pacing::line);
            lines.extend(line.map(|line| format!("pacing: {title}: {line}")));
            let line = outcome.ipdv.as_ref().map(delay_variation);
            lines.extend(line.map(|line| format!("ipdv: {title}: {line}")));
            let judged = record.judgement.as_ref();
            let account = judged.and_then(|judged| judged.directions.get(index));
            let lines = account.map(judgement::lines).unwrap_or_default();
            accounts.extend(lines.iter().map(|(what, line)| format!("{what}: {title}: {line}")));
        }
    }
    lines.append(&mut accounts);
    if !lines.is_empty() {
        writeln!(out)?;
    }
    lines.iter().try_for_each(|line| write_wrapped(2, line, width, out))
}

/// The variation of the delay from one datagram to the next (RFC 3393).
fn delay_variation(ipdv: &DelayVariation) -> String {
    let time = |nanos| round_trips::time(Duration::from_nanos(nanos));
    let Quantiles { p50, p99, max } = ipdv.nanos;
    format!("p50 {}, p99 {}, max {}", time(p50), time(p99), time(max))
}

/// Below this index of Jain's streams that should be alike are not.
const EVEN: f64 = 0.9;
/// Streams of a worker that are listed one by one.
const MOST_LISTED: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_streams_are_as_short_as_they_can_be_said() {
        assert_eq!(numbers(&[7]), "7");
        assert_eq!(numbers(&[1, 2]), "1, 2");
        assert_eq!(numbers(&[1, 2, 3, 4]), "1-4");
        assert_eq!(numbers(&[1, 3]), "1, 3");
        assert_eq!(numbers(&[1, 3, 5]), "1, 3, 5");
        assert_eq!(numbers(&[2, 4, 6, 8, 10, 12]), "2, 4, 6, ... 12");
    }
}
