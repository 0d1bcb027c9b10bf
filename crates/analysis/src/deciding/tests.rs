//! Questions that rows call for, and none where nothing would decide.

use std::time::Duration;

use measurement::plan::PlanDraft;
use measurement::{Direction, End, RuleId, TestRecord, Transport};

use crate::bottleneck;
use crate::test_record::{self, host, lose, plan_with, sent};
use crate::{deciding_plan, judge, judge_together};

fn judged(mut record: TestRecord, spoil: impl FnOnce(&mut TestRecord)) -> TestRecord {
    spoil(&mut record);
    record.judgement = Some(judge(&record));
    record
}

/// TCP on which the path loses one in a hundred segments.
fn lossy_tcp() -> TestRecord {
    judged(test_record::tcp(), |record| test_record::send_again(record, 1_000, 10))
}

/// UDP at a rate, of which a share was lost.
fn paced(plan: &measurement::TestPlan, lost: u64) -> TestRecord {
    judged(test_record::udp(), |record| {
        lose(record, lost);
        record.plan = plan.clone();
        record.outcome.directions[0].asked = plan.asked();
        record.outcome.directions[0].offered = plan.asked().map(|rate| measurement::Throughput {
            bytes: rate.bits_per_second() * 2 / 8,
            span: Duration::from_secs(2),
            rate,
        });
        record.origin.question = Some("a question".to_owned());
    })
}

/// The next plan, in short: `UDP -b 63000000`.
fn next(records: &[TestRecord]) -> Option<(Transport, PlanDraft)> {
    let plan = deciding_plan(records)?.plan;
    assert!(matches!(plan.end, End::Time(time) if time <= Duration::from_secs(2)), "{plan:?}");
    Some((plan.transport, PlanDraft::from(plan)))
}

fn rate(draft: &PlanDraft) -> u64 {
    draft.options.rate.expect("a rate").bits_per_second()
}

#[test]
fn loss_of_datagrams_calls_for_a_slower_run_once() {
    let lossy = judged(test_record::udp(), |record| lose(record, 10_000));
    let (transport, draft) = next(std::slice::from_ref(&lossy)).expect("a slower run");
    assert_eq!((transport, rate(&draft)), (Transport::Udp, 63_000_000));
    let plan = draft.check().expect("a plan");
    assert_eq!(next(&[lossy, paced(&plan, 0)]), None);
}

#[test]
fn loss_that_a_short_run_cannot_show_calls_for_nothing() {
    let mut few = test_record::udp();
    few.plan = plan_with(&few.plan, |draft| draft.end = End::Time(Duration::from_millis(10)));
    assert_eq!(next(&[judged(few, |record| lose(record, 1_000))]), None);
}

#[test]
fn what_was_delivered_calls_for_nothing() {
    assert_eq!(next(&[judged(test_record::udp(), |_| ())]), None);
}

#[test]
fn loss_of_tcp_calls_for_datagrams_below_its_rate_and_then_above() {
    let tcp = lossy_tcp();
    let (transport, below) = next(std::slice::from_ref(&tcp)).expect("datagrams");
    assert_eq!((transport, rate(&below)), (Transport::Udp, 90_000_000));
    let below = below.check().expect("a plan");
    let (transport, above) = next(&[tcp.clone(), paced(&below, 0)]).expect("more datagrams");
    assert_eq!((transport, rate(&above)), (Transport::Udp, 220_000_000));
    assert_eq!(next(&[tcp, paced(&below, 1_000)]), None, "random loss is an answer");
}

