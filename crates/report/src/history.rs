//! Writes runs of a history: a table for people, or JSON; and how a row did by version.

use std::io::{self, Write};

use measurement::Foreign;
use measurement::comparison::{Change, Versions};
use measurement::{Run, RunRow, Stamp, json};
use serde::Serialize;
use time::UtcDateTime;
use time::format_description::well_known::Rfc3339;

use crate::columns::{Cell, Columns, Emphasis};
use crate::comparison::{percent_of, shown_interval};
use crate::page::write_wrapped;
use crate::width::Width;

/// Writes a table of runs, in their order: a line for each row. Where the `width` has no room for all
/// columns, those that tell least are left out, and named below.
///
/// # Errors
/// An error of writing to `out`.
pub fn write(runs: &[Run], width: Width, out: &mut dyn Write) -> io::Result<()> {
    let mut columns = table(runs);
    let left_out = columns.narrow(0, width, &LEAST_FIRST);
    columns.write(out, 0, width)?;
    if left_out.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    write_wrapped(0, &format!("no room for: {}; --json has all", left_out.join(", ")), width, out)
}

fn table(runs: &[Run]) -> Columns {
    let mut columns = Columns::default();
    columns.push(HEAD.iter().map(|name| Cell::new(*name, Emphasis::Faint)).collect());
    for run in runs {
        let mut heads = vec![head(run)];
        heads.resize(run.rows.len().max(1), [const { String::new() }; 4]);
        let rows = run.rows.iter().map(Some).chain([None]).take(heads.len());
        for ([id, when, between, tags], row) in heads.into_iter().zip(rows) {
            let mut cells: Vec<Cell> = vec![id.into(), when.into(), between.into()];
            cells.extend(row.map_or_else(|| [const { String::new() }; 4].map(Cell::from), of_row));
            cells.push(Cell::new(tags, Emphasis::Faint));
            columns.push(cells);
        }
    }
    columns
}

/// Writes runs as one JSON object.
///
/// # Errors
/// An error of writing to `out`.
pub fn write_json(runs: &[Run], out: &mut dyn Write) -> io::Result<()> {
    /// Its keys.
    #[derive(Serialize)]
    struct Object<'a> {
        schema: &'a str,
        runs: &'a [Run],
    }

    json::write_indented(&Object { schema: "linerate/history/1", runs }, out)
}

/// Writes how rows did by version: the versions of each, then what changed between them.
///
/// # Errors
/// An error of writing to `out`.
pub fn write_versions(all: &[Versions], width: Width, out: &mut dyn Write) -> io::Result<()> {
    for (number, one) in all.iter().enumerate() {
        let gap = if number > 0 { "\n" } else { "" };
        write!(out, "{gap}")?;
        write_wrapped(0, &shown(&one.series), width, out)?;
        let mut columns = Columns::default();
        let head = ["version", "mean", "runs"];
        columns.push(head.iter().map(|name| Cell::new(*name, Emphasis::Faint)).collect());
        for version in &one.versions {
            let name = shown(&version.name);
            let name = if name.is_empty() { "not known".to_owned() } else { name };
            let runs = version.side.runs.to_string();
            let mean = one.quantity.show(version.side.mean);
            columns.push(vec![name.into(), mean.into(), runs.into()]);
        }
        columns.write(out, 2, width)?;
        write_changes(one, width, out)?;
    }
    Ok(())
}

fn write_changes(one: &Versions, width: Width, out: &mut dyn Write) -> io::Result<()> {
    for change in &one.changes {
        let kind = match change.change {
            Change::Better => "better",
            Change::Worse => "REGRESSION",
        };
        let (size, interval) = (percent_of(change.effect.ratio), shown_interval(&change.effect));
        let (from, to) = (shown(&change.from), shown(&change.to));
        let text = format!("{kind} from {from} to {to}: {size} ({interval})");
        write_wrapped(2, &text, width, out)?;
    }
    match (one.changes.is_empty(), one.needs_runs) {
        (_, Some(_)) if one.versions.len() < 2 => {
            writeln!(out, "  One version: nothing to compare.")
        }
        (_, Some(least)) => {
            writeln!(out, "  Too few runs to tell each change: {least} or more of each version.")
        }
        (true, None) => writeln!(out, "  No change between versions shown."),
        (false, None) => Ok(()),
    }
}

/// Writes how rows did by version as one JSON object.
///
/// # Errors
/// An error of writing to `out`.
pub fn write_versions_json(all: &[Versions], out: &mut dyn Write) -> io::Result<()> {
    /// Its keys.
    #[derive(Serialize)]
    struct Object<'a> {
        schema: &'a str,
        series: &'a [Versions],
    }

    json::write_indented(&Object { schema: "linerate/versions/1", series: all }, out)
}

/// A run in a sentence: `run 12, linerate test, 2026-11-25 13:05 UTC`; of an import, whose time is
/// not known, without it.
pub fn named(run: &Run) -> String {
    let [id, when, ..] = head(run);
    let command = shown(&run.command);
    let when = if run.command == IMPORT { String::new() } else { format!(", {when} UTC") };
    format!("run {id}, linerate {command}{when}")
}

/// Number, time, hosts and labels.
fn head(run: &Run) -> [String; 4] {
    let when = UtcDateTime::from_unix_timestamp(run.started_millis.div_euclid(1_000));
    let when = when.ok().and_then(|when| when.format(&Rfc3339).ok()).unwrap_or_default();
    let when = if run.command == IMPORT {
        // What is known is when it was added.
        "unknown".to_owned()
    } else {
        when.replace('T', " ").chars().take(MINUTES).collect()
    };
    let between = match (run.host.as_str(), run.peer.as_str()) {
        ("", peer) => peer.to_owned(),
        (host, "") => host.to_owned(),
        (host, peer) => format!("{host} > {peer}"),
    };
    [run.id.to_string(), when, shown(&between), shown(&run.tags.join(" "))]
}

/// A text of a history, which any program may have written, without characters that would break the
/// table or the terminal.
fn shown(text: &str) -> String {
    Foreign::from(text).into_text()
}

fn of_row(row: &RunRow) -> [Cell; 4] {
    let emphasis = match row.stamp {
        Some(Stamp::Invalid) => Emphasis::Bad,
        Some(Stamp::Suspect) => Emphasis::Warning,
        _ => Emphasis::None,
    };
    let stamp = row.stamp.map(|stamp| stamp.to_string()).unwrap_or_default();
    [
        shown(&row.row).into(),
        Cell::new(row.quantity.show(row.value), Emphasis::Strong),
        Cell::new(stamp, emphasis),
        shown(&row.limit).into(),
    ]
}

const HEAD: [&str; 8] =
    ["run", "when (UTC)", "host > server", "row", "result", "stamp", "limit", "tags"];
/// Columns of the table in the order in which they are left out: limit, host > server, tags.
const LEAST_FIRST: [usize; 3] = [6, 2, 7];
/// The command that adds runs of other programs.
const IMPORT: &str = "import";
/// Letters of a time of RFC 3339 up to its minutes.
const MINUTES: usize = 16;
