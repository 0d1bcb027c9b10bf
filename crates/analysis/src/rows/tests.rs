use measurement::plan::PlanDraft;
use measurement::{Conclusion, Direction, RuleId, TestRecord, Throughput};

use crate::test_record;
use crate::{judge, judge_together};

/// A judged row whose payload arrived at so many Mbit/s.
fn row(
    mut record: TestRecord,
    direction: Direction,
    mbps: u64,
    spoil: impl Fn(&mut TestRecord),
) -> TestRecord {
    record.plan = test_record::plan_with(&record.plan, |draft: &mut PlanDraft| {
        draft.direction = direction;
        draft.options.rate = None;
    });
    let outcome = &mut record.outcome.directions[0];
    (outcome.direction, outcome.asked) = (direction, None);
    spoil(&mut record);
    let span = std::time::Duration::from_secs(10);
    let delivered = Throughput::over(mbps * 10_000_000 / 8, span);
    record.outcome.directions[0].delivered = Some(delivered);
    record.judgement = Some(judge(&record));
    record
}

/// A queue on the path stands while the sender waits for its congestion window.
fn wait_in_a_queue(record: &mut TestRecord) {
    let tcp = test_record::sent(record);
    (tcp.rtt_micros, tcp.min_rtt_micros) = (4_000, 50);
    for sample in &mut record.samples {
        let tcp = sample.streams[0].tcp.as_mut().expect("TCP");
        (tcp.rtt_micros, tcp.min_rtt_micros) = (4_000, 50);
    }
}

fn lose_most(record: &mut TestRecord) {
    test_record::lose(record, 60_000);
}

fn headline(record: &TestRecord) -> Option<RuleId> {
    let verdict = record.judgement.as_ref()?.verdict.as_ref()?;
    let is_limited = verdict.conclusion == Conclusion::Limited;
    is_limited.then(|| verdict.findings[0].rule)
}

#[test]
fn rows_that_stop_at_one_rate_on_the_wire_name_the_path() {
    let mut rows = [
        row(test_record::tcp(), Direction::Send, 572, wait_in_a_queue),
        row(test_record::udp(), Direction::Send, 583, lose_most),
    ];
    judge_together(&mut rows);
    for row in &rows {
        assert_eq!(headline(row), Some(RuleId::PathRateLimit));
        let verdict = row.judgement.as_ref().expect("judged").verdict.as_ref().expect("limited");
        assert!(verdict.sentence.contains("all 2 rows stop at"), "{}", verdict.sentence);
    }
}

#[test]
fn rows_of_different_rates_keep_their_own_verdicts() {
    let mut rows = [
        row(test_record::tcp(), Direction::Send, 300, wait_in_a_queue),
        row(test_record::udp(), Direction::Send, 400, lose_most),
    ];
    let before: Vec<_> = rows.iter().map(headline).collect();
    judge_together(&mut rows);
    assert_eq!(rows.iter().map(headline).collect::<Vec<_>>(), before);
}

#[test]
fn a_queue_that_only_tcp_meets_is_on_the_way_back() {
    let mut rows = [
        row(test_record::tcp(), Direction::Send, 20, wait_in_a_queue),
        row(test_record::udp(), Direction::Send, 583, |_| ()),
    ];
    judge_together(&mut rows);
    assert_eq!(headline(&rows[0]), Some(RuleId::AckPathLimited));
}
