//! `linerate history`, and the choice among the commands on the history.

use std::collections::BTreeMap;
use std::process::ExitCode;

use campaign::Point;
use measurement::comparison::Versions;
use measurement::{Quantity, Run, RunRow, Stamp};
use store::{Filter, Keep};

use super::kept;
use crate::flags::{By, HistoryFlags, PastCommand};
use crate::{history, output, terminal};

/// Does what a command on the history says.
pub(crate) fn past(command: PastCommand) -> anyhow::Result<ExitCode> {
    match command {
        PastCommand::History(flags) => run(&flags),
        PastCommand::Show(flags) => kept::show(&flags),
        PastCommand::Tag(flags) => kept::tag(&flags),
        PastCommand::Export(flags) => kept::export(&flags),
    }
}

fn run(flags: &HistoryFlags) -> anyhow::Result<ExitCode> {
    let now_millis = linux::clock::realtime_millis();
    if let Some(keep) = flags.keep {
        return prune(flags, keep, now_millis);
    }
    let usual = if flags.by.is_some() { None } else { Some(USUAL_RUNS) };
    let filter = Filter {
        host: flags.host.clone(),
        since_millis: flags.since.map(|since| since.millis(now_millis)),
        tag: flags.tag.clone(),
        row: flags.row.clone(),
        most: flags.most.or(usual),
    };
    let runs = history::read(flags.file.path())?.runs(&filter)?;
    if runs.is_empty() && !flags.json {
        output::print_text(nothing(flags).as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = Vec::new();
    match (flags.by, flags.json) {
        (Some(by), true) => report::history::write_versions_json(&series(&runs, by), &mut text)?,
        (None, true) => report::history::write_json(&runs, &mut text)?,
        (Some(by), false) => {
            let series = series(&runs, by);
            output::print_table(|out| {
                report::history::write_versions(&series, terminal::room(), out)
            })?;
        }
        (None, false) => {
            output::print_table(|out| report::history::write(&runs, terminal::room(), out))?;
        }
    }
    output::print_text(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// What was looked for in vain.
fn nothing(flags: &HistoryFlags) -> String {
    let asked = [
        flags.host.as_ref().map(|host| format!("--host {host}")),
        flags.since.map(|_| "--since".to_owned()),
        flags.tag.as_ref().map(|tag| format!("--tag {tag}")),
        flags.row.as_ref().map(|row| format!("--row '{row}'")),
    ];
    let asked = asked.into_iter().flatten().collect::<Vec<_>>().join(" ");
    if asked.is_empty() {
        "the history has no run: linerate test HOST\n".to_owned()
    } else {
        format!("no run is there with {asked}: linerate history lists all\n")
    }
}

fn prune(flags: &HistoryFlags, keep: Keep, now_millis: u64) -> anyhow::Result<ExitCode> {
    let count = history::open(flags.file.path())?.prune(keep, now_millis)?;
    let runs = if count == 1 { "run" } else { "runs" };
    output::print_text(format!("{count} {runs} deleted\n").as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The rows of all runs, each with its versions; runs come the latest first.
fn series(runs: &[Run], by: By) -> Vec<Versions> {
    let mut all: BTreeMap<(String, Quantity), Vec<Point>> = BTreeMap::new();
    let rows = runs.iter().rev().flat_map(|run| run.rows.iter().map(move |row| (run, row)));
    for (run, row) in rows.filter(|(_, row)| counts(row)) {
        let name = format!("{}{}, {} > {}", row.row, settings(row), run.host, run.peer);
        all.entry((name, row.quantity)).or_default().push(Point {
            version: version(run, by).to_owned(),
            value: row.value,
            is_suspect: row.stamp == Some(Stamp::Suspect),
        });
    }
    let by_version = |((name, quantity), points): ((_, _), Vec<_>)| {
        campaign::by_version(name, quantity, &points)
    };
    all.into_iter().map(by_version).collect()
}

/// What the plan of a row asked for: runs of different plans are of different series.
fn settings(row: &RunRow) -> String {
    if row.settings.is_empty() { String::new() } else { format!(", {}", row.settings) }
}

fn counts(row: &RunRow) -> bool {
    row.stamp != Some(Stamp::Invalid) && row.value > 0.0
}

fn version(run: &Run, by: By) -> &str {
    match by {
        By::Kernel => &run.kernel,
        By::Driver => &run.driver,
        By::Firmware => &run.firmware,
        By::Linerate => &run.linerate,
    }
}

/// Without a filter.
const USUAL_RUNS: u32 = 20;
