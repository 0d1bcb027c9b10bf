//! What shows a promise: a command, and the results in the lines that it prints.

use std::env;
use std::fmt::{self, Display, Formatter};
use std::process::Command;

use anyhow::Result;
use testbed::promise::Outcome;

use super::Promise;
use crate::command;
use crate::workspace::Workspace;

/// A task of this program, as its words, or a file or folder of tests, as its path.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a>(&'a str);

/// How a task went.
#[derive(Debug)]
pub(super) struct Course {
    /// Whether it ended well.
    succeeded: bool,
    lines: Vec<String>,
}

/// A result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) text: String,
    pub(super) verdict: Verdict,
}

/// What a result means for a promise; of several the last one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    Kept,
    NotRun,
    Missed,
}

impl<'a> Task<'a> {
    pub(crate) fn new(name: &'a str) -> Self {
        Self(name)
    }

    /// The path of its tests. `None`: it is a task of this program.
    pub(crate) fn path(self) -> Option<&'a str> {
        (self.0.contains('/') && !self.0.contains(' ')).then_some(self.0)
    }

    /// The command that runs it.
    pub(super) fn command(self, workspace: &Workspace) -> Result<Command> {
        let mut command = match self.path() {
            Some(path) => command::cargo(tests(path)),
            // In a process of its own: a task may have to enter a user namespace.
            None => Command::new(env::current_exe()?),
        };
        if self.path().is_none() {
            command.args(self.0.split_whitespace());
        }
        command.current_dir(&workspace.root);
        Ok(command)
    }

    /// Runs it, unless a word such as `DIR` has to be filled in by hand.
    pub(super) fn run(self, workspace: &Workspace) -> Result<Course> {
        let is_open = |word: &&str| word.bytes().all(|byte| byte.is_ascii_uppercase());
        match self.0.split_whitespace().find(is_open) {
            Some(word) => {
                let line = format!("not run, since {word} is to be filled in by hand");
                Ok(Course { succeeded: true, lines: vec![line] })
            }
            None => Course::listen(&mut self.command(workspace)?),
        }
    }
}

/// The words for cargo that run the tests of a path, e.g. `crates/host/tests/tuned`.
fn tests(path: &str) -> Vec<String> {
    let parts: Vec<&str> = path.trim_end_matches(".rs").split('/').collect();
    let (package, place) = parts.split_at(parts.len().min(2));
    let mut words =
        vec!["test".to_owned(), format!("--manifest-path={}/Cargo.toml", package.join("/"))];
    let features = FEATURES.iter().filter(|(folder, _)| package.ends_with(&[*folder]));
    words.extend(features.map(|(_, feature)| format!("--features={feature}")));
    let modules = match place {
        ["tests"] => return [words, vec!["--tests".to_owned()]].concat(),
        ["tests", target, modules @ ..] => {
            words.push(format!("--test={target}"));
            modules
        }
        [_, modules @ ..] if package.ends_with(&["cli"]) => {
            words.push("--bins".to_owned());
            modules
        }
        modules => {
            words.push("--lib".to_owned());
            modules.get(1..).unwrap_or_default()
        }
    };
    let modules: Vec<_> = modules.iter().filter(|name| **name != "tests").copied().collect();
    if !modules.is_empty() {
        words.extend(["--".to_owned(), format!("{}::", modules.join("::"))]);
    }
    words
}

impl Course {
    /// Runs a command, and shows what it prints.
    pub(super) fn listen(command: &mut Command) -> Result<Self> {
        let (succeeded, lines) = command::listen(command)?;
        Ok(Self { succeeded, lines })
    }

    /// The results that count for a promise, by limits that are `allowance` times as generous; the
    /// end of the task, if there are no results or it failed for another reason.
    pub(super) fn found(&self, promise: &Promise, allowance: f64) -> Vec<Found> {
        let all: Vec<_> =
            self.lines.iter().filter_map(|line| Found::read(line, allowance)).collect();
        let is_told = all.iter().any(|one| one.verdict == Verdict::Missed);
        let is_end = all.is_empty() || (!self.succeeded && !is_told);
        let mut found: Vec<_> = all.into_iter().filter(|one| promise.counts(&one.text)).collect();
        if is_end {
            found.push(self.end());
        } else if found.is_empty() {
            let text = format!("no result with {} {}", promise.result, promise.limit());
            found.push(Found { text, verdict: Verdict::NotRun });
        }
        found
    }

    /// The number of tests that passed, or else the last line.
    fn end(&self) -> Found {
        let results = self.lines.iter().filter_map(|line| line.strip_prefix("test result: ok. "));
        let counts = results.filter_map(|rest| rest.split_once(" passed")?.0.parse::<u32>().ok());
        let passed = counts.reduce(|sum, count| sum + count).filter(|_| self.succeeded);
        let mut spoken = self.lines.iter().rev().map(|line| line.trim());
        let last = spoken.find(|line| !line.is_empty()).unwrap_or("it said nothing");
        match passed {
            Some(0) => Found { text: "no test ran".to_owned(), verdict: Verdict::Missed },
            Some(count) => Found { text: format!("{count} tests passed"), verdict: Verdict::Kept },
            None if !self.succeeded => Found { text: last.to_owned(), verdict: Verdict::Missed },
            None => {
                let is_run = !last.contains("not run, since");
                let verdict = if is_run { Verdict::Kept } else { Verdict::NotRun };
                Found { text: last.to_owned(), verdict }
            }
        }
    }

