//! Tells the tables of a text apart, line by line.

use super::ahead::{Ahead, Title};
use super::line::Line;
use super::row::PerfRow;
use super::table::Rows;
use crate::import::Table;

/// The tables that were read so far.
#[derive(Default)]
pub(super) struct Reader<'a> {
    pub(super) tables: Vec<Table>,
    /// Numbers of the lines that are neither read nor perf's own.
    pub(super) unread: Vec<usize>,
    open: Option<Rows<'a>>,
    /// Between the last row and the next.
    ahead: Ahead<'a>,
}

impl<'a> Reader<'a> {
    pub(super) fn read(text: &'a str) -> Self {
        let mut reader = Self::default();
        for (at, line) in text.lines().enumerate() {
            reader.take(at + 1, line);
        }
        reader.close();
        reader
    }

    fn take(&mut self, number: usize, line: &'a str) {
        match Line::parse(line, self.open.is_some()) {
            Line::Row(row) => self.row(number, &row),
            Line::Header(header) => {
                self.close();
                self.ahead.header(number, header);
            }
            Line::Section(name) => {
                self.close();
                self.ahead = Ahead::in_section(name);
            }
            Line::Heading(text) => self.between(number, Title::Heading, text),
            Line::Prompt(text) => self.between(number, Title::Prompt, text),
            Line::Prose(text) => {
                self.between(number, Title::Prose, text);
                self.unread.push(number);
            }
            Line::Broken => self.unread.push(number),
            Line::Comment => {}
            Line::Chain => self.open.iter_mut().for_each(Rows::chain),
            Line::Blank => self.open.iter_mut().for_each(Rows::blank),
        }
    }

    fn row(&mut self, number: usize, row: &PerfRow<'a>) {
        if self.open.as_ref().is_some_and(|rows| rows.is_another(row)) {
            self.close();
        }
        let next = Ahead::in_section(self.ahead.section);
        let ahead = std::mem::replace(&mut self.ahead, next);
        self.open.get_or_insert_with(|| Rows::below(ahead, number)).add(row);
    }

    fn between(&mut self, number: usize, title: Title, text: &'a str) {
        self.ahead.title(number, title, text);
        self.open.iter_mut().for_each(Rows::prose);
    }

    fn close(&mut self) {
        self.tables.extend(self.open.take().map(Rows::finish));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First line and heading of each table, and the sum of its shares.
    fn tables(text: &str) -> Vec<(usize, String, u64)> {
        let tables = Reader::read(text).tables.into_iter();
        let sum = |table: &Table| table.profile.rows.iter().map(|row| row.count).sum();
        tables.map(|table| (table.line, table.heading.clone(), sum(&table))).collect()
    }

    fn shares(text: &str) -> Vec<u64> {
        tables(text).into_iter().map(|(_, _, sum)| sum).collect()
    }

    #[test]
    fn a_header_begins_a_table() {
        for header in [
            "# Overhead  Shared Object  Symbol",
            "# To display the perf.data header info, please use --header",
            "# Samples: 1K of event 'cycles'",
            "Samples: 1K of event 'cycles'",
            "   PerfTop:    1962 irqs/sec  kernel:95.0% [4000Hz cycles]",
        ] {
            let text =
                format!("{header}\n30.00% [kernel] [k] a\n{header}\n20.00% [kernel] [k] b\n");
            assert_eq!(shares(&text), [3_000, 2_000], "{text}");
        }
    }

    #[test]
    fn a_sum_above_all_begins_a_table_and_rounding_does_not() {
        assert_eq!(shares("60.00% a [k] a\n40.01% a [k] b\n"), [10_001]);
        assert_eq!(shares("60.00% a [k] a\n40.02% a [k] b\n"), [6_000, 4_002]);
        assert_eq!(shares("60% a [k] a\n40% a [k] b\n1% a [k] c\n"), [10_100]);
    }

    #[test]
    fn a_larger_share_behind_prose_begins_a_table() {
        let text = "30.00% a [k] a\n20.00% a [k] b\nThen I patched it.\n25.00% a [k] c\n";
        assert_eq!(shares(text), [5_000, 2_500]);
        let text = "30.00% a [k] a\n20.00% a [k] b\n\n25.00% a [k] c\n";
        assert_eq!(shares(text), [5_000, 2_500]);
        let sorted_on = "30.00% a [k] a\n20.00% a [k] b\nand also\n15.00% a [k] c\n";
        assert_eq!(shares(sorted_on), [6_500]);
        let never_sorted = "20.00% a [k] a\n30.00% a [k] b\nand also\n35.00% a [k] c\n";
        assert_eq!(shares(never_sorted), [8_500]);
    }

    #[test]
    fn a_function_that_comes_again_behind_prose_begins_a_table() {
        let text = "30.00% a [k] a\n20.00% a [k] b\nafter:\n10.00% a [k] a\n";
        assert_eq!(shares(text), [5_000, 1_000]);
        // Two functions of one file may have the same name.
        assert_eq!(shares("30.00% a [k] a\n20.00% a [k] a\n"), [5_000]);
    }

    #[test]
    fn blank_lines_between_chains_of_calls_are_the_tables_own() {
        let text = "90.00% 1.00% a [k] a\n        |--9%--b\n\n80.00% 30.00% a [k] b\n        \
                    ---b\n\n85.00% 20.00% a [k] c\n";
        assert_eq!(shares(text), [5_100]);
    }

    #[test]
    fn the_nearest_heading_comes_before_a_prompt_and_that_before_prose() {
        let text = "Hello.\n## Before\nmy board\n$ perf report\n30.00% a [k] a\n\n$ perf report -i b\n\
                    see here\n# Overhead  Symbol\n50.00% a [k] a\nso it is now\n\nfine\n60% a [k] a\n";
        let found = tables(text);
        let headings: Vec<_> = found.iter().map(|(line, title, _)| (*line, &**title)).collect();
        assert_eq!(headings, [(2, "Before"), (7, "$ perf report -i b"), (13, "fine")]);
    }

    #[test]
    fn a_section_holds_until_the_next() {
        let text = "--- TCP recv ---\n* Before\n40.40% [kernel] [k] a\n* After\n50.35% [kernel] [k] a\n\n\
                    --- TCP send ---\n* Before\n19.96% [kernel] [k] a\n";
        let tables = Reader::read(text).tables;
        let named: Vec<_> = tables.iter().map(|one| (&*one.section, &*one.heading)).collect();
        let expected = [("TCP recv", "Before"), ("TCP recv", "After"), ("TCP send", "Before")];
        assert_eq!(named, expected);
    }

    #[test]
    fn lines_that_are_not_read_are_listed() {
        let text = "Hi,\n# Overhead  Symbol\n#\n30.00% a [k] a\n4O.00% a [k] b\n\nbye\n";
        assert_eq!(Reader::read(text).unread, [1, 5, 7]);
    }

    #[test]
    fn what_a_terminal_must_not_get_is_no_heading() {
        let long = "x".repeat(1_000);
        let text = format!("# \u{7}a{long}\n30.00% a [k] a\n");
        let heading = &tables(&text)[0].1;
        assert!(heading.starts_with("ax") && heading.len() < 100, "{heading}");
    }
}
