//! Writes several CPU profiles that were in one text, e.g. from before and after a change: where
//! CPU time went in each, then the shares side by side. They are compared, never added.

use std::collections::BTreeSet;
use std::io::{self, Write};

use measurement::verdict::WhatIf;
use measurement::{Attribution, Work};

use crate::columns::{Cell, Columns, Emphasis};
use crate::headline;
use crate::verdict::percent;

/// One of several CPU profiles that were in one text, and its CPU time by kind of work.
#[derive(Clone, Debug, PartialEq)]
pub struct AttributedTable {
    /// Number of the line where it begins.
    pub line: usize,
    /// Text above it; empty: there is none.
    pub heading: String,
    /// CPU time by kind of work.
    pub attribution: Attribution,
}

/// Writes where CPU time went in each profile, below its line number and heading, and then all of
/// them side by side.
///
/// # Errors
/// An error of writing to `out`.
pub fn write(tables: &[AttributedTable], out: &mut dyn Write) -> io::Result<()> {
    for (at, table) in tables.iter().enumerate() {
        writeln!(out, "{}", place(at, table))?;
        headline::write(&table.attribution, out)?;
        writeln!(out)?;
    }
    write_comparison(tables, out)
}

/// `table 1, line 7: Before`.
fn place(at: usize, table: &AttributedTable) -> String {
    let place = format!("table {}, line {}", at + 1, table.line);
    if table.heading.is_empty() { place } else { format!("{place}: {}", table.heading) }
}

fn write_comparison(tables: &[AttributedTable], out: &mut dyn Write) -> io::Result<()> {
    let shown = &tables[..tables.len().min(MOST_COMPARED)];
    let which = if shown.len() < tables.len() {
        format!("the first {} of {} tables", shown.len(), tables.len())
    } else {
        format!("{} tables", tables.len())
    };
    writeln!(out, "share of the busy time in {which} (empty: no function of this kind in it)")?;
    writeln!(out)?;
    let mut columns = Columns::default();
    columns.push(head(shown.len()));
    for work in works(shown) {
        columns.push(row(work, shown));
    }
    for case in cases(shown) {
        columns.push(rates(case, shown));
    }
    columns.write(out, INDENT)?;
    write_assumption(shown, out)
}

/// One rate was given, and may have been measured during one of the tables only.
fn write_assumption(tables: &[AttributedTable], out: &mut dyn Write) -> io::Result<()> {
    let mut estimates = tables.iter().flat_map(|table| &table.attribution.what_if);
    let Some(WhatIf { from, .. }) = estimates.next() else { return Ok(()) };
    writeln!(out)?;
    writeln!(out, "the rates assume that {from} was reached during each of the tables")
}

/// `table 1`, `-> table 2`.
fn head(count: usize) -> Vec<Cell> {
    let name = |at| if at == 1 { "table 1".to_owned() } else { format!("-> table {at}") };
    let names = std::iter::once(String::new()).chain((1..=count).map(name));
    names.map(|name| Cell::new(name, Emphasis::Faint)).collect()
}

/// Kinds of work, the largest of any table first.
fn works(tables: &[AttributedTable]) -> Vec<Work> {
    let all = tables.iter().flat_map(|table| table.attribution.work.keys().copied());
    let mut all: Vec<_> = all.collect::<BTreeSet<_>>().into_iter().collect();
    let most = |work| tables.iter().filter_map(|table| share(table, work)).fold(0.0, f64::max);
    all.retain(|work| *work != Work::Idle);
    all.sort_by(|a, b| most(*b).total_cmp(&most(*a)));
    all
}

fn row(work: Work, tables: &[AttributedTable]) -> Vec<Cell> {
    let shares = tables.iter().map(|table| share(table, work).map_or_else(String::new, percent));
    std::iter::once(work.to_string()).chain(shares).map(Cell::from).collect()
}

fn share(table: &AttributedTable, work: Work) -> Option<f64> {
    table.attribution.work.get(&work).map(|cost| cost.share)
}

/// Work that any table has an estimate without; the largest part of each is its own.
fn cases(tables: &[AttributedTable]) -> Vec<&str> {
    let estimates = tables.iter().flat_map(|table| &table.attribution.what_if);
    let mut cases: Vec<&str> = Vec::new();
    for case in estimates.map(|one| one.without.trim_end_matches(',')) {
        if !cases.contains(&case) {
            cases.push(case);
        }
    }
    cases
}

/// `at most, without all copies`, and the rate by each table.
fn rates(case: &str, tables: &[AttributedTable]) -> Vec<Cell> {
    let rate = |table: &AttributedTable| {
        let mut estimates = table.attribution.what_if.iter();
        let one = estimates.find(|one| one.without.trim_end_matches(',') == case);
        one.map_or_else(String::new, |one| one.at_most.to_string())
    };
    let rates = tables.iter().map(rate);
    std::iter::once(format!("at most, without {case}")).chain(rates).map(Cell::from).collect()
}

/// Writes which lines of a text were not read: `not read: 3 lines (2, 5-6)`. Nothing if all were.
///
/// # Errors
/// An error of writing to `out`.
pub fn write_unread(lines: &[usize], out: &mut dyn Write) -> io::Result<()> {
    listed(lines).map_or(Ok(()), |lines| writeln!(out, "not read: {lines}"))
}

