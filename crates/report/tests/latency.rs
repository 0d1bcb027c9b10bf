//! The screen of `linerate latency`, from a captured run over a shaped link.

use linerate_report::export::{Export, Latency};
use linerate_report::latency::Remarks;
use linerate_report::{Glyphs, Width};
use measurement::RecordSet;

fn records() -> RecordSet {
    serde_json::from_str(include_str!("records/latency.json")).expect("records")
}

fn screen(records: &RecordSet, format: Latency) -> String {
    let mut out = Vec::new();
    format.write(records, Width::UNKNOWN, &mut out).expect("a Vec takes everything");
    String::from_utf8(out).expect("text")
}

/// Text as it is seen: without the escape sequences of colours.
fn seen(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |seen, part| seen + part.split_once('m').map_or("", |(_, rest)| rest))
}

#[test]
fn the_answer_comes_first_and_all_fits_a_terminal() {
    for glyphs in [Glyphs::Ascii, Glyphs::Braille] {
        let text = seen(&screen(&records(), Latency { glyphs, remarks: Remarks::Few }));
        // With a line for the prompt.
        assert!(text.lines().count() < 24, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}

#[test]
fn files_and_old_terminals_get_ascii() {
    let text = screen(&records(), Latency::PLAIN);
    assert!(seen(&text).is_ascii(), "{text}");
    insta::assert_snapshot!(seen(&text));
}

#[test]
fn a_terminal_gets_braille() {
    let format = Latency { glyphs: Glyphs::Braille, remarks: Remarks::Few };
    insta::assert_snapshot!(seen(&screen(&records(), format)));
}

#[test]
fn verdicts_and_notes_are_there_if_asked_for() {
    let complete = Latency { remarks: Remarks::All, ..Latency::PLAIN };
    let text = screen(&records(), complete);
    assert!(text.contains("verdict: TCP send"), "{text}");
    assert!(text.contains("of it on the way there"), "{text}");
    assert!(!screen(&records(), Latency::PLAIN).contains("verdict:"), "only if asked for");
}

#[test]
fn unanswered_probes_have_no_grade() {
    let mut records = records();
    for record in &mut records.records {
        if let Some(latency) = &mut record.outcome.latency {
            let (every, idle) = (latency.every, latency.idle.clone());
            *latency = measurement::Loaded { every, idle, ..Default::default() };
        }
    }
    let text = seen(&screen(&records, Latency::PLAIN));
    assert!(text.contains("note: TCP send: no probe was answered"), "{text}");
    assert!(!text.contains("Bufferbloat"), "{text}");
}

#[test]
fn records_without_round_trips_say_so() {
    let rates = serde_json::from_str(include_str!("records/four-rows.json")).expect("records");
    let text = screen(&rates, Latency::PLAIN);
    assert!(text.contains("no round trips were measured"), "{text}");
}
