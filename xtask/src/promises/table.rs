//! docs/promises.md: what came of each promise on one machine, and when.
//!
//! A run writes what it ran; what it left out keeps its line, as long as the same task shows the
//! promise and the machine is the same, also when the promise is worded anew.

use std::fmt::Write;

use testbed::markdown::{Align, Table};

use super::specification::{Promise, Show};

/// A result of a promise, as the file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// The promise.
    pub(super) promise: String,
    /// The task that shows it.
    pub(super) task: String,
    /// What came of it.
    pub(super) result: String,
    /// The programs that it was compared with.
    pub(super) against: String,
    /// The day.
    pub(super) date: String,
}

impl Line {
    /// A promise that nobody has run.
    fn unknown(promise: &Promise, show: &Show) -> Self {
        Self {
            promise: promise.text.clone(),
            task: task_cell(show),
            result: "not run".to_owned(),
            against: String::new(),
            date: String::new(),
        }
    }

    /// The same, of a promise that is worded anew.
    fn worded(&self, promise: &Promise) -> Self {
        Self { promise: promise.text.clone(), ..self.clone() }
    }
}

/// A task and its choice, as SPECIFICATION.md has them.
pub(super) fn task_cell(show: &Show) -> String {
    let Show { span, choice } = show;
    let choice: Vec<_> = choice.iter().map(|text| format!("\"{text}\"")).collect();
    if choice.is_empty() {
        format!("`{span}`")
    } else {
        format!("`{span}` ({})", choice.join(", "))
    }
}

/// The file: `new` before what `earlier` says, if that was measured on the same machine.
pub(super) fn write(promises: &[Promise], machine: &str, new: &[Line], earlier: &str) -> String {
    let is_same = earlier.contains(&machine_line(machine));
    let known = Known { new, earlier: if is_same { read(earlier) } else { Vec::new() }, promises };
    let mut text = format!("{HEAD}\n{}\n", machine_line(machine));
    let mut section = "";
    for (index, promise) in promises.iter().enumerate() {
        if promise.section != section {
            section = &promise.section;
            let of_section = promises[index..].iter().take_while(|one| one.section == section);
            _ = write!(text, "\n## {section}\n\n{}", table(of_section, &known));
        }
    }
    text
}

fn table<'a>(promises: impl Iterator<Item = &'a Promise>, known: &Known<'_>) -> Table {
    let mut table = Table::new(COLUMNS.map(|name| (name, Align::Left)));
    for promise in promises {
        for show in &promise.shown_by {
            let line = known.line(promise, show);
            table.push([line.promise, line.task, line.result, line.against, line.date]);
        }
    }
    table
}

/// State of the promises.
struct Known<'a> {
    /// Results of this run.
    new: &'a [Line],
    /// Results in the file.
    earlier: Vec<Line>,
    promises: &'a [Promise],
}

impl Known<'_> {
    /// Result of a promise by a task: by its words, or else by the task alone.
    fn line(&self, promise: &Promise, show: &Show) -> Line {
        let task = task_cell(show);
        let of_task = |line: &&Line| line.task == task;
        let all = self.new.iter().chain(&self.earlier).filter(of_task);
        let same = all.clone().find(|line| line.promise == promise.text).cloned();
        let other = || self.before(promise, &task).map(|line| line.worded(promise));
        same.or_else(other).unwrap_or_else(|| Line::unknown(promise, show))
    }

    /// The line of a promise before it was worded anew: one of its task that is of no promise now.
    /// If the task shows several such promises, the one that begins with the same words.
    fn before(&self, promise: &Promise, task: &str) -> Option<&Line> {
        let has_line =
            |text: &str| self.earlier.iter().any(|line| line.task == task && line.promise == text);
        let is_left = |line: &&Line| self.promises.iter().all(|one| one.text != line.promise);
        let left = || self.earlier.iter().filter(|line| line.task == task).filter(is_left);
        let shows = |one: &&Promise| one.shown_by.iter().any(|show| task_cell(show) == task);
        let new = self.promises.iter().filter(shows).filter(|one| !has_line(&one.text)).count();
        if (left().count(), new) == (1, 1) {
            return left().next();
        }
        left().find(|line| opening(&line.promise) == opening(&promise.text))
    }
}

