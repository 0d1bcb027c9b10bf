//! Writes the runs that were found in texts of other programs: a table of the runs, what is to be
//! doubted, curves over the load, and which lines were not read.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};

use measurement::units::show_time;
use measurement::{
    BitRate, Direction, DirectionOutcome, LoadCurve, LoadPoint, Stamp, TestRecord, Throughput,
};

use crate::Glyphs;
use crate::columns::{Cell, Columns, Emphasis};
use crate::import::transcript::{Lines, Rates, TranscriptRun};
use crate::page::write_wrapped;
use crate::plot::{Axis, Curve, Plot, Scale, Side, Unit};
use crate::width::Width;
use crate::{judgement, tables};

/// Texts that were read, and what was found in them.
#[derive(Clone, Copy, Debug)]
pub struct Imported<'a> {
    /// Names of the texts.
    pub names: &'a [String],
    /// Runs, with their judgements.
    pub runs: &'a [TranscriptRun],
    /// Curves of the runs.
    pub curves: &'a [LoadCurve],
    /// Rates that are of no run.
    pub rates: &'a [Rates],
    /// For each text the lines that were not read.
    pub unread: &'a [Vec<usize>],
    /// For each text those of them that begin like output that is read.
    pub broken: &'a [Vec<usize>],
    /// Whether a text has more runs than are read.
    pub is_cut: bool,
}

/// Writes the table of runs, doubts, curves with their pictures, and lines that were not read, in
/// lines that fit the `width`.
///
/// # Errors
/// An error of writing to `out`.
pub fn write(
    imported: &Imported<'_>,
    width: Width,
    glyphs: Glyphs,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "{}", title(imported))?;
    if !imported.runs.is_empty() {
        writeln!(out)?;
        write_runs(imported, width, out)?;
        write_remarks(imported.runs, width, out)?;
    }
    for curve in imported.curves {
        write_curve(curve, width, out)?;
        writeln!(out)?;
        picture(curve).write(width.of_screen(), glyphs, out)?;
    }
    write_rates(imported, width, out)?;
    write_unread(imported, width, out)
}

/// Writes which lines of the texts were not read.
///
/// # Errors
/// An error of writing to `out`.
pub fn write_unread(imported: &Imported<'_>, width: Width, out: &mut dyn Write) -> io::Result<()> {
    let several = imported.names.len() > 1;
    for (at, name) in imported.names.iter().enumerate() {
        let prefix = if several { format!("{name}: ") } else { String::new() };
        let broken = imported.broken.get(at).map_or(&[][..], Vec::as_slice);
        if let Some(lines) = tables::listed(broken) {
            let text = format!("{prefix}not read, though it begins like a row: {lines}");
            write_wrapped(0, &text, width, out)?;
        }
        let unread = imported.unread.get(at).map_or(&[][..], Vec::as_slice);
        if let Some(lines) = tables::listed(unread) {
            write_wrapped(0, &format!("{prefix}not read: {lines}"), width, out)?;
        }
    }
    if imported.is_cut {
        writeln!(out, "there are more runs than are read at once: split the file")?;
    }
    Ok(())
}

fn title(imported: &Imported<'_>) -> String {
    let runs = imported.runs.len();
    let count = match runs {
        0 => "no run".to_owned(),
        1 => "1 run".to_owned(),
        runs => format!("{runs} runs"),
    };
    let texts = match imported.names {
        [one] => one.clone(),
        several => format!("{} files", several.len()),
    };
    format!("{count} in {texts}")
}

fn write_runs(imported: &Imported<'_>, width: Width, out: &mut dyn Write) -> io::Result<()> {
    let mut columns = Columns::default();
    let head = [
        "run",
        "asked",
        "sent",
        "arrived",
        "lost",
        "trust",
        "time",
        "retransmits",
        "from",
        "to",
        "lines",
        "lost/total",
        "jitter",
    ];
    columns.push(head.into_iter().map(|text| Cell::new(text, Emphasis::Faint)).collect());
    for (at, run) in imported.runs.iter().enumerate() {
        let directions = &run.record.outcome.directions;
        for (which, outcome) in directions.iter().enumerate() {
            columns.push(row(at + 1, which == 0, run, outcome, imported.names.len() > 1));
        }
    }
    let left_out = columns.narrow(2, width, &LEAST_FIRST);
    columns.write(out, 2, width)?;
    if left_out.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    write_wrapped(2, &format!("no room for: {}; --json has all", left_out.join(", ")), width, out)
}

