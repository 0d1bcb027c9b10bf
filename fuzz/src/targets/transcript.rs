//! Any bytes in place of what iperf3 and iperf print. Such a text comes from anywhere.

use crate::memory;
use analysis::{judge, load_curves};
use measurement::is_shown;
use measurement::json;
use report::import::record;
use report::import::transcript::{Runs, TranscriptRun, runs};

/// Judges one input.
pub(super) fn run(bytes: &[u8]) {
    // The second text may have the other ends of the runs of the first.
    let (first, second) = bytes.split_at(bytes.len() / 2);
    for texts in [&[bytes][..], &[first, second][..]] {
        let found = memory::bounded_to(PER_BYTE, bytes.len(), || runs(texts));
        check(&found, texts);
    }
}

/// Lines are in their text and in order, and a record can be judged, written and read again.
fn check(found: &Runs, texts: &[&[u8]]) {
    assert_eq!((found.unread.len(), found.broken.len()), (texts.len(), texts.len()));
    for (text, unread) in texts.iter().zip(&found.unread) {
        let lines = text.split(|byte| *byte == b'\n').count();
        assert!(unread.is_sorted() && unread.iter().all(|line| (1..=lines).contains(line)));
    }
    found.runs.iter().for_each(check_run);
    _ = load_curves(found.runs.iter().map(|run| &run.record));
}

fn check_run(run: &TranscriptRun) {
    assert!(!run.lines.is_empty() && run.lines.iter().all(|one| one.first <= one.last));
    let outcome = &run.record.outcome;
    let texts = outcome.notes.iter().chain(&outcome.contradictions);
    texts.for_each(|text| assert!(text.chars().all(is_shown), "{text:?}"));
    _ = judge(&run.record);
    let mut text = Vec::new();
    json::write_indented(&run.record, &mut text).expect("a vector takes all");
    let again = record::read(&text).expect("what was written is a record");
    assert_eq!(again.records.len(), 1);
}

/// The shortest row becomes a record with its plan and outcome.
const PER_BYTE: usize = 1_024;
