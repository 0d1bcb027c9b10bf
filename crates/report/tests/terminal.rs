//! The table as people see it, from captured records.

use measurement::record::RepeatSummary;
use measurement::{BitRate, RecordSet, TestRecord};

fn table(records: &RecordSet) -> String {
    let mut out = Vec::new();
    linerate_report::terminal::write(records, &mut out).expect("a Vec takes everything");
    // A person sees colours, not escape sequences.
    String::from_utf8(out).expect("text").replace('\x1b', "^")
}

fn one(json: &str) -> RecordSet {
    RecordSet::new(vec![serde_json::from_str::<TestRecord>(json).expect("a record")])
}

fn four_rows() -> RecordSet {
    serde_json::from_str(include_str!("records/four-rows.json")).expect("records")
}

#[test]
fn four_rows_are_one_table() {
    insta::assert_snapshot!(table(&four_rows()));
}

#[test]
fn doubts_stand_under_the_table() {
    insta::assert_snapshot!(table(&one(include_str!("records/interrupted-udp.json"))));
}

#[test]
fn a_failed_run_shows_what_is_known() {
    insta::assert_snapshot!(table(&one(include_str!("records/failed-tcp.json"))));
}

#[test]
fn repeated_rows_have_a_summary() {
    let mut records = four_rows();
    let rate = BitRate::from_bits_per_second;
    records.summaries = vec![RepeatSummary {
        row: "TCP send".to_owned(),
        runs: 3,
        median: rate(95_000_000),
        least: rate(94_000_000),
        most: rate(96_000_000),
    }];
    insta::assert_snapshot!(table(&records));
}

#[test]
fn json_is_the_record_itself_or_a_set() {
    let mut out = Vec::new();
    linerate_report::json::write(&four_rows(), &mut out).expect("a Vec takes everything");
    assert_eq!(serde_json::from_slice::<RecordSet>(&out).expect("a set"), four_rows());
    let single = one(include_str!("records/failed-tcp.json"));
    let mut out = Vec::new();
    linerate_report::json::write(&single, &mut out).expect("a Vec takes everything");
    assert_eq!(serde_json::from_slice::<TestRecord>(&out).expect("a record"), single.records[0]);
}
