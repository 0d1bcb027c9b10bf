//! Writes the notes below the table of results, a line for each.

use std::collections::BTreeSet;
use std::io::{self, Write};

use measurement::outcome::Ending;
use measurement::units::counted;
use measurement::{IntoSet, TestRecord, Transport};

use crate::page::write_wrapped;
use crate::runs::Run;
use crate::width::Width;
use crate::{engines, judgement, round_trips};

/// Writes the notes on `rows`: doubts first, then remarks, then checks that could not be made. A
/// note that holds for several rows is written once.
pub(crate) fn write(rows: &[Run], width: Width, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = Lines::default();
    for (record, run) in rows {
        let title = record.plan.title() + run;
        for (stamp, text) in judgement::doubts(record) {
            lines.add(stamp.to_string(), &title, text);
        }
    }
    for (record, run) in rows {
        let title = record.plan.title() + run;
        for text in notes(record) {
            lines.add("note".to_owned(), &title, text);
        }
    }
    for (record, run) in rows {
        let title = record.plan.title() + run;
        for text in judgement::unchecked(record) {
            lines.add("not checked".to_owned(), &title, text);
        }
    }
    if !lines.0.is_empty() {
        writeln!(out)?;
    }
    lines.0.iter().try_for_each(|line| write_wrapped(2, &line.text(rows.len()), width, out))
}

/// How many different remarks there are on `rows`, and how many checks could not be made.
pub(crate) fn counts(rows: &[Run]) -> (usize, usize) {
    let count = |of: &dyn Fn(&TestRecord) -> Vec<String>| {
        let all: BTreeSet<_> = rows.iter().flat_map(|(record, _)| of(record)).into_set();
        all.len()
    };
    (count(&|record| notes(record).collect()), count(&judgement::unchecked))
}

#[derive(Default)]
struct Lines(Vec<Line>);

/// A note, with the titles of the rows that it holds for.
struct Line {
    kind: String,
    titles: Vec<String>,
    text: String,
}

impl Lines {
    fn add(&mut self, kind: String, title: &str, text: String) {
        let same = |line: &&mut Line| line.kind == kind && line.text == text;
        match self.0.iter_mut().find(same) {
            Some(line) if line.titles.iter().any(|one| one == title) => {}
            Some(line) => line.titles.push(title.to_owned()),
            None => self.0.push(Line { kind, titles: vec![title.to_owned()], text }),
        }
    }
}

impl Line {
    /// The line as it is printed in a table of so many `rows`.
    fn text(&self, rows: usize) -> String {
        let Self { kind, titles, text } = self;
        if rows > 1 && titles.len() == rows {
            return format!("{kind}: every row: {text}");
        }
        format!("{kind}: {}: {text}", titles.join(", "))
    }
}

/// Remarks on a record: each a sentence without doubt.
pub(crate) fn notes(record: &TestRecord) -> impl Iterator<Item = String> {
    let own = unjudged_ending(record).into_iter().chain(record.outcome.notes.iter().cloned());
    let own = own.chain(engines::notes(record));
    let own = own.chain(fairness_note(record)).chain(datagram_notes(record));
    own.chain(round_trips::notes(record)).chain(judgement::notes(record))
}

/// The note on a run that did not end as planned.
fn unjudged_ending(record: &TestRecord) -> Option<String> {
    let why = match &record.outcome.ending {
        _ if record.judgement.is_some() => return None,
        Ending::Completed => return None,
        Ending::Interrupted => "the run was interrupted",
        Ending::Failed { .. } => "the run failed",
    };
    Some(format!("the numbers are partial: {why}"))
}

/// The note on a table without fairness: the test was too short for it.
fn fairness_note(record: &TestRecord) -> Option<String> {
    let shares = record.outcome.directions.iter().filter_map(|outcome| outcome.fairness);
    let few = shares
        .filter(|fairness| !fairness.is_meaningful())
        .map(|fairness| fairness.blocks)
        .min()?;
    let block = record.streams.first()?.block;
    let piece = match record.plan.transport {
        Transport::Tcp => "block",
        Transport::Udp => "datagram",
    };
    let pieces = match few {
        0 => format!("less than 1 {piece}"),
        1 => format!("1 {piece}"),
        few => format!("{few} {piece}s"),
    };
    Some(format!(
        "too short to compare streams: the median one moved {pieces} of {}; use more time (-t) or \
         a smaller -l",
        block.expanded()
    ))
}

/// The notes on datagrams that no column of the table counts.
fn datagram_notes(record: &TestRecord) -> Vec<String> {
    let ledgers = || record.outcome.directions.iter().filter_map(|outcome| outcome.datagrams);
    let duplicate: u64 = ledgers().filter_map(|ledger| ledger.duplicate).sum();
    let unaccounted: u64 = ledgers().filter_map(|ledger| ledger.unaccounted).sum();
    let mut notes = Vec::new();
    if duplicate > 0 {
        notes.push(format!("{} arrived more than once", counted(duplicate, "datagram")));
    }
    if unaccounted > 0 {
        notes.push(format!(
            "{}, neither delivered nor lost, {} in flight when iperf3 stopped counting",
            counted(unaccounted, "datagram"),
            if unaccounted == 1 { "was" } else { "were" }
        ));
    }
    notes
}
