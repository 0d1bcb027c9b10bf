//! `promises`: runs the tasks that show what promises.toml promises, and says what is kept.
//!
//! A promise names its tasks and, where it has a figure, the result that is held against its bound.
//! Nothing is measured here.

mod list;
mod results;
mod task;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use clap::Args;
use linux::clock;
use testbed::environment;
use testbed::program::Installed;

pub(crate) use list::{Promise, read};
pub(crate) use task::Task;

use crate::generated::{self, File};
use crate::output::say;
use crate::workspace::Workspace;
use crate::{packages, static_binary};
use results::Results;
use task::{Course, Found, Verdict};

/// Runs what promises.toml promises: kept or missed, by how much, against which version
///
/// Fails if a promise is missed.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "options of the command line")]
pub(crate) struct Promises {
    /// Only promises of a section, or that have this in their names or those of their tasks, e.g.
    /// `speed`, `"bench pacing"`, `static`
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Only what takes a few seconds: size, memory and wall times, with generous limits of times
    #[arg(long, conflicts_with = "names")]
    quick: bool,
    /// List the promises and their tasks, and run none
    #[arg(long, conflicts_with = "quick")]
    list: bool,
    /// Write the results to the column of this machine in docs/promises.md
    #[arg(long, conflicts_with_all = ["quick", "list"])]
    write: bool,
    /// Write SPECIFICATION.md, and run none
    #[arg(long, conflicts_with_all = ["names", "quick", "list", "write"])]
    specification: bool,
}

/// A promise and one of its tasks.
type Pair<'a> = (&'a Promise, &'a str);

impl Promises {
    pub(crate) fn run(self) -> Result<String> {
        let workspace = Workspace::find()?;
        if self.specification {
            generated::write(&workspace.root, &[specification(&workspace.root)?])?;
            return Ok("promises: SPECIFICATION.md written".to_owned());
        }
        if self.quick {
            return quick(&workspace).map(|()| "promises: the quick ones are kept".to_owned());
        }
        let list = load(&workspace.root)?;
        let chosen: Vec<Pair<'_>> = list.pairs().filter(|pair| self.is_asked(pair)).collect();
        ensure!(!chosen.is_empty(), "no promise and no task has such a name; --list lists them");
        if self.list {
            for (promise, task) in &chosen {
                say(format!("{promise}\n    {task}"));
            }
            let count = chosen.chunk_by(|(one, _), (other, _)| one.id == other.id).count();
            return Ok(format!("promises: {count} of {}", list.promises().count()));
        }
        let shown = run(&workspace, &chosen)?;
        if self.write {
            let [kernel, cpu, _] = environment::lines(&[])?;
            let file = workspace.root.join(RESULTS);
            let mut results = Results::read(&fs::read_to_string(&file).unwrap_or_default());
            let day: String = clock::utc_rfc3339().chars().take(DAY).collect();
            let ran = shown.iter().filter(|one| one.verdict() != Verdict::NotRun);
            let cells = ran.map(|one| (one.promise.id.as_str(), one.task, one.cell(&day)));
            results.add(&format!("{kernel}; {cpu}"), cells);
            let text = results.write(&list);
            generated::write(&workspace.root, &[File { path: RESULTS.to_owned(), text }])?;
        }
        verdict(&shown)
    }

    fn is_asked(&self, (promise, task): &Pair<'_>) -> bool {
        let is_it = |name: &String| {
            promise.section.eq_ignore_ascii_case(name)
                || promise.id.contains(name)
                || task.contains(name)
        };
        self.names.is_empty() || self.names.iter().any(is_it)
    }
}

/// Fails if SPECIFICATION.md is not what promises.toml says.
pub(crate) fn check(root: &Path) -> Result<()> {
    generated::check(root, &[specification(root)?], "promises --specification")
}

/// The results of tasks about size, memory and wall time, with generous limits of times.
pub(crate) fn quick(workspace: &Workspace) -> Result<()> {
    packages::provide(&packages::TESTS)?;
    let mut missed = Vec::new();
    for (name, words, allowance) in QUICK {
        let mut command = Task::new(name).command(workspace)?;
        command.args(words);
        if name.starts_with("bench") {
            let binary = static_binary::built(workspace).context("there is no static file")?;
            command.arg("--linerate").arg(binary);
        }
        let found = Course::listen(&mut command)?.found(&Promise::default(), allowance);
        missed.extend(found.into_iter().filter(|one| one.verdict == Verdict::Missed));
    }
    let missed: Vec<_> = missed.iter().map(|one| one.text.as_str()).collect();
    ensure!(missed.is_empty(), "promises missed: {}", missed.join("; "));
    Ok(())
}

