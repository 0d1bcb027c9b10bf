//! The table as people see it, from captured records.

use std::time::Duration;

use linerate_report::Width;
use linerate_report::export::{Export, Json};
use measurement::outcome::Fairness;
use measurement::plan::PlanDraft;
use measurement::record::RepeatSummary;
use measurement::{
    BitRate, DelayVariation, Direction, DirectionOutcome, Pacing, PacingReport, PacingWay,
    Quantiles, RecordSet, TestRecord, Throughput, Transport,
};

fn table(records: &RecordSet) -> String {
    let mut out = Vec::new();
    linerate_report::terminal::write(records, linerate_report::Width::UNKNOWN, &mut out)
        .expect("a Vec takes everything");
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
fn a_record_of_which_nothing_is_known_says_where_it_comes_from() {
    let plan = PlanDraft::new(Transport::Tcp, Direction::Send).check().expect("a plan");
    let mut record = TestRecord::imported(plan, "the log of iperf3 3.16");
    assert!(table(&RecordSet::new(vec![record.clone()])).contains(": from the log of iperf3"));
    record.outcome.directions = vec![DirectionOutcome::unknown(Direction::Send)];
    assert!(!table(&RecordSet::new(vec![record])).contains("0 bit/s"), "unknown is not zero");
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
fn the_delay_variation_of_datagrams_stands_under_the_table() {
    let mut records = four_rows();
    let nanos = Quantiles { p50: 12_300, p99: 81_000, max: 1_200_000 };
    records.records[3].outcome.directions[0].ipdv = Some(DelayVariation { pairs: 9, nanos });
    let line = "ipdv: UDP receive: p50 12.3 us, p99 81.0 us, max 1.20 ms";
    assert!(table(&records).contains(line), "{}", table(&records));
}

#[test]
fn only_what_did_not_arrive_is_marked() {
    let marks = |bytes_percent: u64, span_percent: u32| {
        let mut records = four_rows();
        for record in &mut records.records {
            let outcome = &mut record.outcome.directions[0];
            let sent = outcome.acknowledged.or(outcome.offered).expect("a sender");
            let (bytes, span) = (sent.bytes * bytes_percent / 100, sent.span * span_percent / 100);
            outcome.delivered = Some(Throughput::over(bytes, span));
        }
        table(&records).matches(" !").count()
    };
    assert_eq!(marks(100, 105), 0, "the receiver took its time");
    assert_eq!((marks(99, 100), marks(97, 100)), (0, 4));
}

#[test]
fn a_rate_that_is_beside_the_one_asked_is_marked() {
    let marks = |percent: u64| {
        let mut records = four_rows();
        for record in &mut records.records {
            let outcome = &mut record.outcome.directions[0];
            let sent = outcome.acknowledged.or(outcome.offered).expect("a sender");
            let asked = sent.rate.bits_per_second() / 100 * percent;
            outcome.asked = Some(BitRate::from_bits_per_second(asked));
            outcome.delivered = Some(sent);
        }
        table(&records).matches(" !").count()
    };
    assert_eq!([90, 99, 101, 110].map(marks), [4, 0, 0, 4]);
}

#[test]
fn streams_that_moved_next_to_nothing_are_not_compared() {
    let mut records = four_rows();
    let shares = [vec![9_000, 9_000, 2_000], vec![90_000, 90_000, 20_000]];
    for (record, bytes) in records.records.iter_mut().zip(shares) {
        record.outcome.directions[0].fairness =
            Fairness::from_bytes(bytes, Duration::from_secs(1), 1_000);
    }
    insta::assert_snapshot!(table(&records));
}

#[test]
fn runs_of_the_same_row_are_numbered() {
    let mut records = four_rows();
    records.records.truncate(2);
    records.records.extend(four_rows().records);
    records.records[3].outcome.notes = vec!["it rained".to_owned()];
    let table = table(&records);
    for row in ["TCP send 1/2 ", "TCP receive 2/2 ", "UDP send  ", "TCP receive 2/2: it rained"] {
        assert!(table.contains(row), "no '{row}': {table}");
    }
}

#[test]
fn repeated_rows_have_a_summary() {
    let mut records = four_rows();
    let rate = BitRate::from_bits_per_second;
    records.summaries = vec![RepeatSummary {
        row: "TCP send, 3 streams".to_owned(),
        runs: 3,
        median: rate(95_000_000),
        slowest: rate(94_000_000),
        fastest: rate(96_000_000),
        spread: None,
    }];
    insta::assert_snapshot!(table(&records));
}

#[test]
fn json_is_the_record_itself_or_a_set() {
    let mut out = Vec::new();
    Json.write(&four_rows(), Width::UNKNOWN, &mut out).expect("a Vec takes everything");
    assert_eq!(serde_json::from_slice::<RecordSet>(&out).expect("a set"), four_rows());
    let single = one(include_str!("records/failed-tcp.json"));
    let mut out = Vec::new();
    Json.write(&single, Width::UNKNOWN, &mut out).expect("a Vec takes everything");
    assert_eq!(serde_json::from_slice::<TestRecord>(&out).expect("a record"), single.records[0]);
}
