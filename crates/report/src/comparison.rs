//! Writes a comparison of runs: for a terminal, as a table of Markdown for a commit message, or as
//! JSON.

use std::io::{self, Write};

use measurement::comparison::{Change, EffectSize, Method, RowComparison, Side};
use measurement::{Comparison, json};
use serde::Serialize;

use crate::columns::{Cell, Columns, Emphasis};
use crate::page::wrap;
use crate::width::Width;

/// Writes a comparison for people: a line for each row, the methods, what was left out, and the
/// settings that differ.
///
/// # Errors
/// An error of writing to `out`.
pub fn write(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    write_rows(&comparison.rows, out)?;
    writeln!(out)?;
    for text in results(&comparison.rows).into_iter().chain(remarks(comparison)) {
        for (number, line) in wrap(&text, WIDTH - 4).into_iter().enumerate() {
            writeln!(out, "{}{line}", if number == 0 { "  " } else { "    " })?;
        }
    }
    write_differences(comparison, out)
}

/// A table in which long titles have a line of their own, so that it fits 80 columns.
fn write_rows(rows: &[RowComparison], out: &mut dyn Write) -> io::Result<()> {
    let is_long = rows.iter().any(|row| row.row.chars().count() > LONGEST_TITLE);
    let mut columns = Columns::default();
    columns.push(["", "before", "after", "change", "interval"].map(faint).into());
    for row in rows {
        let title = if is_long { "" } else { row.row.as_str() };
        let interval = row.effect.as_ref().map(shown_interval).filter(|text| !text.is_empty());
        columns.push(vec![
            title.into(),
            mean(row, &row.before).into(),
            mean(row, &row.after).into(),
            change(row),
            interval.unwrap_or_else(|| "too few runs".to_owned()).into(),
        ]);
    }
    if !is_long {
        return columns.write(out, 2, Width::UNKNOWN);
    }
    let mut table = Vec::new();
    columns.write(&mut table, 2, Width::UNKNOWN)?;
    let table = String::from_utf8_lossy(&table);
    let titles = std::iter::once("").chain(rows.iter().map(|row| row.row.as_str()));
    for (title, line) in titles.zip(table.lines()) {
        if !title.is_empty() {
            writeln!(out, "  {title}")?;
        }
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// `+20.0 % better`; without the word if no difference is shown.
fn change(row: &RowComparison) -> Cell {
    let size = row.effect.map(|effect| percent_of(effect.ratio)).unwrap_or_default();
    match row.shown() {
        Some(Change::Better) => Cell::new(format!("{size} better"), Emphasis::Good),
        Some(Change::Worse) => Cell::new(format!("{size} worse"), Emphasis::Bad),
        None => size.into(),
    }
}

/// What the table does not tell: how many runs count, and how large a difference may still be.
fn results(rows: &[RowComparison]) -> Vec<String> {
    let runs = |row: &RowComparison| (row.before.runs, row.after.runs);
    let said = |(before, after): (u32, u32)| format!("{before} before, {after} after");
    let mut lines = Vec::new();
    match rows.first().map(runs) {
        Some(all) if rows.iter().all(|row| runs(row) == all) => {
            lines.push(format!("Runs: {}.", said(all)));
        }
        _ => lines
            .extend(rows.iter().map(|row| format!("Runs of {}: {}.", row.row, said(runs(row))))),
    }
    let has_none = |row: &&RowComparison| {
        row.shown().is_none() && row.effect.is_some_and(|effect| effect.interval.is_some())
    };
    lines.extend(rows.iter().filter(has_none).map(|row| format!("{}: {}.", row.row, result(row))));
    lines
}

/// Writes a comparison as a table of Markdown, without emphasis.
///
/// # Errors
/// An error of writing to `out`.
pub fn write_markdown(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "| row | before | after | ratio | interval | result |")?;
    writeln!(out, "|---|---:|---:|---:|---:|---|")?;
    for row in &comparison.rows {
        let effect = row.effect.as_ref();
        let ratio = effect.map(|effect| format!("{:.3}", effect.ratio)).unwrap_or_default();
        let interval = effect.and_then(|effect| effect.interval);
        let interval = interval
            .map(|interval| format!("{:.3}..{:.3}", interval.low, interval.high))
            .unwrap_or_default();
        let (before, after) = (shown(row, &row.before), shown(row, &row.after));
        let title = escaped(&row.row);
        writeln!(out, "| {title} | {before} | {after} | {ratio} | {interval} | {} |", result(row))?;
    }
    writeln!(out)?;
    let (before, after) = &comparison.kernels;
    let kernel = if before == after { before.clone() } else { format!("{before} -> {after}") };
    if !kernel.is_empty() {
        writeln!(out, "Kernel: {kernel}")?;
    }
    for line in remarks(comparison) {
        writeln!(out, "{}", escaped(&line))?;
    }
    for (number, one) in comparison.differences.iter().enumerate() {
        let head = if number == 0 { "Settings that differ:\n\n" } else { "" };
        let (before, after) = (value(&one.before), value(&one.after));
        writeln!(out, "{head}- {}: {} -> {}", escaped(&one.what), escaped(before), escaped(after))?;
    }
    Ok(())
}

/// Writes a comparison as one JSON object.
///
/// # Errors
/// An error of writing to `out`.
pub fn write_json(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    /// Its keys.
    #[derive(Serialize)]
    struct Object<'a> {
        schema: &'a str,
        #[serde(flatten)]
        comparison: &'a Comparison,
    }

    json::write_indented(&Object { schema: "linerate/comparison/1", comparison }, out)
}