#[test]
fn loss_at_any_rate_calls_for_bbr_where_everybody_may_use_it() {
    let spoil = |record: &mut TestRecord| {
        test_record::send_again(record, 1_000, 10);
        record.streams[0].congestion = Some("cubic".to_owned());
        let settings = &mut host(record, &measurement::Role::Here).inventory.settings;
        let name = "net.ipv4.tcp_allowed_congestion_control";
        settings.insert(name.to_owned(), "reno cubic bbr".to_owned());
    };
    let tcp = judged(test_record::tcp(), spoil);
    let (_, below) = next(std::slice::from_ref(&tcp)).expect("datagrams");
    let below = paced(&below.check().expect("a plan"), 1_000);
    let (transport, draft) = next(&[tcp, below]).expect("another congestion control");
    assert_eq!((transport, draft.options.congestion.as_deref()), (Transport::Tcp, Some("bbr")));
}

#[test]
fn a_buffer_that_may_limit_calls_for_a_larger_one_if_kernels_grant_it() {
    let spoil = |record: &mut TestRecord| {
        let tcp = sent(record);
        (tcp.receive_window_limited_micros, tcp.min_rtt_micros) = (1_500_000, 20_000);
        tcp.rtt_micros = 20_000;
    };
    let tcp = judged(test_record::tcp(), spoil);
    let verdict = tcp.judgement.as_ref().and_then(|one| one.verdict.as_ref()).expect("judged");
    assert_eq!(verdict.findings[0].rule, RuleId::ReceiveWindowLimited, "{verdict:?}");
    let window = |tcp| deciding_plan(&[tcp])?.plan.options.window.map(measurement::ByteSize::bytes);
    assert_eq!(window(tcp.clone()), Some(4 << 20));
    let small = judged(tcp, |record| {
        let settings = &mut host(record, &measurement::Role::Peer).inventory.settings;
        settings.insert("net.core.rmem_max".to_owned(), "212992".to_owned());
    });
    assert_eq!(window(small), None);
}

#[test]
fn one_stream_that_waits_for_its_window_calls_for_four() {
    let flood = judged(test_record::udp(), |record| {
        record.plan = plan_with(&record.plan, |draft| draft.options.rate = None);
        record.outcome.directions[0].asked = None;
    });
    let tcp = judged(test_record::tcp(), |_| ());
    assert!(bottleneck::have_cpu_time(&tcp));
    let (transport, draft) = next(&[tcp, flood]).expect("more streams");
    assert_eq!((transport, draft.streams), (Transport::Tcp, 4));
}

#[test]
fn nothing_at_all_calls_for_small_packets() {
    let silent = judged(test_record::udp(), |record| lose(record, 100_000));
    let (transport, draft) = next(&[silent]).expect("small packets");
    let block = draft.options.block.map(measurement::ByteSize::bytes);
    assert_eq!((transport, block, rate(&draft)), (Transport::Udp, Some(500), 1_000_000));
}

#[test]
fn a_row_of_both_directions_calls_for_one_of_them() {
    let both = judged(test_record::udp(), |record| {
        lose(record, 10_000);
        record.plan = plan_with(&record.plan, |draft| draft.direction = Direction::Both);
    });
    assert_eq!(next(&[both]).expect("a slower run").1.direction, Direction::Send);
}

#[test]
fn a_verdict_with_two_explanations_names_the_command() {
    let mut records = [judged(test_record::udp(), |record| lose(record, 10_000))];
    judge_together(&mut records);
    let verdict = records[0].judgement.as_ref().and_then(|one| one.verdict.as_ref());
    let sentence = verdict.and_then(|verdict| verdict.would_decide.as_deref());
    let command = "linerate test 192.0.2.2 --udp --send -b 63M -t 2s";
    assert_eq!(sentence, Some(&*format!("does a slower run lose as well? {command}")));
}

#[test]
fn what_is_undecided_names_the_command() {
    let mut records = [judged(test_record::tcp(), |_| ())];
    judge_together(&mut records);
    let verdict = records[0].judgement.as_ref().and_then(|one| one.verdict.as_ref());
    let sentence = verdict.and_then(|verdict| verdict.would_decide.as_deref()).expect("undecided");
    let command = "linerate test 192.0.2.2 --udp --send -b 90M -t 2s";
    assert!(sentence.ends_with(command), "{sentence}");
}
