//! Round trips on one screen: the answer, the percentiles, a histogram.

use std::io::{self, Write};
use std::time::Duration;

use measurement::units::{counted, group_thousands};
use measurement::{Bufferbloat, Grade, Loaded, RecordSet, RoundTrips, Spread, Stamp, Way};

use crate::columns::{Cell, Columns, Emphasis};
use crate::histogram::{Axis, Glyphs};
use crate::page::write_wrapped;
use crate::runs::{Run, numbered};
use crate::width::Width;
use crate::{judgement, notes, round_trips, terminal, verdict};

/// What stands below the numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Remarks {
    /// What makes a row INVALID, and how many rows are SUSPECT.
    #[default]
    Few,
    /// Verdicts and notes.
    All,
}

/// Writes the screen.
pub(crate) fn write(
    records: &RecordSet,
    (glyphs, remarks): (Glyphs, Remarks),
    width: Width,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(first) = records.records.first() else { return Ok(()) };
    let runs = numbered(&records.records);
    let rows: Vec<_> = runs.iter().flat_map(rows).collect();
    write_wrapped(0, &terminal::origin(first), width, out)?;
    writeln!(out)?;
    if rows.is_empty() {
        return writeln!(out, "  no round trips were measured: use linerate latency HOST");
    }
    write_answer(&runs, width, out)?;
    write_percentiles(&rows, width, out)?;
    write_histograms(&rows, glyphs, out)?;
    match remarks {
        Remarks::Few => write_doubts(&runs, width, out),
        Remarks::All => {
            verdict::write_short(&runs, width, out)?;
            notes::write(&runs, width, out)
        }
    }
}

/// Round trips with their title.
struct RoundTripRow<'a> {
    title: String,
    trips: &'a RoundTrips,
    /// Whether they are those of a probe beside a load.
    is_probe: bool,
}

fn rows<'a>((record, run): &Run<'a>) -> impl Iterator<Item = RoundTripRow<'a>> {
    let own = record.outcome.round_trips.iter().map({
        let what = match record.plan.exchange.map(|exchange| exchange.way) {
            Some(Way::Connection) => "connections",
            Some(Way::Stream) | None => "requests",
        };
        let title = format!("{} {what}{run}", record.plan.transport);
        move |trips| RoundTripRow { title: title.clone(), trips, is_probe: false }
    });
    let name = record.plan.title() + run;
    let probed = record.outcome.latency.iter().flat_map(move |latency| {
        let kinds = [("idle", &latency.idle), ("loaded", &latency.loaded)];
        kinds.map(|(when, trips)| RoundTripRow {
            title: format!("{name} {when}"),
            trips,
            is_probe: true,
        })
    });
    own.chain(probed)
}

/// What load does: first in a sentence, then for each test with a probe.
fn write_answer(runs: &[Run], width: Width, out: &mut dyn Write) -> io::Result<()> {
    let tests = || runs.iter().filter_map(|(record, _)| record.outcome.latency.as_ref());
    let Some(bloat) = Bufferbloat::of(tests()) else { return Ok(()) };
    let (added, idle, loaded) = (time(bloat.added()), time(bloat.idle), time(bloat.loaded));
    let is_it = |test: &Loaded| Bufferbloat::of(std::iter::once(test)) == Some(bloat);
    let mut several = runs.iter().filter(|_| tests().count() > 1);
    let worst = several.find(|(record, _)| record.outcome.latency.as_ref().is_some_and(is_it));
    let worst = worst.map(|(record, run)| format!("{}{run} ", record.plan.title()));
    let worst = worst.unwrap_or_default();
    let answer = format!("Bufferbloat {}: {worst}+{added} under load", bloat.grade());
    let answer = Cell::new(answer, Emphasis::Strong).shown();
    writeln!(out, "  {answer} ({idle} idle, {loaded} loaded)")?;
    let scale = format!("DSLReports grades the ms added: {}.", Grade::scale());
    writeln!(out, "  {}", Cell::new(scale, Emphasis::Faint).shown())?;
    let mut columns = Columns::default();
    let head = ["under load", "added", "grade", "load", "RPM (own probes)"];
    columns.push(head.into_iter().map(|text| Cell::new(text, Emphasis::Faint)).collect());
    for (record, run) in runs {
        let Some(latency) = &record.outcome.latency else { continue };
        let load = record.outcome.rate().map(|rate| rate.to_string()).unwrap_or_default();
        columns.push(row_of_load(record.plan.title() + run, load, latency));
    }
    columns.write(out, 2, width)?;
    writeln!(out)
}

