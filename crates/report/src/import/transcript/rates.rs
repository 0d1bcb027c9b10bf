//! Rates by themselves, in lines with nothing else, as slides and notes have them: they are of no
//! run, and are only listed. Two columns may be before and after a change.

use measurement::BitRate;

use super::bare_table::{Head, Line, has_cells};
use super::cursor::Cursor;
use super::found::{Found, Rates};
use super::name::shortened;
use super::row::rate;

/// Puts lines with rates together.
#[derive(Default)]
pub(super) struct Collector {
    heading: String,
    open: Option<Rates>,
    /// The head of a table that is not at its end.
    head: Option<Head>,
    /// Lines of the open rates.
    lines: Vec<usize>,
}

impl Collector {
    /// Takes a line that says nothing else; false: it has no rates, or more than them.
    pub(super) fn take(&mut self, text: usize, line: usize, said: &str, found: &mut Found) -> bool {
        if self.table((text, line), said, found) || is_of_doubted(line, said, found) {
            return true;
        }
        let rates = rates(said);
        if rates.is_empty() {
            if !said.trim().is_empty() {
                self.close(found);
                self.heading = shortened(said.trim_matches(|one: char| MARKS.contains(one)));
            }
            return false;
        }
        if found.rates.len() >= MOST_TABLES || self.lines.len() >= MOST_LINES {
            return false;
        }
        let heading = &self.heading;
        let open = self.open.get_or_insert_with(|| Rates {
            text,
            line,
            heading: heading.clone(),
            columns: Vec::new(),
            doubted: Vec::new(),
            unconfirmed: None,
        });
        let is_alone = rates.len() == 1;
        for (at, (offset, rate)) in rates.into_iter().enumerate() {
            let column = if is_alone { usize::from(offset >= INDENT) } else { at };
            if open.columns.len() <= column {
                open.columns.resize(column + 1, Vec::new());
            }
            open.columns[column].push(rate);
        }
        self.lines.push(line);
        true
    }

    /// Takes a line of a table whose head has a unit; false: it is of none.
    fn table(&mut self, (text, line): (usize, usize), said: &str, found: &mut Found) -> bool {
        if !has_cells(said) {
            self.head = self.head.take().filter(|_| said.trim().is_empty());
            return false;
        }
        if let Some(head) = Head::of(said) {
            self.close(found);
            self.head = Some(head);
            return true;
        }
        let Some(head) = &self.head else { return false };
        if let Some(Line { heading, rates, doubted }) = head.line(said) {
            if found.rates.len() >= MOST_TABLES {
                return false;
            }
            let columns = rates.into_iter().map(|rate| rate.into_iter().collect()).collect();
            found.rates.push(Rates { text, line, heading, columns, doubted, unconfirmed: None });
        }
        true
    }

    /// Ends rates that stand together; one by itself is prose.
    pub(super) fn close(&mut self, found: &mut Found) {
        let lines = std::mem::take(&mut self.lines);
        let Some(rates) = self.open.take() else { return };
        if rates.columns.iter().map(Vec::len).sum::<usize>() > 1 {
            found.rates.push(rates);
        } else {
            // Behind lines that follow them: the reader sorts all at its end.
            found.unread.extend(lines);
        }
    }
}

/// Takes the warning of iperf that a receiver never confirmed a run, where rates above it are in
/// parentheses; false: it is none, or there are none.
fn is_of_doubted(line: usize, said: &str, found: &mut Found) -> bool {
    if !said.contains(UNCONFIRMED) {
        return false;
    }
    let doubted = found.rates.iter_mut().rev().find(|rates| !rates.doubted.is_empty());
    doubted.map(|rates| rates.unconfirmed = Some(line)).is_some()
}

/// The rates of a line with nothing else, and where they begin; empty: it has something else.
fn rates(line: &str) -> Vec<(usize, BitRate)> {
    let mut found = Vec::new();
    if line.len() > LONGEST {
        return found;
    }
    let mut cursor = Cursor::new(line);
    loop {
        while cursor.take("|") {}
        if cursor.is_at_end() {
            return found;
        }
        let offset = line.len() - cursor.rest.trim_start().len();
        let Some(rate) = rate(&mut cursor) else { return Vec::new() };
        found.push((offset, BitRate::from_bits_per_second(rate.whole())));
    }
}

const UNCONFIRMED: &str = "WARNING: did not receive ack of last datagram";
/// What people set around a heading.
const MARKS: &str = "-*#=|:`> \t";
/// Spaces before the second of two columns.
const INDENT: usize = 8;
/// Bytes of a line of rates.
const LONGEST: usize = 200;
const MOST_LINES: usize = 1_000;
const MOST_TABLES: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::transcript::runs;

    fn found(text: &str) -> Vec<(String, Vec<Vec<u64>>)> {
        let mbps = |rates: &Vec<BitRate>| {
            rates.iter().map(|rate| rate.bits_per_second() / 1_000_000).collect()
        };
        let found = runs(&[text.as_bytes()]).rates;
        found
            .iter()
            .map(|one| (one.heading.clone(), one.columns.iter().map(mbps).collect()))
            .collect()
    }

    #[test]
    fn two_columns_are_told_by_their_order_or_their_indent() {
        let text = "--- TCP recv ---\n686 Mbits/sec\t904 Mbits/sec\n683 Mbits/sec | 898 Mbits/sec\n\
            --- TCP send ---\n383 Mbits/sec\n                 393 Mbits/sec\n384 Mbits/sec\n";
        assert_eq!(
            found(text),
            [
                ("TCP recv".to_owned(), vec![vec![686, 683], vec![904, 898]]),
                ("TCP send".to_owned(), vec![vec![383, 384], vec![393]]),
            ]
        );
    }

    #[test]
    fn a_table_with_a_unit_in_its_head_has_rates_without() {
        let text = "| size | default Mbits/sec | tuned Mbits/sec |\n|---|---|---|\n\
            | 64 | 300 | (900) |\n| 1500 | 940.5 | 941 |\nend\n| 9 | 9 | 9 |\n";
        let expected = [("64", vec![vec![300], vec![]]), ("1500", vec![vec![940], vec![941]])];
        assert_eq!(found(text), expected.map(|(name, rates)| (name.to_owned(), rates)));
        let doubted = &runs(&[text.as_bytes()]).rates[0].doubted;
        assert_eq!(*doubted, [(1, BitRate::from_bits_per_second(900_000_000))]);
        assert_eq!(runs(&[text.as_bytes()]).unread, [[5, 6]]);
    }

    #[test]
    fn a_rate_in_prose_is_none() {
        let text = "it reached\n127 Mbits/sec\nin the end, or 12 Mbits/sec\n";
        assert_eq!(found(text), []);
        assert_eq!(runs(&[text.as_bytes()]).unread, [[1, 2, 3]]);
    }
}
