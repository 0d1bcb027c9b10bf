//! Writes several CPU profiles that were in one text, e.g. from before and after a change: where
//! CPU time went in each, then the shares side by side. They are compared, never added.

use std::io::{self, Write};

use measurement::verdict::WhatIf;
use measurement::{Attribution, IntoSet, Order, Work};

use crate::columns::{Cell, Columns, Emphasis};
use crate::headline;
use crate::page::write_wrapped;
use crate::verdict::percent;
use crate::width::Width;

/// One of several CPU profiles that were in one text, and its CPU time by kind of work.
#[derive(Clone, Debug, PartialEq)]
pub struct AttributedTable {
    /// Number of the line where it begins.
    pub line: usize,
    /// The part of the text that it is in, e.g. `TCP recv`; empty: there is none.
    pub section: String,
    /// Text above it; empty: there is none.
    pub heading: String,
    /// CPU time by kind of work.
    pub attribution: Attribution,
}

/// Writes where CPU time went in each profile, below its line number and heading, and then side by
/// side those of each section, or all if there are no sections; in lines that fit the `width`.
///
/// # Errors
/// An error of writing to `out`.
pub fn write(tables: &[AttributedTable], width: Width, out: &mut dyn Write) -> io::Result<()> {
    let numbered: Vec<_> = (1..).zip(tables).collect();
    for (number, table) in &numbered {
        write_wrapped(0, &place(*number, table), width, out)?;
        headline::write(&table.attribution, width, out)?;
        writeln!(out)?;
    }
    let sections = numbered.chunk_by(|(_, one), (_, next)| one.section == next.section);
    let compared = sections.filter(|section| section.len() > 1);
    for (at, section) in compared.enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        write_comparison(section, width, out)?;
    }
    Ok(())
}

/// `table 1, line 7: TCP recv: Before`.
fn place(number: usize, table: &AttributedTable) -> String {
    let names = [&table.section, &table.heading].into_iter().filter(|name| !name.is_empty());
    let place = format!("table {number}, line {}", table.line);
    names.fold(place, |place, name| place + ": " + name)
}

/// A table with its number.
type Numbered<'a> = (usize, &'a AttributedTable);

