//! The history: kills of its writers, and how long it takes to answer when it is large.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use rusqlite::Connection;
use store::{About, Store};
use testbed::process::wall_time;
use testbed::promise::Outcome;
use testbed::spread::median;

use crate::command;
use crate::hosts::{self, UnderTest};
use crate::output::say;
use crate::workspace::Workspace;

/// Kills writers, and asks a large history.
pub(super) fn run(under_test: &UnderTest) -> Result<String> {
    let workspace = Workspace::find()?;
    let kills = if under_test.short { 50 } else { 1_000 };
    kill(&workspace, kills)?;
    let folder = std::env::temp_dir().join(format!("linerate-proof-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let asked = ask(under_test, &workspace, &folder.join("history.db"));
    fs::remove_dir_all(&folder)?;
    Ok(format!("proof store: {kills} kills, every run whole; {}", asked?))
}

/// The test of kills, with more of them.
fn kill(workspace: &Workspace, kills: u32) -> Result<()> {
    let name = "a_writer_that_is_killed_leaves_every_run_whole";
    let mut test = command::cargo(["test", "--package", "linerate-store", "--test", "crash"]);
    test.args(["--", "--exact", name, "--nocapture"]);
    command::run(test.env("LINERATE_TEST_KILLS", kills.to_string()).current_dir(&workspace.root))
}

/// How long the last runs, and those of filters, take in a history of that size.
fn ask(under_test: &UnderTest, workspace: &Workspace, file: &Path) -> Result<String> {
    let bytes = if under_test.short { 20 << 20 } else { 1_u64 << 30 };
    let runs = fill(workspace, file, bytes)?;
    let megabytes = fs::metadata(file)?.len() as f64 / 1e6;
    say(format!("{runs} runs, {megabytes:.0} MB"));
    for words in ["--by kernel --row=UDP", "--row=TCP", "--host=nobody", "--since=2026-01-01"] {
        say(format!("history {words}: {:.1} ms", time(under_test, file, words)? * 1e3));
    }
    let took = time(under_test, file, "")? * 1e3;
    let text = format!("linerate history of {megabytes:.0} MB <= 100 ms");
    let outcome = Outcome::new(text, Some(took));
    say(&outcome);
    anyhow::ensure!(outcome.kept(), "linerate history took {took:.1} ms");
    Ok(format!("linerate history of {runs} runs, {megabytes:.0} MB, in {took:.1} ms"))
}

/// Middle of several times, in seconds.
fn time(under_test: &UnderTest, file: &Path, words: &str) -> Result<f64> {
    let once = || {
        let mut history = Command::new(&under_test.program);
        hosts::clean(&mut history);
        history.args(["history", "--store"]).arg(file).args(words.split_whitespace());
        wall_time(history)
    };
    let times: Result<Vec<Duration>> = (0..ROUNDS).map(|_| once()).collect();
    median(times?.iter().map(Duration::as_secs_f64)).context("no time")
}

/// Keeps a few runs, and multiplies them until the file has so many bytes; the number of runs.
fn fill(workspace: &Workspace, file: &Path, bytes: u64) -> Result<i64> {
    let text = fs::read(workspace.root.join("crates/report/tests/records/four-rows.json"))?;
    let mut set = report::import::record::read(&text)?;
    let mut store = Store::open(file)?;
    for number in 0..DIFFERENT {
        for record in &mut set.records {
            let environment = record.environment.as_mut().context("no environment")?;
            environment.started_at =
                format!("2026-11-{:02}T{:02}:00:00Z", 1 + number / 24, number % 24);
            environment.kernel = format!("6.{}", number / 48);
        }
        store.keep(&set, About { command: "test", now_millis: 0 })?;
    }
    drop(store);
    let connection = Connection::open(file)?;
    let mut all = i64::from(DIFFERENT);
    while fs::metadata(file)?.len() < bytes {
        for sql in DOUBLE {
            connection.execute(sql, [all])?;
        }
        all *= 2;
        connection.pragma_update(None, "wal_checkpoint", "TRUNCATE")?;
    }
    Ok(all)
}

/// As many runs once more, earlier by an hour for each of the first ones.
const DOUBLE: [&str; 3] = [
    "INSERT INTO run SELECT id + ?1, started_millis - 3600000 * ?1, command, host, peer FROM run",
    "INSERT INTO row SELECT run + ?1, position, title, quantity, value, stamp, bottleneck, settings \
     FROM row",
    "INSERT INTO record SELECT run + ?1, json FROM record",
];
const DIFFERENT: u32 = 240;
const ROUNDS: u32 = 15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_multiplied_with_all_columns() {
        let folder = std::env::temp_dir().join(format!("linerate-fill-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let runs =
            fill(&Workspace::find().expect("the workspace"), &folder.join("runs.db"), 8 << 20);
        fs::remove_dir_all(&folder).expect("removed");
        let runs = runs.expect("filled");
        assert!(runs > i64::from(DIFFERENT), "{runs}");
    }
}