fn row(
    number: usize,
    is_first: bool,
    run: &TranscriptRun,
    outcome: &DirectionOutcome,
    several: bool,
) -> Vec<Cell> {
    let record = &run.record;
    let rate = |throughput: Option<Throughput>| {
        throughput.map_or_else(
            || Cell::new("unknown", Emphasis::Warning),
            |throughput| Cell::from(throughput.rate.to_string()),
        )
    };
    let [from, to] = addresses(record, outcome.direction);
    let lost = outcome.datagrams.map(|all| format!("{:.2} %", 100.0 * all.loss()));
    let counts = outcome.datagrams.map(|all| format!("{}/{}", all.lost, all.sent));
    let text = |number: Option<String>| Cell::from(number.unwrap_or_default());
    let title = record.plan.row_of_direction(outcome.direction);
    vec![
        Cell::from(format!("{number:>2} {title}")),
        text(outcome.asked.map(|rate| rate.to_string())),
        rate(outcome.offered),
        rate(outcome.delivered),
        text(lost),
        if is_first { judgement::stamp(record) } else { Cell::default() },
        text(outcome.headline().map(|one| show_time(one.span))),
        text(outcome.retransmits.map(|count| count.to_string())),
        Cell::from(from),
        Cell::from(to),
        if is_first { Cell::from(places(&run.lines, several)) } else { Cell::default() },
        text(counts),
        text(outcome.jitter_seconds.map(|seconds| format!("{:.3} ms", seconds * 1e3))),
    ]
}

/// Hosts from which, and to which, a direction goes; empty: not known.
fn addresses(record: &TestRecord, direction: Direction) -> [String; 2] {
    let shown = |socket: Option<SocketAddr>| {
        socket.map_or_else(String::new, |socket| socket.ip().to_string())
    };
    let stream = record.streams.first();
    let (here, peer) =
        (shown(stream.and_then(|one| one.local)), shown(stream.and_then(|one| one.peer)));
    if direction == Direction::Send { [here, peer] } else { [peer, here] }
}

/// `375-394, 874-896`; of several texts with their number, `2:1-20`.
fn places(lines: &[Lines], several: bool) -> String {
    let place = |one: &Lines| {
        let text = if several { format!("{}:", one.text + 1) } else { String::new() };
        format!("{text}{}-{}", one.first, one.last)
    };
    lines.iter().map(place).collect::<Vec<_>>().join(", ")
}

/// Doubts, the gravest first, then notes, each once with the numbers of its runs.
fn write_remarks(runs: &[TranscriptRun], width: Width, out: &mut dyn Write) -> io::Result<()> {
    let mut remarks: BTreeMap<(std::cmp::Reverse<Stamp>, String), Vec<usize>> = BTreeMap::new();
    for (at, run) in runs.iter().enumerate() {
        let notes = run.record.outcome.notes.iter().cloned().map(|text| (Stamp::Valid, text));
        for (stamp, text) in judgement::doubts(&run.record).into_iter().chain(notes) {
            remarks.entry((std::cmp::Reverse(stamp), text)).or_default().push(at + 1);
        }
    }
    if !remarks.is_empty() {
        writeln!(out)?;
    }
    for ((std::cmp::Reverse(stamp), text), numbers) in remarks {
        let kind = if stamp == Stamp::Valid { "note".to_owned() } else { stamp.to_string() };
        let all = if numbers.len() == runs.len() && runs.len() > 1 {
            "all runs".to_owned()
        } else {
            tables::numbered("run", &numbers)
        };
        write_wrapped(2, &format!("{kind}: {all}: {text}"), width, out)?;
    }
    Ok(())
}

fn write_curve(curve: &LoadCurve, width: Width, out: &mut dyn Write) -> io::Result<()> {
    let host = |address: Option<IpAddr>| {
        address.map_or_else(|| "one host".to_owned(), |address| address.to_string())
    };
    writeln!(out)?;
    let text = format!("UDP from {} to {}: {}", host(curve.from), host(curve.to), limit(curve));
    write_wrapped(0, &text, width, out)?;
    writeln!(out)?;
    let mut columns = Columns::default();
    let head = ["load", "sent", "arrived", "lost", "run"];
    columns.push(head.into_iter().map(|text| Cell::new(text, Emphasis::Faint)).collect());
    for point in &curve.points {
        columns.push(point_row(point));
    }
    columns.write(out, 2, width)
}

