//! Runs the tasks that were chosen, each once, and tells which promises hold by them.

use std::fmt::{self, Display, Formatter};

use anyhow::Result;
use testbed::program::Installed;

use super::specification::{Promise, Show};
use super::table::{self, Line};
use super::task::{Course, Found, Task, Verdict};
use crate::output::say;
use crate::packages;
use crate::workspace::Workspace;

/// How thoroughly tasks are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// In a few seconds each.
    Quick,
    /// As they are.
    Thorough,
}

/// What one task says of a promise.
pub(super) struct Shown<'a> {
    promise: &'a Promise,
    show: &'a Show,
    /// The results that count for it.
    found: Vec<Found>,
    /// Names and versions of the programs that it was compared with.
    against: String,
}

/// Runs each task once, however many promises it shows.
pub(super) fn run<'a>(
    workspace: &Workspace,
    chosen: &[(&'a Promise, &'a Show)],
    pace: Pace,
) -> Result<Vec<Shown<'a>>> {
    let peers = peers();
    let mut done: Vec<(&str, Vec<Found>, String)> = Vec::new();
    for task in tasks(chosen) {
        say(format!("\n-- {}", task.1.name));
        let quick = task.1.quick.filter(|_| pace == Pace::Quick);
        let course = task.1.run(workspace, quick)?;
        done.push((task.0, (task.1.read)(&course), against(&course, &peers)));
    }
    let shown = chosen.iter().filter_map(|&(promise, show)| {
        let (_, found, against) = done.iter().find(|(span, ..)| *span == show.span)?;
        Some(Shown { promise, show, found: wanted(show, found), against: against.clone() })
    });
    Ok(shown.collect())
}

/// The tasks; what is built by one and used by others comes first.
fn tasks<'a>(chosen: &[(&'a Promise, &'a Show)]) -> Vec<(&'a str, Task)> {
    let mut spans: Vec<&str> = Vec::new();
    for (_, show) in chosen {
        if !spans.contains(&show.span.as_str()) {
            spans.push(&show.span);
        }
    }
    let named = |span: &'a str| Some((span, super::task(span)?));
    let mut tasks: Vec<_> = spans.into_iter().filter_map(named).collect();
    tasks.sort_by_key(|(_, task)| task.quick.is_some_and(|quick| quick.takes_static));
    tasks
}

/// The results that count for a promise; that there are none is one.
fn wanted(show: &Show, found: &[Found]) -> Vec<Found> {
    let failed = |one: &&Found| one.verdict == Verdict::Missed && one.text.starts_with("error: ");
    let chosen = found.iter().filter(|one| show.wants(&one.text) || failed(one));
    let chosen: Vec<_> = chosen.cloned().collect();
    if chosen.is_empty() {
        let text = format!("no result with {}", show.choice.join(" or "));
        return vec![Found { text, verdict: Verdict::NotRun }];
    }
    chosen
}

/// Names and versions of the programs that this machine has to compare with.
fn peers() -> Vec<String> {
    let is_there = |name: &&&str| packages::is_there(name);
    let there = PEERS.iter().filter(is_there).filter_map(|name| Installed::find(name).ok());
    there.map(|installed| installed.name).collect()
}

/// Those that a task speaks of.
fn against(course: &Course, peers: &[String]) -> String {
    let speaks = |peer: &&String| course.lines.iter().any(|line| line.contains(peer.as_str()));
    peers.iter().filter(speaks).cloned().collect::<Vec<_>>().join(", ")
}

impl Shown<'_> {
    /// The worst of its results.
    pub(super) fn verdict(&self) -> Verdict {
        self.found.iter().map(|one| one.verdict).max().unwrap_or(Verdict::NotRun)
    }

    /// Whether it is missed, and SPECIFICATION.md does not say so.
    pub(super) fn is_broken(&self) -> bool {
        self.verdict() == Verdict::Missed && !self.promise.has_reserve()
    }

    /// Its line of the file.
    pub(super) fn line(&self, date: &str) -> Line {
        Line {
            promise: self.promise.text.clone(),
            task: table::task_cell(self.show),
            // The separator of cells.
            result: format!("{}: {}", self.verdict(), self.told()).replace('|', "/"),
            against: self.against.clone(),
            date: date.to_owned(),
        }
    }

    /// What decides: all that is missed or not run, or the results themselves.
    fn told(&self) -> String {
        let verdict = self.verdict();
        let same = self.found.iter().filter(|one| one.verdict == verdict);
        let texts: Vec<&str> = same.map(|one| one.text.as_str()).collect();
        let others = self.found.len() - texts.len();
        let others = if others > 0 { format!(" ({others} kept)") } else { String::new() };
        format!("{}{others}", texts.join("; "))
    }
}

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let begin: String = self.promise.text.chars().take(BEGIN).collect();
        let task = table::task_cell(self.show);
        write!(f, "{}: {begin} [{task}]\n    {}", self.verdict(), self.told())?;
        if !self.against.is_empty() {
            write!(f, "\n    against {}", self.against)?;
        }
        if self.is_broken() {
            write!(f, "\n    SPECIFICATION.md makes it without reserve")?;
        }
        let keeps_all = self.verdict() == Verdict::Kept && self.promise.has_reserve();
        if keeps_all {
            write!(f, "\n    SPECIFICATION.md says that something of it is not kept")?;
        }
        Ok(())
    }
}

/// What benches compare with, as far as it is installed.
const PEERS: [&str; 4] = ["iperf3", "iperf", "sockperf", "netperf"];
/// How many characters of a promise stand on a terminal.
const BEGIN: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::specification;

    fn found(text: &str, verdict: Verdict) -> Found {
        Found { text: text.to_owned(), verdict }
    }

    const SPECIFICATION: &str = "## A\n| one | `cargo xtask bench` (\"x\") |\n\
        | two, not kept yet | `cargo xtask static`, `cargo xtask bench` |\n";

    #[test]
    fn each_task_is_run_once() {
        let promises = specification::read(SPECIFICATION);
        let pairs =
            promises.iter().flat_map(|one| one.shown_by.iter().map(move |show| (one, show)));
        let tasks = tasks(&pairs.collect::<Vec<_>>());
        let names: Vec<_> = tasks.iter().map(|(span, _)| *span).collect();
        assert_eq!(names, ["cargo xtask static", "cargo xtask bench"]);
    }

    #[test]
    fn only_its_own_results_count_for_a_promise() {
        let promises = specification::read(SPECIFICATION);
        let all = [found("x 1", Verdict::Kept), found("y 2", Verdict::Missed)];
        let of = |promise: &'static str| {
            let promise = promises.iter().find(|one| one.text == promise).expect("a row");
            let show = promise.shown_by.last().expect("a task");
            Shown { promise, show, found: wanted(show, &all), against: String::new() }
        };
        assert_eq!((of("one").verdict(), of("one").told().as_str()), (Verdict::Kept, "x 1"));
        let two = of("two, not kept yet");
        assert_eq!((two.verdict(), two.told().as_str()), (Verdict::Missed, "y 2 (1 kept)"));
        assert!(!two.is_broken());
        let nothing = wanted(&promises[0].shown_by[0], &all[1..]);
        assert_eq!(nothing[0].verdict, Verdict::NotRun);
    }
}
