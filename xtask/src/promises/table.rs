//! docs/promises.md: what came of each promise on one machine, and when.
//!
//! A run writes what it ran; what it left out keeps its line, as long as the promise has the same
//! words and the machine is the same.

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

    fn is_of(&self, promise: &Promise, show: &Show) -> bool {
        self.promise == promise.text && self.task == task_cell(show)
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
    let earlier = if earlier.contains(&machine_line(machine)) { read(earlier) } else { Vec::new() };
    let mut text = format!("{HEAD}\n{}\n", machine_line(machine));
    let mut section = "";
    for (index, promise) in promises.iter().enumerate() {
        if promise.section != section {
            section = &promise.section;
            let of_section = promises[index..].iter().take_while(|one| one.section == section);
            _ = write!(text, "\n## {section}\n\n{}", table(of_section, new, &earlier));
        }
    }
    text
}

fn table<'a>(promises: impl Iterator<Item = &'a Promise>, new: &[Line], earlier: &[Line]) -> Table {
    let mut table = Table::new(COLUMNS.map(|name| (name, Align::Left)));
    for promise in promises {
        for show in &promise.shown_by {
            let known =
                || new.iter().chain(earlier).find(|line| line.is_of(promise, show)).cloned();
            let line = known().unwrap_or_else(|| Line::unknown(promise, show));
            table.push([line.promise, line.task, line.result, line.against, line.date]);
        }
    }
    table
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
    fn other_words_are_another_promise() {
        let file = write(
            &specification::read(SPECIFICATION),
            "m",
            &[line("one", "`cargo xtask static`", "kept")],
            "",
        );
        let promises = specification::read(&SPECIFICATION.replace("| one |", "| one and a half |"));
        assert!(!write(&promises, "m", &[], &file).contains("| kept |"));
    }
}
