//! Finds runs in a text: takes statements line by line, and puts them together to what one end
//! printed of one run.

use std::borrow::Cow;

use super::column::Column;
use super::csv::Csv;
use super::document::Documents;
use super::found::{Found, MOST_VIEWS};
use super::lines::Lines;
use super::name::LONGEST_NAME;
use super::rates::Collector;
use super::said::{Said, begins, said};

/// Reads a text, the one with this number.
pub(super) fn read(number: usize, text: &[u8]) -> Found {
    let mut found = Found::default();
    let mut reader = Reader::new(number, text.len());
    let mut lines = Lines::new(text);
    while found.views.len() < MOST_VIEWS {
        if reader.documents.take(&mut lines, number, &mut found) {
            reader.columns.iter_mut().for_each(|column| column.close(&mut found));
            continue;
        }
        let Some(line) = lines.next() else { break };
        reader.line(line, &mut lines, &mut found);
    }
    reader.columns.iter_mut().for_each(|column| column.close(&mut found));
    reader.csv.close(&mut found);
    reader.documents.close(&mut found);
    reader.rates.close(&mut found);
    found.is_full = !lines.is_at_end();
    found
}

/// What is open while a text is read.
struct Reader {
    /// Texts of two columns have two; the others use the first.
    columns: [Column; 2],
    /// Where the second column begins.
    right: Option<usize>,
    csv: Csv,
    documents: Documents,
    rates: Collector,
    number: usize,
    /// What stands before statements, e.g. a time, with zeros for all digits.
    before: String,
}

impl Reader {
    fn new(number: usize, length: usize) -> Self {
        Self {
            columns: [Column::new(number), Column::new(number)],
            right: None,
            csv: Csv::new(number),
            documents: Documents::new(length, read),
            rates: Collector::default(),
            number,
            before: String::new(),
        }
    }

    fn line<'a>(&mut self, line: Cow<'a, str>, lines: &mut Lines<'a>, found: &mut Found) {
        let first = lines.number;
        let starts = begins(&line);
        if let [_, right, ..] = starts[..] {
            self.right = Some(right);
            for (at, start) in starts.iter().enumerate() {
                let end = starts.get(at + 1).copied().unwrap_or(line.len());
                self.columns[at.min(1)].take(said(&line[*start..end]), (first, first), found);
            }
            return;
        }
        let start = starts.first();
        if self.is_blank(&line, start) {
            return;
        }
        let is_right = self.right.zip(start).is_some_and(|(right, at)| at + SHIFT >= right);
        let line = lines.unwrap(line);
        let place = (first, lines.number);
        if self.csv.take(&line, place, found) {
            return;
        }
        let said = said(&line);
        if said == Said::Other && self.rates.take(self.number, first, &line, found) {
            return;
        }
        self.columns[usize::from(is_right)].take(said, place, found);
    }

    /// Whether a line has nothing but what stands before statements, as the last one had it.
    fn is_blank(&mut self, line: &str, start: Option<&usize>) -> bool {
        let shape = |text: &str| {
            let zero = |one: char| if one.is_ascii_digit() { '0' } else { one };
            text.trim().chars().map(zero).collect::<String>()
        };
        if let Some(start) = start.filter(|start| **start > 0 && **start < LONGEST_NAME) {
            self.before = shape(&line[..*start]);
            return false;
        }
        start.is_none() && !self.before.is_empty() && shape(line) == self.before
    }
}

/// Columns by which a second column of text may be shifted.
const SHIFT: usize = 2;
