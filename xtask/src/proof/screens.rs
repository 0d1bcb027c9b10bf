//! How much is to be read until the answer, for five kinds of users: lines and words from the
//! start of what is printed.

use std::time::Duration;

use anyhow::{Context, Result};
use testbed::process::Running;

use super::Outcome;
use crate::hosts::UnderTest;
use crate::hosts::home::Home;

/// What a user types, and where the answer stands.
struct Task {
    user: &'static str,
    /// Behind `linerate`; HOST is the server.
    typed: &'static str,
    /// A part of the line that has the answer, or of the first of its paragraph.
    answer: &'static str,
    ends: Ends,
    /// Whether it is a terminal that is read; else a log, in which each interval has a line.
    at_a_terminal: bool,
    most_lines: usize,
    most_words: usize,
}

/// Where an answer ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    WithItsLine,
    WithItsParagraph,
}

/// What is read until an answer is known.
#[derive(Debug, PartialEq, Eq)]
struct Read {
    lines: usize,
    words: usize,
}

const TASKS: [Task; 5] = [
    Task {
        user: "home: what limits my line?",
        typed: "test HOST",
        answer: "  LIMIT ",
        ends: Ends::WithItsParagraph,
        at_a_terminal: true,
        most_lines: 18,
        most_words: 120,
    },
    Task {
        user: "iperf3's habits: how fast is a download?",
        typed: "-c HOST -R -P 4",
        answer: "  TCP receive ",
        ends: Ends::WithItsLine,
        at_a_terminal: true,
        most_lines: 5,
        most_words: 35,
    },
    Task {
        user: "kernel: the median before a change, and its spread",
        typed: "test HOST --tcp --send --repeat 3 -t 1s",
        answer: "median",
        ends: Ends::WithItsLine,
        at_a_terminal: true,
        most_lines: 9,
        most_words: 70,
    },
    Task {
        user: "CI: why did the check fail?",
        typed: "test HOST --tcp --receive -t 2s --min-rate 500M",
        answer: "required: ",
        ends: Ends::WithItsLine,
        at_a_terminal: false,
        most_lines: 23,
        most_words: 160,
    },
    Task {
        user: "paper: delay under load, and its definition",
        typed: "latency HOST -t 2s",
        answer: "TCP receive ",
        ends: Ends::WithItsLine,
        at_a_terminal: true,
        most_lines: 9,
        most_words: 75,
    },
];

pub(super) fn run(under_test: &UnderTest) -> Result<Vec<Outcome>> {
    let home = Home::new()?;
    let server = home.serve(&under_test.program)?;
    let outcomes = TASKS.iter().map(|task| task.run(&home, under_test)).collect();
    server.stop()?;
    outcomes
}

impl Task {
    fn run(&self, home: &Home, under_test: &UnderTest) -> Result<Outcome> {
        let mut command =
            home.typed(&under_test.program, &self.typed.replace("HOST", &home.server()), WIDTH);
        if self.at_a_terminal {
            // There a line that moves is in place of one for each interval.
            command.arg("--quiet");
        }
        let ended = Running::captured(command)?.finish(LONGEST)?;
        // What a terminal shows, and what a log has: errors are printed last.
        let printed = ended.stdout + &ended.stderr;
        let read = self.read(&printed).with_context(|| format!("no answer in:\n{printed}"))?;
        let is_brief = read.lines <= self.most_lines && read.words <= self.most_words;
        let name = format!("{} (linerate {})", self.user, self.typed);
        let seen = format!("{} lines, {} words", read.lines, read.words);
        Ok(Outcome::show(name, seen, is_brief))
    }

    fn read(&self, printed: &str) -> Option<Read> {
        let lines: Vec<_> = printed.lines().collect();
        let begin = lines.iter().position(|line| line.contains(self.answer))?;
        let is_last = |line: &&str| line.trim().is_empty();
        let last = match self.ends {
            Ends::WithItsLine => begin,
            Ends::WithItsParagraph => {
                let after = lines[begin..].iter().position(is_last);
                after.map_or(lines.len(), |more| begin + more) - 1
            }
        };
        let words = lines[..=last].iter().map(|line| line.split_whitespace().count()).sum();
        Some(Read { lines: last + 1, words })
    }
}

/// Columns of a terminal.
const WIDTH: usize = 80;
const LONGEST: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_to_its_end() {
        let printed = "a b\n\n  LIMIT  c d\n    e\n\n  TRY f\n";
        assert_eq!(TASKS[0].read(printed), Some(Read { lines: 4, words: 6 }));
        let by_line = Task { ends: Ends::WithItsLine, ..TASKS[0] };
        assert_eq!(by_line.read(printed), Some(Read { lines: 3, words: 5 }));
        assert_eq!(by_line.read("a\nb\n"), None);
    }
}