    /// Those of the programs that its lines name.
    pub(super) fn names(&self, programs: &[String]) -> String {
        let is_named = |name: &&String| self.lines.iter().any(|line| line.contains(name.as_str()));
        programs.iter().filter(is_named).cloned().collect::<Vec<_>>().join(", ")
    }
}

impl Found {
    /// The result in a line: a number with its limit, or a case that went wrong.
    fn read(line: &str, allowance: f64) -> Option<Self> {
        if let Some(outcome) = Outcome::parse(line) {
            return Some(Self::of(&outcome.allowing(allowance)));
        }
        let text = line.strip_prefix("WRONG ")?.trim().to_owned();
        Some(Self { text, verdict: Verdict::Missed })
    }

    /// A number and its limit, with their distance.
    fn of(outcome: &Outcome) -> Self {
        let verdict = if outcome.kept() { Verdict::Kept } else { Verdict::Missed };
        let shown = outcome.to_string();
        let text = shown.split_once(": ").map_or(shown.as_str(), |(_, rest)| rest);
        let margin = outcome.margin().map_or_else(String::new, |margin| {
            let side = if margin < 0.0 { "beyond" } else { "inside" };
            format!(", {:.0} % {side} the limit", margin.abs())
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

/// Features without which some tests of a package are not built.
const FEATURES: [(&str, &str); 1] = [("mars", "tasks")];

#[cfg(test)]
mod tests {
    use super::*;

    fn course(succeeded: bool, lines: &[&str]) -> Course {
        Course { succeeded, lines: lines.iter().map(|line| (*line).to_owned()).collect() }
    }

    #[test]
    fn a_path_is_a_target_and_a_module() {
        for (path, words) in [
            ("host/tests", "host/Cargo.toml --tests"),
            ("report/tests/screen.rs", "report/Cargo.toml --test=screen"),
            ("cli/tests/dropin/packets.rs", "cli/Cargo.toml --test=dropin -- packets::"),
            ("cli/src/flags/habits.rs", "cli/Cargo.toml --bins -- flags::habits::"),
            ("campaign/src/rate/tests.rs", "campaign/Cargo.toml --lib -- rate::"),
        ] {
            let line = tests(&format!("crates/{path}")).join(" ");
            assert_eq!(line, format!("test --manifest-path=crates/{words}"));
        }
    }

    #[test]
    fn only_the_figure_of_a_promise_counts_for_it() {
        let lines = ["MISSED: x >= 2.00 y: 1.50", "kept: z <= 8: 6.00", "bench: 1 of 2"];
        let told = |result: &str, allowance| {
            let promise = Promise { result: result.to_owned(), ..Promise::default() };
            let found = course(true, &lines).found(&promise, allowance);
            found.into_iter().map(|one| (one.text, one.verdict)).collect::<Vec<_>>()
        };
        let x = ("x >= 2.00 y: 1.50, 25 % beyond the limit".to_owned(), Verdict::Missed);
        let z = ("z <= 8: 6.00, 25 % inside the limit".to_owned(), Verdict::Kept);
        assert_eq!(told("", 1.0), [x.clone(), z]);
        assert_eq!(told("x >= 2.00", 1.0), [x]);
        assert_eq!(told("x >=", 2.0)[0].1, Verdict::Kept);
        assert_eq!(told("w <= 1", 1.0)[0].1, Verdict::NotRun);
    }

    #[test]
    fn a_case_that_went_wrong_is_a_result() {
        let lines = ["ok    a: 1", "WRONG b: 2", "error: 1 of 2 wrong: b"];
        let found = course(false, &lines).found(&Promise::default(), 1.0);
        assert_eq!(found, [Found { text: "b: 2".to_owned(), verdict: Verdict::Missed }]);
    }

    #[test]
    fn without_a_result_the_end_decides() {
        let end = |succeeded, lines: &[&str]| {
            course(succeeded, lines).found(&Promise::default(), 1.0).remove(0)
        };
        let line = "test result: ok. 3 passed; 0 failed; 0 ignored";
        assert_eq!(end(true, &[line, "x", line]).text, "6 tests passed");
        assert_eq!(end(true, &["test result: ok. 0 passed; 0 failed"]).verdict, Verdict::Missed);
        assert_eq!(end(false, &[line, "error: no iperf3", ""]).text, "error: no iperf3");
        assert_eq!(end(true, &["proof: not run, since no hosts"]).verdict, Verdict::NotRun);
        assert!(Verdict::Missed > Verdict::NotRun && Verdict::NotRun > Verdict::Kept);
    }
}
