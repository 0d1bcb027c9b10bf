//! The table as people see it, from captured records.

use std::time::Duration;

use measurement::record::RepeatSummary;
use measurement::{BitRate, Pacing, PacingReport, PacingWay, Quantiles, RecordSet, TestRecord};

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
fn how_a_rate_was_kept_stands_under_the_table() {
    let mut records = four_rows();
    let rate = BitRate::from_bits_per_second;
    let quiet = PacingReport {
        pacing: Pacing::Smooth,
        way: PacingWay::Kernel,
        asked: rate(100_000_000),
        achieved: rate(100_000_000),
        achieved_outside_stalls: rate(100_000_000),
        sending: Duration::from_secs(5),
        stalled: Duration::ZERO,
        stalls: 0,
        forgone: Duration::ZERO,
        batches: Quantiles { p50: 1, p99: 1, max: 1 },
        gap_error_nanos: Quantiles { p50: 900, p99: 40_000, max: 2_000_000 },
        lateness: vec![9, 0, 3],
        spin_share: 0.02,
    };
    let batches = Quantiles { p50: 4, p99: 4, max: 4 };
    let (stalled, achieved) = (Duration::from_micros(12_400), rate(99_700_000));
    let stalled = PacingReport { batches, stalled, stalls: 3, achieved, ..quiet.clone() };
    let (pacing, way) = (Pacing::Even, PacingWay::TimerAndSpin);
    let even = PacingReport { pacing, way, spin_share: 0.347, ..quiet.clone() };
    let forgone = Duration::from_millis(2_500);
    let repaid = PacingReport { pacing: Pacing::Repay, forgone, ..stalled.clone() };
    for (record, report) in records.records.iter_mut().zip([quiet, stalled, even, repaid]) {
        record.outcome.directions[0].pacing = Some(report);
    }
    insta::assert_snapshot!(table(&records));
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