fn opening(text: &str) -> Vec<&str> {
    text.split_whitespace().take(OPENING).collect()
}

/// The lines of a file that [`write()`] wrote.
fn read(file: &str) -> Vec<Line> {
    let rows = file.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let cells = rows.map(|row| row.split(" | ").map(str::to_owned).collect::<Vec<_>>());
    let lines = cells.filter_map(|cells| {
        let [promise, task, result, against, date] = <[String; 5]>::try_from(cells).ok()?;
        Some(Line { promise, task, result, against, date })
    });
    lines.collect()
}

fn machine_line(machine: &str) -> String {
    format!("Machine: {machine}")
}

const HEAD: &str = "# What came of each promise\n\n\
    `cargo xtask promises --write` writes this file: one line for each promise of\n\
    [SPECIFICATION.md](../SPECIFICATION.md) and task that shows it. A task that was not run keeps its\n\
    line; on another machine the file begins anew.\n";
/// Number of words that tell promises of one task apart.
const OPENING: usize = 4;
const COLUMNS: [&str; 5] = ["promise", "task", "result", "against", "date"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::specification;

    const SPECIFICATION: &str = "## A\n| one | `cargo xtask static` |\n\
        | two | `cargo xtask bench` (\"x\"), `crates/a/tests` |\n## B\n| three | `crates/b/tests` |\n";

    fn line(promise: &str, task: &str, result: &str) -> Line {
        let own = str::to_owned;
        let (against, date) = (own("iperf 3.12"), own("2026-01-02"));
        Line { promise: own(promise), task: own(task), result: own(result), against, date }
    }

    #[test]
    fn what_was_not_run_keeps_its_line() {
        let promises = specification::read(SPECIFICATION);
        let first = [
            line("one", "`cargo xtask static`", "kept: 4"),
            line("two", "`crates/a/tests`", "kept"),
        ];
        let file = write(&promises, "m", &first, "");
        let again =
            write(&promises, "m", &[line("one", "`cargo xtask static`", "missed: 9")], &file);
        assert!(
            again.contains("| one | `cargo xtask static` | missed: 9 | iperf 3.12 |"),
            "{again}"
        );
        assert!(again.contains("| two | `crates/a/tests` | kept | iperf 3.12 | 2026-01-02 |"));
        assert!(again.contains("| two | `cargo xtask bench` (\"x\") | not run |  |  |"));
        assert!(again.contains("\n## B\n\n| promise |"));
        assert!(
            write(&promises, "other", &[], &file)
                .contains("| one | `cargo xtask static` | not run")
        );
    }

    #[test]
    fn a_promise_that_is_worded_anew_keeps_the_line_of_its_task() {
        let first = specification::read(SPECIFICATION);
        let file = write(&first, "m", &[line("one", "`cargo xtask static`", "kept: 4")], "");
        let anew = specification::read(&SPECIFICATION.replace("| one |", "| one and a half |"));
        let file = write(&anew, "m", &[], &file);
        assert!(file.contains("| one and a half | `cargo xtask static` | kept: 4 |"), "{file}");
        let other = specification::read(&SPECIFICATION.replace("static", "web"));
        assert!(!write(&other, "m", &[], &file).contains("kept"), "the task is another one");
    }

    #[test]
    fn of_promises_of_one_task_that_are_worded_anew_the_opening_tells_which() {
        const BEFORE: &str = "## A\n| a b c d 1 | `crates/a/tests` |\n| e | `crates/a/tests` |\n";
        let file = write(
            &specification::read(BEFORE),
            "m",
            &[
                line("a b c d 1", "`crates/a/tests`", "kept: 1"),
                line("e", "`crates/a/tests`", "kept: 2"),
            ],
            "",
        );
        let anew = BEFORE.replace("d 1", "d 2").replace("| e |", "| f |");
        let file = write(&specification::read(&anew), "m", &[], &file);
        assert!(file.contains("| a b c d 2 | `crates/a/tests` | kept: 1 |"), "{file}");
        assert!(file.contains("| f | `crates/a/tests` | not run |"), "{file}");
    }
}