/// A ratio as a change: `+2.3 %`.
pub(crate) fn percent_of(ratio: f64) -> String {
    format!("{:+.1} %", (ratio - 1.0) * 100.0)
}

/// `-3.1 to +1.2 %`; empty: there is none.
pub(crate) fn shown_interval(effect: &EffectSize) -> String {
    let Some(interval) = effect.interval else { return String::new() };
    format!("{:+.1} to {}", (interval.low - 1.0) * 100.0, percent_of(interval.high))
}

fn faint(text: &str) -> Cell {
    Cell::new(text, Emphasis::Faint)
}

/// The mean of a side, and its runs.
fn shown(row: &RowComparison, side: &Side) -> String {
    let runs = if side.runs > 1 { format!(" ({} runs)", side.runs) } else { String::new() };
    mean(row, side) + &runs
}

fn mean(row: &RowComparison, side: &Side) -> String {
    if side.runs == 0 { "no run".to_owned() } else { row.quantity.show(side.mean) }
}

pub(crate) fn result(row: &RowComparison) -> String {
    let interval = row.effect.and_then(|effect| effect.interval);
    match (row.shown(), interval) {
        (Some(Change::Better), _) => "better".to_owned(),
        (Some(Change::Worse), _) => "worse".to_owned(),
        (None, Some(interval)) => {
            format!("no difference shown within ±{:.1} %", interval.widest() * 100.0)
        }
        (None, None) => "too few runs".to_owned(),
    }
}

/// How the intervals came about, and what does not count.
pub(crate) fn remarks(comparison: &Comparison) -> Vec<String> {
    let mut lines = Vec::new();
    let has = |method| comparison.rows.iter().any(|row| row.method == method);
    let percent = comparison.confidence * 100.0;
    if has(Method::Paired) {
        lines.push(format!(
            "Intervals: {percent:.0} % for all rows together, Student's t of paired log ratios."
        ));
    }
    if has(Method::Welch) {
        lines.push(format!(
            "Intervals: {percent:.0} % for all rows together, Welch's t of logarithms. The runs did \
             not alternate: what else changed meanwhile counts too."
        ));
    }
    if has(Method::TooFew) {
        lines.push(
            "Too few runs for an interval: repeat each side, e.g. with --repeat 5.".to_owned(),
        );
    }
    let sum = |of: fn(&Side) -> u32| {
        comparison.rows.iter().map(|row| of(&row.before) + of(&row.after)).sum::<u32>()
    };
    let (left_out, suspect) = (sum(|side| side.left_out), sum(|side| side.suspect));
    if left_out > 0 {
        lines.push(format!("Left out since INVALID: {left_out} of the results."));
    }
    if suspect > 0 {
        lines.push(format!("SUSPECT: {suspect} of the results that count."));
    }
    let (before, after): (Vec<_>, Vec<_>) =
        comparison.unmatched.iter().partition(|row| comparison.missing.contains(row));
    for (side, rows) in [("before", before), ("after", after)] {
        if !rows.is_empty() {
            let rows: Vec<_> = rows.into_iter().map(String::as_str).collect();
            lines.push(format!("Measured {side} only: {}.", rows.join(", ")));
        }
    }
    lines
}

fn write_differences(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let differences = &comparison.differences;
    if differences.is_empty() {
        return writeln!(out, "  Settings that differ: none.");
    }
    writeln!(out, "  Settings that differ:")?;
    for one in differences.iter().take(MOST_DIFFERENCES) {
        writeln!(out, "    {}: {} -> {}", one.what, value(&one.before), value(&one.after))?;
    }
    let more = differences.len().saturating_sub(MOST_DIFFERENCES);
    if more > 0 { writeln!(out, "    {more} more: --format json") } else { Ok(()) }
}

fn value(text: &str) -> &str {
    if text.is_empty() { "not set" } else { text }
}

/// A text in which nothing is markup of a table.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}

const MOST_DIFFERENCES: usize = 20;
/// Columns of a terminal that the text fits, but for settings.
const WIDTH: usize = 80;
/// Letters of a title beside which the other columns fit.
const LONGEST_TITLE: usize = 12;
