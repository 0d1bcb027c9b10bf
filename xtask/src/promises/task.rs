//! What shows a promise: a command, and what is read from the lines that it prints.

use std::env;
use std::fmt::{self, Display, Formatter};
use std::process::Command;

use anyhow::Result;
use testbed::promise::Outcome;

use crate::workspace::Workspace;
use crate::{command, static_binary};

/// A command of this project that shows promises.
pub(crate) struct Task {
    /// As SPECIFICATION.md names it.
    pub(super) name: String,
    /// Who runs it.
    pub(super) program: Program,
    /// The command without its program.
    pub(super) words: Vec<String>,
    /// How it is run while somebody waits; none: it takes longer than that.
    pub(super) quick: Option<Quick>,
    /// What its lines say.
    pub(super) read: fn(&Course) -> Vec<Found>,
    /// Files or folders that it stands in.
    pub(crate) files: Vec<String>,
}

/// Who runs a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// This program, in a process of its own: a task may have to enter a user namespace.
    Xtask,
    /// `cargo`.
    Cargo,
}

/// How a task is run in a few seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Quick {
    /// Further words.
    pub(super) words: &'static [&'static str],
    /// Whether it is told to run the static file, which is built by then.
    pub(super) takes_static: bool,
    /// How much more generous limits are: others may use the machine.
    pub(super) allowance: f64,
}

/// How a task went.
#[derive(Debug)]
pub(super) struct Course {
    /// Whether it ended well.
    pub(super) succeeded: bool,
    /// What it printed.
    pub(super) lines: Vec<String>,
    /// How much more generous limits are.
    pub(super) allowance: f64,
}

/// A result of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// What was held against what.
    pub(super) text: String,
    /// What came of it.
    pub(super) verdict: Verdict,
}

/// What came of a promise; of several the last one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    /// It holds.
    Kept,
    /// Nobody knows.
    NotRun,
    /// It does not hold.
    Missed,
}

impl Task {
    /// A task of this program: `cargo xtask` and its words.
    pub(super) fn of_xtask(
        span: &str,
        first: &str,
        read: fn(&Course) -> Vec<Found>,
    ) -> Option<Self> {
        let words: Vec<String> =
            span.strip_prefix("cargo xtask ")?.split_whitespace().map(str::to_owned).collect();
        (words.first()? == first).then(|| Self {
            name: span.to_owned(),
            program: Program::Xtask,
            words,
            quick: None,
            read,
            files: Vec::new(),
        })
    }

    /// What has to be filled in by hand before it can be run, e.g. `DIR`.
    fn placeholder(&self) -> Option<&str> {
        let is_open = |word: &&String| word.bytes().all(|byte| byte.is_ascii_uppercase());
        self.words.iter().find(is_open).map(String::as_str)
    }

    /// Runs it, shows what it prints, and reads its results.
    pub(super) fn run(&self, workspace: &Workspace, quick: Option<Quick>) -> Result<Course> {
        let allowance = quick.map_or(1.0, |quick| quick.allowance);
        let not_run = |why: &str| {
            let lines = vec![format!("not run, since {why}")];
            Ok(Course { succeeded: true, lines, allowance })
        };
        if let Some(word) = self.placeholder() {
            return not_run(&format!("{word} is to be filled in by hand"));
        }
        let mut command = match self.program {
            Program::Xtask => Command::new(env::current_exe()?),
            Program::Cargo => command::cargo(Vec::<String>::new()),
        };
        command.args(&self.words).current_dir(&workspace.root);
        if let Some(quick) = quick {
            command.args(quick.words);
            if quick.takes_static {
                let Some(binary) = static_binary::built(workspace) else {
                    return not_run("there is no static file");
                };
                command.arg("--linerate").arg(binary);
            }
        }
        let (succeeded, lines) = command::listen(&mut command)?;
        Ok(Course { succeeded, lines, allowance })
    }
}

impl Course {
    /// The promises of a bench, each a line; the end of the task, if there is none.
    pub(super) fn outcomes(&self) -> Vec<Found> {
        let outcomes = self.lines.iter().filter_map(|line| Outcome::parse(line));
        self.or_by_its_end(outcomes.map(|one| Found::of(&one.allowing(self.allowance))).collect())
    }

    /// The end of the task is its result.
    pub(super) fn end(&self) -> Found {
        let spoken = self.lines.iter().rev().map(|line| line.trim());
        let text = spoken.clone().find(|line| !line.is_empty()).unwrap_or("it said nothing");
        let verdict = match self.succeeded {
            false => Verdict::Missed,
            true if text.contains("not run, since") => Verdict::NotRun,
            true => Verdict::Kept,
        };
        Found { text: text.to_owned(), verdict }
    }

    /// A task that failed has missed something, also if no result says so.
    pub(super) fn or_by_its_end(&self, mut found: Vec<Found>) -> Vec<Found> {
        let tells = found.iter().any(|one| one.verdict == Verdict::Missed);
        if found.is_empty() || (!self.succeeded && !tells) {
            found.push(self.end());
        }
        found
    }
}

impl Found {
    /// A number and its limit, with what lies between them.
    fn of(outcome: &Outcome) -> Self {
        let verdict = if outcome.kept() { Verdict::Kept } else { Verdict::Missed };
        let shown = outcome.to_string();
        let text = shown.split_once(": ").map_or(shown.as_str(), |(_, rest)| rest);
        let margin = outcome.margin().map_or_else(String::new, |margin| {
            let side = if margin < 0.0 { "beyond" } else { "inside" };
            // While others may use the machine.
            let generous =
                if margin < 0.0 && outcome.kept() { ", of which more is allowed" } else { "" };
            format!(", {:.0} % {side} the limit{generous}", margin.abs())
        });
        Self { text: format!("{text}{margin}"), verdict }
    }
}

impl Display for Verdict {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kept => "kept",
            Self::NotRun => "not run",
            Self::Missed => "missed",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(succeeded: bool, lines: &[&str]) -> Course {
        let lines = lines.iter().map(|line| (*line).to_owned()).collect();
        Course { succeeded, lines, allowance: 1.0 }
    }

    #[test]
    fn a_bench_tells_how_far_each_number_is_from_its_limit() {
        let lines =
            ["| table |", "MISSED: x >= 2.00 y: 1.50", "kept: z <= 8: 6.00", "bench: 1 of 2"];
        let found = course(true, &lines).outcomes();
        let told: Vec<_> = found.iter().map(|one| (one.text.as_str(), one.verdict)).collect();
        assert_eq!(
            told,
            [
                ("x >= 2.00 y: 1.50, 25 % beyond the limit", Verdict::Missed),
                ("z <= 8: 6.00, 25 % inside the limit", Verdict::Kept),
            ]
        );
    }

    #[test]
    fn a_task_that_fails_has_missed_something() {
        let found = course(false, &["kept: z <= 8: 6.00", "error: no iperf3", ""]).outcomes();
        assert_eq!(found.len(), 2);
        assert_eq!(
            found[1],
            Found { text: "error: no iperf3".to_owned(), verdict: Verdict::Missed }
        );
    }

    #[test]
    fn what_cannot_be_run_here_is_neither_kept_nor_missed() {
        let end = course(true, &["proof: not run, since no hosts can be made here: no"]).end();
        assert_eq!(end.verdict, Verdict::NotRun);
        assert!(Verdict::Missed > Verdict::NotRun && Verdict::NotRun > Verdict::Kept);
    }
}