/// What arrived, and what was lost if anything was, over the load.
fn picture(curve: &LoadCurve) -> Plot {
    let points = |of: fn(&LoadPoint) -> Option<f64>| {
        let point = |one: &LoadPoint| Some((one.load.bits_per_second() as f64, of(one)?));
        curve.points.iter().filter_map(point).collect::<Vec<_>>()
    };
    let arrived = points(|one| Some(one.arrived.bits_per_second() as f64));
    let lost = points(|one| one.loss);
    let has_lost = lost.iter().any(|(_, share)| *share > 0.0);
    let axis = |title: &str, unit| Axis { title: title.to_owned(), unit, scale: Scale::FromZero };
    let named = |name: &str, points, side| Curve { name: name.to_owned(), points, side };
    let mut curves = vec![named("arrived", arrived, Side::Left)];
    if has_lost {
        curves.push(named("lost", lost, Side::Right));
    }
    Plot {
        x: Axis {
            title: "load".to_owned(),
            unit: Unit::BitsPerSecond,
            scale: Scale::fitting(curve.points.iter().map(|one| one.load.bits_per_second() as f64)),
        },
        left: axis("arrived", Unit::BitsPerSecond),
        right: has_lost.then(|| axis("lost", Unit::Share)),
        curves,
    }
}

/// Rates without a run: each heading with the median of each column, and how many they are.
fn write_rates(imported: &Imported<'_>, width: Width, out: &mut dyn Write) -> io::Result<()> {
    if imported.rates.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    writeln!(out, "rates without a run: the median of each column")?;
    writeln!(out)?;
    let mut columns = Columns::default();
    let count = imported.rates.iter().map(|rates| rates.columns.len()).max().unwrap_or(0);
    let head = (1..=count).map(|column| format!("column {column}"));
    let head = std::iter::once(String::new()).chain(head);
    columns.push(head.map(|text| Cell::new(text, Emphasis::Faint)).collect());
    for rates in imported.rates {
        let mut row = vec![Cell::from(format!("line {}: {}", rates.line, rates.heading))];
        let cell = |(at, column): (usize, &Vec<BitRate>)| {
            let doubted = rates.doubted.iter().find(|(column, _)| *column == at);
            doubted.map_or_else(
                || Cell::from(median(column)),
                |(_, rate)| Cell::new(format!("({rate})"), Emphasis::Bad),
            )
        };
        row.extend(rates.columns.iter().enumerate().map(cell));
        columns.push(row);
    }
    columns.write(out, 2, width)?;
    for rates in imported.rates {
        let (line, heading) = (rates.line, &rates.heading);
        if is_single(rates) {
            let text = format!("line {line}: {heading}: one run each: no difference can be shown");
            write_wrapped(2, &text, width, out)?;
        }
        for (_, rate) in &rates.doubted {
            let why = rates
                .unconfirmed
                .map(|line| format!(": the receiver never confirmed it (line {line})"));
            let why = why.unwrap_or_default();
            let text =
                format!("INVALID: line {line}: {rate} is in parentheses, and does not count{why}");
            write_wrapped(2, &text, width, out)?;
        }
    }
    Ok(())
}

/// Whether columns that could be compared have a run each.
fn is_single(rates: &Rates) -> bool {
    rates.columns.len() > 1 && rates.columns.iter().all(|column| column.len() <= 1)
}

/// `686.0 Mbit/s of 3`; empty: there are none.
fn median(rates: &[BitRate]) -> String {
    let middle = BitRate::median(rates.iter().copied());
    middle.map(|rate| format!("{rate} of {}", rates.len())).unwrap_or_default()
}

/// Knee and ceiling in words.
fn limit(curve: &LoadCurve) -> String {
    let ceiling = |rate: BitRate| format!("at most {rate} arrived");
    match (curve.knee, curve.ceiling) {
        (_, Some(rate)) if curve.is_of_sender => {
            format!("ceiling at {rate}: the sender sends no more, and what it sends arrives")
        }
        (Some((kept, missed)), Some(rate)) => {
            format!("the knee is between {kept} and {missed}, {}", ceiling(rate))
        }
        (None, Some(rate)) => format!("no load arrived, {}", ceiling(rate)),
        _ => "every load arrived".to_owned(),
    }
}

fn point_row(point: &LoadPoint) -> Vec<Cell> {
    let emphasis = if point.is_kept { Emphasis::None } else { Emphasis::Warning };
    vec![
        Cell::from(point.load.to_string()),
        Cell::from(point.sent.map_or_else(|| "unknown".to_owned(), |rate| rate.to_string())),
        Cell::new(point.arrived.to_string(), emphasis),
        Cell::from(point.loss.map_or_else(String::new, |loss| format!("{:.2} %", 100.0 * loss))),
        Cell::from((point.record + 1).to_string()),
    ]
}

/// Columns of the table of runs that are left out first: jitter, lost/total.
const LEAST_FIRST: [usize; 2] = [12, 11];