fn row_of_load(title: String, load: String, latency: &Loaded) -> Vec<Cell> {
    let bloat = Bufferbloat::of(std::iter::once(latency));
    let added = bloat.map(|bloat| format!("+{}", time(bloat.added()))).unwrap_or_default();
    let grade = bloat.map(|bloat| bloat.grade().to_string()).unwrap_or_default();
    let rpm = latency.responsiveness.and_then(|found| found.rpm);
    let rpm = rpm.map(round_trips::rate).unwrap_or_default();
    vec![title.into(), added.into(), Cell::new(grade, Emphasis::Strong), load.into(), rpm.into()]
}

fn write_percentiles(rows: &[RoundTripRow], width: Width, out: &mut dyn Write) -> io::Result<()> {
    let mut columns = Columns::default();
    let head = ["round trips", "p50", "p90", "p99", "p99.9", "max", "lost"];
    columns.push(head.into_iter().map(|text| Cell::new(text, Emphasis::Faint)).collect());
    for row in rows {
        columns.push(percentiles(row));
    }
    columns.write(out, 2, width)
}

fn percentiles(row: &RoundTripRow) -> Vec<Cell> {
    let RoundTrips { count, lost, .. } = *row.trips;
    let Spread { p50, p90, p99, p999, max, .. } = row.trips.times;
    // So many that some lie above.
    let times = [(1, p50), (10, p90), (100, p99), (1_000, p999), (1, max)];
    let cell =
        |(least, span)| if count >= least { Cell::from(time(span)) } else { Cell::default() };
    let lost = if lost > 0 { group_thousands(lost) } else { String::new() };
    let lost = Cell::new(lost, Emphasis::Warning);
    std::iter::once(row.title.clone().into()).chain(times.map(cell)).chain([lost]).collect()
}

/// Histograms of the probes; of the requests if there were no probes.
fn write_histograms(rows: &[RoundTripRow], glyphs: Glyphs, out: &mut dyn Write) -> io::Result<()> {
    let has_probes = rows.iter().any(|row| row.is_probe);
    let shown = || rows.iter().filter(|row| row.is_probe == has_probes);
    let Some(axis) = Axis::over(shown().map(|row| &row.trips.histogram[..])) else {
        return Ok(());
    };
    let width = rows.iter().map(|row| row.title.chars().count()).max().unwrap_or(0);
    writeln!(out)?;
    for row in shown() {
        let bars = axis.draw(&row.trips.histogram, glyphs);
        let title = format!("{:width$}   {bars}", row.title);
        writeln!(out, "  {}", title.trim_end())?;
    }
    let labels = Cell::new(axis.labels(), Emphasis::Faint).shown();
    writeln!(out, "  {:width$}   {labels}", "")
}

/// What stops a reader from believing the numbers: notes on the round trips, all that makes a row
/// INVALID, and the number of the rest.
fn write_doubts(runs: &[Run], width: Width, out: &mut dyn Write) -> io::Result<()> {
    let mut lines: Vec<String> = Vec::new();
    for (record, run) in runs {
        let title = record.plan.title() + run;
        let unanswered = record.outcome.latency.as_ref().and_then(round_trips::unanswered);
        let notes = record.outcome.notes.iter().cloned().chain(unanswered);
        let notes = notes.chain(round_trips::remarks(record));
        lines.extend(notes.map(|note| format!("note: {title}: {note}")));
        let doubts = judgement::doubts(record).into_iter();
        let invalid = doubts.filter(|(stamp, _)| *stamp == Stamp::Invalid);
        lines.extend(invalid.map(|(stamp, text)| format!("{stamp}: {title}: {text}")));
    }
    let is_suspect = |(record, _): &&Run| {
        record.judgement.as_ref().is_some_and(|judged| judged.stamp == Stamp::Suspect)
    };
    let suspect = runs.iter().filter(is_suspect).count();
    if suspect > 0 {
        let of = counted(runs.len() as u64, "row");
        lines.push(format!("SUSPECT: {suspect} of {of}; -v prints the reasons"));
    }
    lines.iter().try_for_each(|line| write_wrapped(2, line, width, out))
}

/// A time with three significant digits.
fn time(span: Duration) -> String {
    let micros = span.as_secs_f64() * 1e6;
    let (value, unit) = match micros {
        _ if micros < 999.5 => (micros, "us"),
        _ if micros < 999_500.0 => (micros / 1e3, "ms"),
        _ => (micros / 1e6, "s"),
    };
    match value {
        _ if value < 9.995 => format!("{value:.2} {unit}"),
        _ if value < 99.95 => format!("{value:.1} {unit}"),
        _ => format!("{value:.0} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits() {
        let shown = |nanos| time(Duration::from_nanos(nanos));
        let texts = [9_994, 9_995, 99_960, 999_600, 61_320_000, 999_600_000, 12_345_000_000];
        let expected = ["9.99 us", "10.0 us", "100 us", "1.00 ms", "61.3 ms", "1.00 s", "12.3 s"];
        assert_eq!(texts.map(shown), expected);
    }
}
