//! `promises`: runs what shows the promises of SPECIFICATION.md, and says what is kept.
//!
//! SPECIFICATION.md is the list of promises: its column "shown by" names the tasks, between
//! backticks, and behind a task in quotes which of its results count. Nothing is measured here. A
//! kind of task is a file below `promises/kinds` and its line in its registry.

mod kinds;
mod run;
mod specification;
mod table;
mod task;

use std::fs;

use anyhow::{Context, Result, ensure};
use clap::Args;
use linux::clock;
use testbed::environment;

pub(crate) use kinds::task;
pub(crate) use specification::{Show, read};

use crate::generated::{self, File};
use crate::output::say;
use crate::workspace::Workspace;
use run::{Pace, Shown};
use specification::Promise;
use table::Line;
use task::Verdict;

/// Runs what SPECIFICATION.md promises: kept or missed, by how much, against which version
///
/// Fails if a promise is missed and SPECIFICATION.md does not say so.
#[derive(Debug, Default, Args)]
pub(crate) struct Promises {
    /// Only promises of a section, or of tasks that have this in their names, e.g. `speed`,
    /// `"bench pacing"`, `static`
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Only what takes a few seconds: size, memory and wall times, with generous limits of times
    #[arg(long)]
    quick: bool,
    /// List the promises and their tasks, and run none
    #[arg(long)]
    list: bool,
    /// Write what came of them to docs/promises.md
    #[arg(long, conflicts_with_all = ["quick", "list"])]
    write: bool,
}

impl Promises {
    pub(crate) fn run(self) -> Result<String> {
        let workspace = Workspace::find()?;
        let file = workspace.root.join(SPECIFICATION);
        let text = fs::read_to_string(&file).with_context(|| format!("no {}", file.display()))?;
        let promises = read(&text);
        let chosen = self.choose(&promises);
        ensure!(!chosen.is_empty(), "no section and no task has such a name; --list lists them");
        if self.list {
            for (promise, show) in &chosen {
                list(promise, show);
            }
            return Ok(format!("promises: {} of {}", count(&chosen), promises.len()));
        }
        let pace = if self.quick { Pace::Quick } else { Pace::Thorough };
        let shown = run::run(&workspace, &chosen, pace)?;
        if self.write {
            write(&workspace, &promises, &shown)?;
        }
        verdict(&shown)
    }

    fn choose<'a>(&self, promises: &'a [Promise]) -> Vec<(&'a Promise, &'a Show)> {
        let pairs = promises
            .iter()
            .flat_map(|promise| promise.shown_by.iter().map(move |show| (promise, show)));
        pairs.filter(|(promise, show)| self.is_asked(promise, show) && self.fits(show)).collect()
    }

    fn is_asked(&self, promise: &Promise, show: &Show) -> bool {
        let is_it =
            |name: &String| promise.section.eq_ignore_ascii_case(name) || show.span.contains(name);
        self.names.is_empty() || self.names.iter().any(is_it)
    }

    fn fits(&self, show: &Show) -> bool {
        !self.quick || task(&show.span).is_some_and(|task| task.quick.is_some())
    }
}

/// Those of size, memory and wall time, with generous limits of times.
pub(crate) fn quick(_workspace: &Workspace) -> Result<()> {
    say(Promises { quick: true, ..Promises::default() }.run()?);
    Ok(())
}

/// Promises, of which some have several tasks.
fn count(chosen: &[(&Promise, &Show)]) -> usize {
    let mut texts: Vec<_> = chosen.iter().map(|(promise, _)| &promise.text).collect();
    texts.dedup();
    texts.len()
}

fn list(promise: &Promise, show: &Show) {
    let is_quick = task(&show.span).is_some_and(|task| task.quick.is_some());
    let mark = if is_quick { " [quick]" } else { "" };
    say(format!("{}: {}\n    {}{mark}", promise.section, promise.text, table::task_cell(show)));
}

/// Says of each promise what came of it, and fails if one is missed that SPECIFICATION.md makes
/// without reserve.
fn verdict(shown: &[Shown]) -> Result<String> {
    say("");
    shown.iter().for_each(say);
    let of = |verdict| shown.iter().filter(|one| one.verdict() == verdict).count();
    let broken: Vec<_> = shown.iter().filter(|one| one.is_broken()).collect();
    let told = format!(
        "promises: {} kept, {} missed, {} not run",
        of(Verdict::Kept),
        of(Verdict::Missed),
        of(Verdict::NotRun)
    );
    let without = broken.len();
    ensure!(without == 0, "{told}; {without} missed that {SPECIFICATION} makes without reserve");
    Ok(told)
}

fn write(workspace: &Workspace, promises: &[Promise], shown: &[Shown]) -> Result<()> {
    let [kernel, cpu, _] = environment::lines(&[])?;
    let date: String = clock::utc_rfc3339().chars().take(DATE).collect();
    let lines: Vec<Line> = shown.iter().map(|one| one.line(&date)).collect();
    // One that is not there yet says nothing.
    let earlier = fs::read_to_string(workspace.root.join(FILE)).unwrap_or_default();
    let text = table::write(promises, &format!("{kernel}; {cpu}"), &lines, &earlier);
    generated::write(&workspace.root, &[File { path: FILE.to_owned(), text }])
}

const SPECIFICATION: &str = "SPECIFICATION.md";
const FILE: &str = "docs/promises.md";
/// `2026-01-02` of RFC 3339.
const DATE: usize = 10;
