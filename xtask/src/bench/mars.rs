//! `bench mars`: what the runtime promises of its speed, beside tokio and rayon.

use anyhow::{Result, ensure};
use clap::Args;
use testbed::output::say;

use crate::command;
use crate::workspace::Workspace;

/// Measures the runtime beside a bare thread, tokio and rayon
#[derive(Debug, Args)]
pub(crate) struct Mars {
    /// Fail if a promise is missed
    #[arg(long)]
    strict: bool,
}

impl Mars {
    pub(crate) fn run(self) -> Result<String> {
        let workspace = Workspace::find()?;
        let words =
            ["bench", "--bench", "comparison", "--package", "linerate-mars", "--features", "tasks"];
        let table = command::output(command::cargo(words).current_dir(&workspace.root))?;
        say(&table);
        let (kept, missed) = judge(&table);
        let verdict = format!("bench mars: {kept} of {} promises kept", kept + missed);
        ensure!(missed == 0 || !self.strict, "{verdict}");
        Ok(verdict)
    }
}

/// How many rows were kept, and how many missed.
fn judge(table: &str) -> (usize, usize) {
    let count = |verdict| table.lines().skip(1).filter(|line| line.ends_with(verdict)).count();
    (count(" kept"), count(" MISSED"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_a_target_are_counted() {
        let table = "x measured target kept\na 1 ns <= 2 ns kept\nb 3 ns\nc 3 ns <= 2 ns MISSED\n";
        assert_eq!(judge(table), (1, 1));
    }
}
