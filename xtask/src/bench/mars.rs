//! `bench mars`: what the runtime promises of its speed, beside other runtimes; and its programs, some of
//! which fail if they are slow.

use anyhow::{Result, ensure};
use clap::Args;
use testbed::output::say;

use crate::command;
use crate::workspace::Workspace;

/// Measures the runtime beside a bare thread, tokio and rayon, and five programs of tasks also beside
/// may, Go, Boost.Fiber and oneTBB, where they are installed
#[derive(Debug, Args)]
pub(crate) struct Mars {
    /// Fail if a promise is missed
    #[arg(long)]
    strict: bool,
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
        let (kept, missed) = judge(&format!("{table}{}", lines.join("\n")));
        let verdict = format!("bench mars: {kept} of {} promises kept", kept + missed);
        ensure!(missed == 0 || !self.strict, "{verdict}");
        Ok(verdict)
    }
}

/// How many rows and programs kept what they promise, and how many did not.
fn judge(table: &str) -> (usize, usize) {
    let count = |row: &str, program: &str| {
        let is_one = |line: &&str| line.ends_with(row) || line.starts_with(program);
        table.lines().skip(1).filter(is_one).count()
    };
    (count(" kept", "PASS: "), count(" MISSED", "FAIL: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_a_target_and_programs_are_counted() {
        let table = "x measured target kept\na 1 ns <= 2 ns kept\nb 3 ns\nc 3 ns <= 2 ns MISSED\n";
        assert_eq!(judge(table), (1, 1));
        assert_eq!(judge(&format!("{table}PASS: a: b\n  7 GB/s\nFAIL: c: d")), (2, 2));
    }
}