fn load(root: &Path) -> Result<list::List> {
    let text =
        fs::read_to_string(root.join(LIST)).with_context(|| format!("cannot read {LIST}"))?;
    read(&text).with_context(|| format!("cannot parse {LIST}"))
}

fn specification(root: &Path) -> Result<File> {
    let text = load(root)?.specification();
    Ok(File { path: "SPECIFICATION.md".to_owned(), text })
}

/// What one task says of a promise.
struct Shown<'a> {
    promise: &'a Promise,
    task: &'a str,
    found: Vec<Found>,
    /// Names and versions of the programs that it was compared with.
    against: String,
}

/// Runs each task once, however many promises it shows.
fn run<'a>(workspace: &Workspace, chosen: &[Pair<'a>]) -> Result<Vec<Shown<'a>>> {
    let there = PEERS.iter().filter(|name| packages::is_there(name));
    let peers = there.filter_map(|name| Installed::find(name).ok()).map(|peer| peer.name);
    let peers: Vec<String> = peers.collect();
    let mut courses: Vec<(&str, Course)> = Vec::new();
    for (_, name) in chosen {
        if courses.iter().all(|(known, _)| known != name) {
            say(format!("\n-- {name}"));
            courses.push((*name, Task::new(name).run(workspace)?));
        }
    }
    let shown = chosen.iter().filter_map(|&(promise, task)| {
        let (_, course) = courses.iter().find(|(name, _)| *name == task)?;
        let (found, against) = (course.found(promise, 1.0), course.names(&peers));
        Some(Shown { promise, task, found, against })
    });
    Ok(shown.collect())
}

/// Shows the result of each promise, and fails if one is missed.
fn verdict(shown: &[Shown<'_>]) -> Result<String> {
    say("");
    for one in shown {
        say(format!("{}: {} [{}]\n    {}", one.verdict(), one.promise.id, one.task, one.told()));
    }
    let of = |verdict| shown.iter().filter(|one| one.verdict() == verdict).count();
    let missed = of(Verdict::Missed);
    let text = format!(
        "promises: {} kept, {missed} missed, {} not run",
        of(Verdict::Kept),
        of(Verdict::NotRun)
    );
    ensure!(missed == 0, "{text}");
    Ok(text)
}

impl Shown<'_> {
    /// The worst of its results.
    fn verdict(&self) -> Verdict {
        self.found.iter().map(|one| one.verdict).max().unwrap_or(Verdict::NotRun)
    }

    /// The results that decide, and the programs compared with.
    fn told(&self) -> String {
        let decides = |one: &&Found| one.verdict == self.verdict();
        let texts: Vec<_> =
            self.found.iter().filter(decides).map(|one| one.text.as_str()).collect();
        let others = match self.found.len() - texts.len() {
            0 => String::new(),
            others => format!(" ({others} kept)"),
        };
        let against = match self.against.as_str() {
            "" => String::new(),
            names => format!(" (against {names})"),
        };
        format!("{}{others}{against}", texts.join("; "))
    }

    fn cell(&self, day: &str) -> String {
        // The separator of cells.
        format!("{} {day}: {}", self.verdict(), self.told()).replace('|', "/")
    }
}

const LIST: &str = "promises.toml";
const RESULTS: &str = "docs/promises.md";
/// Length of `2026-01-02` in RFC 3339.
const DAY: usize = 10;
/// What benches compare with, as far as it is installed.
const PEERS: [&str; 4] = ["iperf3", "iperf", "sockperf", "netperf"];
/// Tasks of a few seconds, their further words, and the factor on their limits: a time depends on
/// what else the machine does. The static file is built before benches run it.
const QUICK: [(&str, &[&str], f64); 4] = [
    ("schema --check", &[], 1.0),
    ("static", &[], 1.0),
    ("bench", &["--quick"], 4.0),
    ("bench memory", &["--time", "1"], 1.0),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_results_decide() {
        let promise = Promise::default();
        let found = |text: &str, verdict| Found { text: text.to_owned(), verdict };
        let shown = Shown {
            promise: &promise,
            task: "bench",
            found: vec![found("x 1", Verdict::Kept), found("y | 2", Verdict::Missed)],
            against: "iperf 3.12".to_owned(),
        };
        let cell = "missed 2026-01-02: y / 2 (1 kept) (against iperf 3.12)";
        assert_eq!(shown.cell("2026-01-02"), cell);
        assert!(verdict(&[shown]).is_err());
    }
}