fn write_comparison(tables: &[Numbered<'_>], width: Width, out: &mut dyn Write) -> io::Result<()> {
    let shown = &tables[..tables.len().min(MOST_COMPARED)];
    let section = shown.first().map_or("", |(_, table)| &table.section);
    let which = match section {
        "" if shown.len() < tables.len() => {
            format!("the first {} of {} tables", shown.len(), tables.len())
        }
        "" => format!("{} tables", tables.len()),
        section => section.to_owned(),
    };
    let text = format!("share of the busy time in {which} (empty: no function of this kind in it)");
    write_wrapped(0, &text, width, out)?;
    writeln!(out)?;
    let mut columns = Columns::default();
    columns.push(head(shown));
    for work in works(shown) {
        columns.push(row(work, shown));
    }
    for case in cases(shown) {
        columns.push(rates(case, shown));
    }
    columns.write(out, INDENT, width)?;
    write_assumption(shown, width, out)
}

/// One rate was given, and may have been measured during one of the tables only.
fn write_assumption(tables: &[Numbered<'_>], width: Width, out: &mut dyn Write) -> io::Result<()> {
    let mut estimates = tables.iter().flat_map(|(_, table)| &table.attribution.what_if);
    let Some(WhatIf { from, .. }) = estimates.next() else { return Ok(()) };
    writeln!(out)?;
    let text = format!("the rates assume that {from} was reached during each of the tables");
    write_wrapped(0, &text, width, out)
}

/// `table 1`, `-> table 2`; in a section what stands above each, if that is short.
fn head(tables: &[Numbered<'_>]) -> Vec<Cell> {
    let name = |(number, table): &Numbered<'_>| {
        let is_short = (1..=LONGEST_NAME).contains(&table.heading.chars().count());
        let is_named = is_short && !table.section.is_empty();
        if is_named { table.heading.clone() } else { format!("table {number}") }
    };
    let arrow = |(at, name): (usize, String)| if at == 0 { name } else { format!("-> {name}") };
    let names = tables.iter().map(name).enumerate().map(arrow);
    let names = std::iter::once(String::new()).chain(names);
    names.map(|name| Cell::new(name, Emphasis::Faint)).collect()
}

/// Kinds of work, the largest of any table first.
fn works(tables: &[Numbered<'_>]) -> Vec<Work> {
    let all = tables.iter().flat_map(|(_, table)| table.attribution.work.keys().copied());
    let mut all: Vec<_> = all.into_set().into_iter().collect();
    let most = |work| tables.iter().filter_map(|(_, table)| share(table, work)).fold(0.0, f64::max);
    all.retain(|work| *work != Work::Idle);
    all.order_by(|a, b| most(*b).total_cmp(&most(*a)));
    all
}

fn row(work: Work, tables: &[Numbered<'_>]) -> Vec<Cell> {
    let shares =
        tables.iter().map(|(_, table)| share(table, work).map_or_else(String::new, percent));
    std::iter::once(work.to_string()).chain(shares).map(Cell::from).collect()
}

fn share(table: &AttributedTable, work: Work) -> Option<f64> {
    table.attribution.work.get(&work).map(|cost| cost.share)
}

/// Work that any table has an estimate without; the largest part of each is its own.
fn cases<'a>(tables: &[Numbered<'a>]) -> Vec<&'a str> {
    let estimates = tables.iter().flat_map(|(_, table)| &table.attribution.what_if);
    let mut cases: Vec<&'a str> = Vec::new();
    for case in estimates.map(|one| one.without.trim_end_matches(',')) {
        if !cases.contains(&case) {
            cases.push(case);
        }
    }
    cases
}

/// `at most, without all copies`, and the rate by each table.
fn rates(case: &str, tables: &[Numbered<'_>]) -> Vec<Cell> {
    let rate = |(_, table): &Numbered<'_>| {
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
pub fn write_unread(lines: &[usize], width: Width, out: &mut dyn Write) -> io::Result<()> {
    let line = listed(lines).map(|lines| format!("not read: {lines}"));
    line.map_or(Ok(()), |line| write_wrapped(0, &line, width, out))
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
/// Tables side by side.
const MOST_COMPARED: usize = 6;
/// Letters of a heading that names a column.
const LONGEST_NAME: usize = 16;
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
        AttributedTable { line, section: String::new(), heading: heading.to_owned(), attribution }
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
        let text = text(|out| write(&[before, after], Width::UNKNOWN, out));
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
    fn those_of_a_section_are_compared() {
        let sections = [("TCP recv", 0.4), ("TCP recv", 0.7), ("TCP send", 0.2), ("TCP send", 0.1)];
        let tables = sections.iter().zip(["Before", "After"].iter().cycle());
        let tables: Vec<_> = tables
            .map(|((section, share), heading)| AttributedTable {
                section: (*section).to_owned(),
                ..table(1, heading, &[(Work::CopyUser, *share)])
            })
            .collect();
        let text = text(|out| write(&tables, Width::UNKNOWN, out));
        assert!(text.contains("table 2, line 1: TCP recv: After\n"), "{text}");
        let comparison =
            "share of the busy time in TCP send (empty: no function of this kind in it)

                                Before   -> After
    copy to or from processes   20.0 %     10.0 %
";
        assert!(text.ends_with(comparison), "{text}");
        assert_eq!(text.matches("-> After").count(), 2, "{text}");
    }

    #[test]
    fn of_many_tables_the_first_are_compared() {
        let tables: Vec<_> = (1..9).map(|line| table(line, "", &[(Work::Driver, 1.0)])).collect();
        let text = text(|out| write(&tables, Width::UNKNOWN, out));
        assert!(text.contains("table 8, line 8") && text.contains("the first 6 of 8 tables"));
        assert!(text.contains("-> table 6\n"), "{text}");
    }

    #[test]
    fn lines_that_were_not_read_are_counted_and_listed() {
        assert_eq!(text(|out| write_unread(&[], Width::UNKNOWN, out)), "");
        assert_eq!(text(|out| write_unread(&[7], Width::UNKNOWN, out)), "not read: 1 line (7)\n");
        let lines = [2, 5, 6, 7, 9];
        assert_eq!(
            text(|out| write_unread(&lines, Width::UNKNOWN, out)),
            "not read: 5 lines (2, 5-7, 9)\n"
        );
        let many: Vec<_> = (0..100).map(|line| 2 * line).collect();
        assert!(text(|out| write_unread(&many, Width::UNKNOWN, out)).ends_with(", 38, ...)\n"));
    }
}
