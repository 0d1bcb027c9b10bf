//! The screen of a run of tests, for people at a terminal: where from and where to, a row for each
//! direction as soon as it has ended, then what limits, what to try, and how much more there is to
//! know.
//!
//! ```text
//! linerate  10.24.1.2 -> 10.24.2.2   cubic, MTU 1500, Linux 6.6   4 x 5 s
//!
//!                   delivered  on wire     lost   resent  latency    trust
//!   TCP send     574.3 Mbit/s    600.2        -   0.15 %  +3.5 ms    VALID
//!
//!   LIMIT  ...
//!   TRY    ...
//! ```

mod brevity;
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
use crate::rates::UnitFormat;
use crate::runs::{Run, numbered};
use crate::width::USUAL_WIDTH;

pub use course::{Course, Moved};
pub use head::Head;

use self::brevity::Brevity;
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
    /// That of rates.
    unit: UnitFormat,
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
    /// That of rates.
    pub unit: UnitFormat,
}

/// Where what the screen leaves out is to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// It follows, in the same output.
    Follows,
    /// The run is kept: `linerate explain last -v` has it.
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
        let (table, rest, unit) = (Table::new(width, shape), Rest::Verbose, shape.unit);
        Self { width, table, command, rest, asked, unit }
    }

    /// That of records that were stored.
    fn of_records(width: usize, records: &RecordSet) -> Self {
        let plans: Vec<_> = records.records.iter().map(|record| record.plan.clone()).collect();
        let probed = records.records.iter().any(|record| record.outcome.latency.is_some());
        let peer = records.records.iter().find_map(|record| record.peer.as_ref());
        let host = peer.map_or_else(|| "HOST".to_owned(), |peer| peer.address.ip().to_string());
        let rows = numbered(&records.records);
        let repeated = rows.iter().any(|(_, run)| !run.is_empty());
        let shape = Shape { plans: &plans, probed, repeated, unit: UnitFormat::Adaptive };
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

    /// That of rates.
    pub const fn unit(&self) -> UnitFormat {
        self.unit
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
        let blocks = limits::blocks(&numbered(&records.records), true, self.width);
        blocks.into_iter().flat_map(|block| block.lines).collect()
    }

    /// Why the results are to be doubted, in lines: the gravest reason.
    pub fn doubt(&self, records: &RecordSet) -> Vec<String> {
        doubts::lines(&numbered(&records.records), 1, self.width)
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
        let above = self.above(records);
        let steps = Brevity::STEPS.map(|brevity| self.under(records, &rows, brevity));
        let fitting = steps.iter().find(|under| under.fits(&above, self.width)).or(steps.last());
        fitting.into_iter().flat_map(Under::lines).try_for_each(|line| writeln!(out, "{line}"))
    }

    /// What stands above and in the table.
    fn above(&self, records: &RecordSet) -> Vec<String> {
        let Some(first) = records.records.first() else { return Vec::new() };
        let head = Head::of_record(first, records.records.len(), self.asked);
        let rows = records.records.iter().flat_map(|record| self.row(record, ""));
        self.opening(&head).into_iter().chain(rows).collect()
    }

    /// The lines under the table of results.
    fn under(&self, records: &RecordSet, rows: &[Run<'_>], brevity: Brevity) -> Under {
        let width = self.width;
        let limits = limits::blocks(rows, brevity.evidence, width);
        let (limits, fewer) = limits::most(limits, brevity.limits);
        let (steps, others) =
            steps::lines(rows, brevity.remedies, (&self.command, self.program()), width);
        let mut answer = searches::lines(rows, brevity.trials, self.unit, width);
        push_block(&mut answer, table::summaries(records));
        push_block(&mut answer, limits);
        let mut rest = Vec::new();
        push_block(&mut rest, steps);
        push_block(&mut rest, doubts::lines(rows, brevity.doubts, width));
        let left_out = [(fewer, "more limit"), (others, "more remedy")];
        let place = (self.rest, self.program());
        let footer = doubts::footer(rows, brevity.doubts, left_out, place, width - INDENT);
        let lines = footer.iter();
        let lines = lines.map(|line| format!("{:INDENT$}{}", "", paint(line, Emphasis::Faint)));
        push_block(&mut rest, lines.collect());
        Under { answer, rest }
    }
}

/// A block stands behind an empty line.
fn push_block(lines: &mut Vec<String>, block: Vec<String>) {
    lines.extend((!block.is_empty()).then(String::new));
    lines.extend(block);
}

/// The parts of the screen under the table of results.
struct Under {
    /// Up to the limits.
    answer: Vec<String>,
    /// What to try, doubts, and what is left out.
    rest: Vec<String>,
}

impl Under {
    fn lines(&self) -> impl Iterator<Item = &String> {
        self.answer.iter().chain(&self.rest)
    }

    /// Whether a person reads it with what stands `above` without scrolling, in half a minute, and
    /// the limit at once.
    fn fits(&self, above: &[String], width: usize) -> bool {
        let words = |lines: &[String]| {
            lines.iter().map(|line| line.split_whitespace().count()).sum::<usize>()
        };
        let answer = words(&self.answer);
        above.len() + self.lines().count() <= MOST_LINES * USUAL_WIDTH / width.min(USUAL_WIDTH)
            && words(above) + answer + words(&self.rest) <= MOST_WORDS
            && answer <= MOST_WORDS_OF_ANSWER
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
pub(crate) fn labelled(label: &str, emphasis: Emphasis, text: &str, width: usize) -> Vec<String> {
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
pub(crate) fn sentence(text: &str) -> String {
    if text.starts_with("linerate") {
        return text.to_owned();
    }
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

/// Of a screen of the usual width; a narrower one has more.
const MOST_LINES: usize = 22;
const MOST_WORDS: usize = 160;
/// From the table to the end of what limits.
const MOST_WORDS_OF_ANSWER: usize = 60;
/// Spaces before each line.
const INDENT: usize = 2;
/// Width of the labels.
const LABEL: usize = 9;
const LEAST_WIDTH: usize = 60;
const MOST_WIDTH: usize = 120;
