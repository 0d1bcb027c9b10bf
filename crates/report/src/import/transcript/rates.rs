//! Rates by themselves, in lines with nothing else, as slides and notes have them: they are of no
//! run, and are only listed. Two columns may be before and after a change.

use measurement::BitRate;

use super::cursor::Cursor;
use super::found::{Found, Rates};
use super::name::shortened;
use super::row::rate;

/// Puts lines with rates together.
#[derive(Default)]
pub(super) struct Collector {
    heading: String,
    open: Option<Rates>,
    /// Lines of the open rates.
    lines: Vec<usize>,
}

impl Collector {
    /// Takes a line that says nothing else; false: it has no rates, or more than them.
    pub(super) fn take(&mut self, text: usize, line: usize, said: &str, found: &mut Found) -> bool {
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

    /// Ends rates that stand together; one by itself is prose.
    pub(super) fn close(&mut self, found: &mut Found) {
        let lines = std::mem::take(&mut self.lines);
        let Some(rates) = self.open.take() else { return };
        if rates.columns.iter().map(Vec::len).sum::<usize>() > 1 {
            found.rates.push(rates);
        } else {
            found.unread.extend(lines);
            found.unread.sort_unstable();
        }
    }
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
    fn a_rate_in_prose_is_none() {
        let text = "it reached\n127 Mbits/sec\nin the end, or 12 Mbits/sec\n";
        assert_eq!(found(text), []);
        assert_eq!(runs(&[text.as_bytes()]).unread, [[1, 2, 3]]);
    }
}
