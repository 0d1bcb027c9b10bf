//! `bench mars`: what the runtime promises of its speed, beside other runtimes; and its programs, some of
//! which fail if they are slow.

use anyhow::Result;
use clap::Args;
use testbed::output::say;
use testbed::promise::Outcome;

use super::flags::Strict;
use crate::command;
use crate::workspace::Workspace;

/// Measures the runtime beside a bare thread, tokio and rayon, and five programs of tasks also beside
/// may, Go, Boost.Fiber and oneTBB, where they are installed
#[derive(Debug, Args)]
pub(crate) struct Mars {
    #[command(flatten)]
    strict: Strict,
}

impl Mars {
    pub(crate) fn run(self) -> Result<String> {
        let workspace = Workspace::runtime()?;
        let words = ["bench", "--package", "linerate-comparison"];
        let table = command::output(command::cargo(words).current_dir(&workspace.root))?;
        say(&table);
        let words = [
            "run",
            "--release",
            "--example",
            "programs",
            "--package",
            "linerate-mars",
            "--features",
        ];
        let mut programs = command::cargo(words);
        let (_, lines) = command::listen(programs.arg("tasks").current_dir(&workspace.root))?;
        let all = table.lines().chain(lines.iter().map(String::as_str));
        self.strict.sum_up(&all.filter_map(outcome).collect::<Vec<_>>())
    }
}

/// The outcome in a row with a target, or of a program.
fn outcome(line: &str) -> Option<Outcome> {
    let ends = [("PASS: ", 0.0), ("FAIL: ", 1.0)];
    let end = ends.into_iter().find_map(|(word, count)| Some((line.strip_prefix(word)?, count)));
    if let Some((program, count)) = end {
        let name = program.split(':').next().unwrap_or(program);
        return Some(Outcome::new(format!("program {name}: failures = 0"), Some(count)));
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name @ .., value, _, sign @ ("<=" | ">="), limit, unit, _] = words.as_slice() else {
        return None;
    };
    Some(Outcome::new(format!("{} {sign} {limit} {unit}", name.join(" ")), value.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_a_target_and_programs_have_an_outcome() {
        let shown = |line| outcome(line).map(|one| one.to_string());
        let row = shown("a b, 1  3.00 ns <=   2.00 ns  MISSED");
        assert_eq!(row.as_deref(), Some("MISSED: a b, 1 <= 2.00 ns: 3.00"));
        assert_eq!(shown("FAIL: c: d").as_deref(), Some("MISSED: program c: failures = 0: 1.00"));
        assert_eq!(shown("PASS: a: b").as_deref(), Some("kept: program a: failures = 0: 0.00"));
        assert_eq!(shown("x   measured    target  kept"), None);
        assert_eq!(shown("b 3 ns"), None);
    }
}
