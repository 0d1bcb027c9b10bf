//! The screen of a run of tests, for people at a terminal: where from and where to, a row for each
//! direction as soon as it has ended, then what limits, what to try, and how much more there is to
//! know.
//!
//! ```text
//! linerate  10.24.1.2 -> 10.24.2.2   cubic, MTU 1500, Linux 6.6   4 x 5 s
//!
//!                    delivered       on wire      lost    resent   latency     trust
//!   TCP send       574 Mbit/s    600 Mbit/s         -    0.15 %   +3.5 ms     VALID
//!
//!   LIMIT  ...
//!   TRY    ...
//! ```

mod course;
mod doubts;
mod head;
mod limits;
mod searches;
mod steps;
mod table;

use std::io::{self, Write};

use measurement::{BitRate, RecordSet, TestPlan, TestRecord};

use crate::columns::{Emphasis, paint};
use crate::page::wrap;
use crate::runs::numbered;

pub use course::{Course, Moved};
pub use head::Head;

use self::table::Table;

/// The screen of one run: its width, and what its rows have.
#[derive(Clone, Debug)]
pub struct Screen {
    width: usize,
    table: Table,
    /// Words to which an option of a remedy is appended: `linerate test 10.0.0.2`.
    command: String,
    /// Where the rest is to be found.
    rest: Rest,
    /// The rate that was asked of all rows.
    asked: Option<BitRate>,
}

/// What rows a screen is for.
#[derive(Clone, Copy, Debug)]
pub struct Shape<'a> {
    /// Their plans.
    pub plans: &'a [TestPlan],
    /// Round trips are probed beside.
    pub probed: bool,
    /// Rows are run several times.
    pub repeated: bool,
}

/// Where what the screen leaves out is to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// It follows, in the same output.
    Follows,
    /// The run is kept: `linerate explain last` has it.
    Kept,
    /// By another run with `-v`.
    Verbose,
}

impl Screen {
    /// A screen of `width` columns for rows of that shape. `command` is what was typed, without output options.
    pub fn new(width: usize, shape: &Shape<'_>, command: String) -> Self {
        let width = width.clamp(LEAST_WIDTH, MOST_WIDTH);
        let mut asked = shape.plans.iter().map(TestPlan::asked);
        let first = asked.next().flatten();
        let asked = first.filter(|first| asked.all(|other| other == Some(*first)));
        Self { width, table: Table::new(width, shape), command, rest: Rest::Verbose, asked }
    }

    /// That of records that were stored.
    fn of_records(width: usize, records: &RecordSet) -> Self {
        let plans: Vec<_> = records.records.iter().map(|record| record.plan.clone()).collect();
        let probed = records.records.iter().any(|record| record.outcome.latency.is_some());
        let peer = records.records.iter().find_map(|record| record.peer.as_ref());
        let host = peer.map_or_else(|| "HOST".to_owned(), |peer| peer.address.ip().to_string());
        let rows = numbered(&records.records);
        let repeated = rows.iter().any(|(_, run)| !run.is_empty());
        let shape = Shape { plans: &plans, probed, repeated };
        let mut screen = Self::new(width, &shape, format!("linerate test {host}"));
        let is_searched = records.records.iter().any(|record| record.trials.rate.is_some());
        screen.asked = screen.asked.filter(|_| !is_searched);
        screen.rest = Rest::Follows;
        screen
    }

    /// The program as it was typed.
    fn program(&self) -> &str {
        self.command.split(' ').next().unwrap_or_default()
    }

    /// The rate that was asked of all rows.
    pub const fn asked(&self) -> Option<BitRate> {
        self.asked
    }

    /// A copy that says where the rest is.
    #[must_use]
    pub const fn with_rest(mut self, rest: Rest) -> Self {
        self.rest = rest;
        self
    }

    /// Lines above the table: where from and where to, and the titles of the columns.
    pub fn opening(&self, head: &Head) -> Vec<String> {
        let mut lines = head.lines(self.width);
        lines.push(String::new());
        lines.push(self.table.titles());
        lines
    }

    /// Lines of a record: one for each direction. `run` is its number among runs of the same plan.
    pub fn row(&self, record: &TestRecord, run: &str) -> Vec<String> {
        self.table.row(record, run)
    }

    /// What limits, in lines, with the first of what shows it.
    pub fn limits(&self, records: &RecordSet) -> Vec<String> {
        limits::lines(&numbered(&records.records), self.width)
    }

    /// A line of a story: a label, and a text beside it.
    pub fn line(&self, label: &str, text: &str) -> Vec<String> {
        labelled(label, Emphasis::Strong, text, self.width)
    }

    /// Writes what stands under the table: spreads of repeated runs, what limits, what to try,
    /// doubts, and where the rest is.
    ///
    /// # Errors
    /// An error of writing to `out`.
    pub fn close(&self, records: &RecordSet, out: &mut dyn Write) -> io::Result<()> {
        let rows = numbered(&records.records);
        let blocks = [
            table::summaries(records),
            searches::lines(&rows, self.width),
            limits::lines(&rows, self.width),
            steps::lines(&rows, (&self.command, self.program()), self.width),
            doubts::lines(&rows, self.width),
        ];
        for block in blocks.iter().filter(|block| !block.is_empty()) {
            writeln!(out)?;
            block.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        }
        let footer = wrap(&doubts::footer(&rows, self.rest, self.program()), self.width - INDENT);
        for (number, line) in footer.iter().enumerate() {
            let before = if number == 0 { "\n" } else { "" };
            writeln!(out, "{before}{:INDENT$}{}", "", paint(line, Emphasis::Faint))?;
        }
        Ok(())
    }
}

/// Writes the whole screen of stored records.
///
/// # Errors
/// An error of writing to `out`.
pub(crate) fn write(records: &RecordSet, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let Some(first) = records.records.first() else { return Ok(()) };
    let screen = Screen::of_records(width, records).with_rest(Rest::Verbose);
    let asked = screen.asked;
    let head = Head::of_record(first, records.records.len(), asked);
    for line in screen.opening(&head) {
        writeln!(out, "{line}")?;
    }
    for (record, run) in numbered(&records.records) {
        for line in screen.row(record, &run) {
            writeln!(out, "{line}")?;
        }
    }
    screen.close(records, out)
}

/// A label, and a text beside it that is wrapped to the width.
fn labelled(label: &str, emphasis: Emphasis, text: &str, width: usize) -> Vec<String> {
    let room = width.saturating_sub(INDENT + LABEL);
    let lines = wrap(text, room);
    let line = |(number, line): (usize, &String)| {
        let label = if number == 0 { label } else { "" };
        let padding = " ".repeat(LABEL.saturating_sub(label.chars().count()));
        format!("{:INDENT$}{}{padding}{line}", "", paint(label, emphasis))
    };
    lines.iter().enumerate().map(line).collect()
}

/// A text with a capital at its start, unless that is the name of this program.
fn sentence(text: &str) -> String {
    if text.starts_with("linerate") {
        return text.to_owned();
    }
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

/// Spaces before each line.
const INDENT: usize = 2;
/// Width of the labels.
const LABEL: usize = 9;
const LEAST_WIDTH: usize = 60;
const MOST_WIDTH: usize = 120;
/// The width where none is known.
pub const USUAL_WIDTH: usize = 80;