/// `5 lines (2, 5-7, 9)`; none: there are none.
pub(crate) fn listed(lines: &[usize]) -> Option<String> {
    let noun = if lines.len() == 1 { "line" } else { "lines" };
    (!lines.is_empty()).then(|| format!("{} {noun} ({})", lines.len(), in_ranges(lines)))
}

/// `run 7` or `runs 2, 5-7`.
pub(crate) fn numbered(noun: &str, numbers: &[usize]) -> String {
    let plural = if numbers.len() == 1 { "" } else { "s" };
    format!("{noun}{plural} {}", in_ranges(numbers))
}

fn in_ranges(numbers: &[usize]) -> String {
    let ranges = ranges(numbers);
    let rest = if ranges.len() > MOST_RANGES { ", ..." } else { "" };
    let listed: Vec<_> = ranges.into_iter().take(MOST_RANGES).map(range).collect();
    format!("{}{rest}", listed.join(", "))
}

/// Numbers that follow one another, together.
fn ranges(lines: &[usize]) -> Vec<(usize, usize)> {
    let chunks = lines.chunk_by(|a, b| a + 1 == *b);
    chunks.filter_map(|chunk| Some((*chunk.first()?, *chunk.last()?))).collect()
}

fn range((first, last): (usize, usize)) -> String {
    if first == last { first.to_string() } else { format!("{first}-{last}") }
}

const INDENT: usize = 4;
/// Tables side by side, as wide as a terminal.
const MOST_COMPARED: usize = 6;
const MOST_RANGES: usize = 20;

#[cfg(test)]
mod tests {
    use measurement::verdict::Cost;
    use measurement::{BitRate, ProfileSource, Role};

    use super::*;

    fn table(line: usize, heading: &str, work: &[(Work, f64)]) -> AttributedTable {
        let cost = |share| Cost { share, nanos_per_kib: None };
        let attribution = Attribution {
            host: Role::Here,
            source: ProfileSource::Imported("perf report".to_owned()),
            samples: 10_000,
            labelled: 1.0,
            work: work.iter().map(|(work, share)| (*work, cost(*share))).collect(),
            cpus: Vec::new(),
            what_if: Vec::new(),
        };
        AttributedTable { line, heading: heading.to_owned(), attribution }
    }

    fn estimate(table: &mut AttributedTable, without: &str, mbps: u64) {
        let rate = |mbps| BitRate::from_bits_per_second(mbps * 1_000_000);
        let (without, from) = (without.to_owned(), rate(100));
        table.attribution.what_if.push(WhatIf { without, from, at_most: rate(mbps) });
    }

    fn text(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
        let mut text = Vec::new();
        write(&mut text).expect("a vector takes all");
        let text = String::from_utf8(text).expect("it is text");
        text.replace("\u{1b}[2m", "").replace("\u{1b}[0m", "")
    }

    #[test]
    fn tables_stand_side_by_side_with_the_rates_that_each_allows() {
        let mut before = table(3, "Before", &[(Work::CopyUser, 0.4), (Work::Driver, 0.6)]);
        let mut after = table(9, "", &[(Work::CopyUser, 0.7), (Work::Checksum, 0.3)]);
        estimate(&mut before, "all copies", 166);
        estimate(&mut after, "all copies", 333);
        estimate(&mut after, "checksums, the largest part,", 142);
        let text = text(|out| write(&[before, after], out));
        assert!(text.starts_with("table 1, line 3: Before\ndriver limits: 60 %"), "{text}");
        assert!(text.contains("\ntable 2, line 9\ncopying limits: 70 %"), "{text}");
        let comparison = "
                                                        table 1     -> table 2
    copy to or from processes                            40.0 %         70.0 %
    driver                                               60.0 %
    checksums                                                           30.0 %
    at most, without all copies                    166.0 Mbit/s   333.0 Mbit/s
    at most, without checksums, the largest part                  142.0 Mbit/s

the rates assume that 100.0 Mbit/s was reached during each of the tables
";
        assert!(text.ends_with(comparison), "{text}");
    }

    #[test]
    fn of_many_tables_the_first_are_compared() {
        let tables: Vec<_> = (1..9).map(|line| table(line, "", &[(Work::Driver, 1.0)])).collect();
        let text = text(|out| write(&tables, out));
        assert!(text.contains("table 8, line 8") && text.contains("the first 6 of 8 tables"));
        assert!(text.contains("-> table 6\n"), "{text}");
    }

    #[test]
    fn lines_that_were_not_read_are_counted_and_listed() {
        assert_eq!(text(|out| write_unread(&[], out)), "");
        assert_eq!(text(|out| write_unread(&[7], out)), "not read: 1 line (7)\n");
        let lines = [2, 5, 6, 7, 9];
        assert_eq!(text(|out| write_unread(&lines, out)), "not read: 5 lines (2, 5-7, 9)\n");
        let many: Vec<_> = (0..100).map(|line| 2 * line).collect();
        assert!(text(|out| write_unread(&many, out)).ends_with(", 38, ...)\n"));
    }
}
