//! Finds runs in a text: takes statements line by line, and puts them together to what one end
//! printed of one run.

use std::borrow::Cow;

use measurement::Order;

use super::column::Column;
use super::csv::Csv;
use super::document::Documents;
use super::found::{Found, MOST_VIEWS};
use super::lines::Lines;
use super::name::LONGEST_NAME;
use super::rates::Collector;
use super::said::{Said, begins, said};
use super::speaker::Speaker;

/// Reads a text, the one with this number.
pub(super) fn read(number: usize, text: &[u8]) -> Found {
    let decoded = of_utf16(text);
    let text = decoded.as_deref().map_or(text, str::as_bytes);
    let mut found = Found::default();
    let mut reader = Reader::new(number, text.len());
    let mut lines = Lines::new(text);
    while found.views.len() < MOST_VIEWS {
        if reader.documents.take(&mut lines, number, &mut found) {
            reader.close(&mut found);
            continue;
        }
        let Some(line) = lines.next() else { break };
        reader.line(line, &mut lines, &mut found);
    }
    reader.close(&mut found);
    reader.csv.close(&mut found);
    reader.documents.close(&mut found);
    reader.rates.close(&mut found);
    found.unread.order();
    if !reader.speakers.is_empty() {
        found.views.order_by_key(|view| view.place.first);
    }
    found.is_full = !lines.is_at_end();
    found
}

/// A text with the byte order mark of UTF-16, as PowerShell redirects output to a file.
fn of_utf16(text: &[u8]) -> Option<String> {
    let unit: fn([u8; 2]) -> u16 = match text.get(..2)? {
        [0xff, 0xfe] => u16::from_le_bytes,
        [0xfe, 0xff] => u16::from_be_bytes,
        _ => return None,
    };
    let units = text[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    let letters = char::decode_utf16(units).map(|one| one.unwrap_or(char::REPLACEMENT_CHARACTER));
    Some(letters.collect())
}

/// What is open while a text is read.
struct Reader {
    /// Texts of two columns have two; the others use the first.
    columns: [Column; 2],
    /// A column for each program that the lines name.
    speakers: Vec<(String, Column)>,
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
            speakers: Vec::new(),
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
        if starts.len() > 1 {
            return self.statements(&line, &starts, first, found);
        }
        let start = starts.first();
        let speaker = self.speaker(&line);
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
        let column = match speaker {
            Some(at) => &mut self.speakers[at].1,
            None => &mut self.columns[usize::from(is_right)],
        };
        column.take(said, place, found);
    }

    /// Several statements of one line: two are two columns, more are lines that were joined, as on
    /// pages that keep no ends of lines.
    fn statements(&mut self, line: &str, starts: &[usize], number: usize, found: &mut Found) {
        let is_joined = starts.len() > self.columns.len();
        self.right = starts.get(1).copied().filter(|_| !is_joined).or(self.right);
        for (at, start) in starts.iter().enumerate() {
            let end = starts.get(at + 1).copied().unwrap_or(line.len());
            let column = if is_joined { 0 } else { at };
            self.columns[column].take(said(&line[*start..end]), (number, number), found);
        }
    }

    /// Index of the program that a line names; none: it names none, or there are too many.
    fn speaker(&mut self, line: &str) -> Option<usize> {
        let name = Speaker::of(line)?.name;
        let known = self.speakers.iter().position(|(known, _)| known == name);
        known.or_else(|| {
            let is_room = self.speakers.len() < MOST_SPEAKERS;
            let column = Column::new(self.number);
            is_room.then(|| self.speakers.push((name.to_owned(), column)))?;
            Some(self.speakers.len() - 1)
        })
    }

    /// Ends what is open in each column.
    fn close(&mut self, found: &mut Found) {
        let speakers = self.speakers.iter_mut().map(|(_, column)| column);
        self.columns.iter_mut().chain(speakers).for_each(|column| column.close(found));
    }

    /// Whether a line has nothing but what stands before statements, as the last one had it.
    fn is_blank(&mut self, line: &str, start: Option<&usize>) -> bool {
        let shape = |text: &str| {
            let zero = |one: char| if one.is_ascii_digit() { '0' } else { one };
            text.trim().chars().map(zero).collect::<String>()
        };
        if Speaker::of(line).is_some_and(|one| line[one.end..].trim().is_empty()) {
            return true;
        }
        if let Some(start) = start.filter(|start| **start > 0 && **start < LONGEST_NAME) {
            self.before = shape(&line[..*start]);
            return false;
        }
        start.is_none() && !self.before.is_empty() && shape(line) == self.before
    }
}

/// Columns by which a second column of text may be shifted.
const SHIFT: usize = 2;
/// Programs that one log names.
const MOST_SPEAKERS: usize = 64;
