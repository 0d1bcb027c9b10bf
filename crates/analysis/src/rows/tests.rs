//! Patterns over rows of several kinds, and rows that show none.

use measurement::host::{Counter, counter};
use measurement::plan::PlanDraft;
use measurement::{
    BitRate, ByteSize, Conclusion, Direction, RateSearchEnd, Role, RuleId, TestRecord, Throughput,
};

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
        assert!(verdict.sentence.contains("both rows stop at"), "{}", verdict.sentence);
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
fn datagrams_whose_sender_fell_short_are_limited_by_it_where_tcp_gets_more() {
    let headlines = |tcp: u64| {
        // The sender reached 80 of 100 Mbit/s, and nothing was lost.
        let udp = test_record::searched(RateSearchEnd::Time, |above| {
            test_record::send_only(above, 100_000_000);
        });
        let udp = row(udp, Direction::Send, 72, |_| ());
        let mut rows = [row(test_record::tcp(), Direction::Send, tcp, wait_in_a_queue), udp];
        judge_together(&mut rows);
        (headline(&rows[0]), headline(&rows[1]))
    };
    let (path, sender) = (Some(RuleId::PathRateLimit), Some(RuleId::SenderBelowRate));
    assert_eq!(headlines(200), (path, sender));
    assert_eq!(headlines(72).0, path);
    assert_ne!(headlines(72).1, sender, "TCP gets no more");
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

/// UDP for which so many Mbit/s were requested, and that lost so many of its 100,000 datagrams.
fn paced(mbps: u64, lost: u64) -> TestRecord {
    let mut record = test_record::udp();
    test_record::lose(&mut record, lost);
    let rate = BitRate::from_bits_per_second(mbps * 1_000_000);
    record.plan = test_record::plan_with(&record.plan, |draft| draft.options.rate = Some(rate));
    let outcome = &mut record.outcome.directions[0];
    let span = std::time::Duration::from_secs(10);
    let at = |bytes| Some(Throughput::over(bytes, span));
    outcome.asked = Some(rate);
    outcome.offered = at(mbps * 1_250_000);
    outcome.delivered = at(mbps * 1_250_000 / 100_000 * (100_000 - lost));
    let frames = mbps * 1_000 * (1_250 + 42);
    let grow = |record: &mut TestRecord, role, counter: Counter<'_>| {
        test_record::grow(test_record::host(record, role), counter, frames);
    };
    grow(&mut record, &Role::Here, counter::INTERFACE_TX_BYTES.on("eth0"));
    grow(&mut record, &Role::Peer, counter::INTERFACE_RX_BYTES.on("eth0"));
    record.judgement = Some(judge(&record));
    record
}

fn sentence(record: &TestRecord) -> &str {
    let verdict = record.judgement.as_ref().and_then(|judged| judged.verdict.as_ref());
    &verdict.expect("judged").sentence
}

#[test]
fn a_slower_run_without_loss_names_the_rate_of_the_path() {
    let mut rows = [paced(70, 30_000), paced(34, 0)];
    judge_together(&mut rows);
    assert_eq!(headline(&rows[0]), Some(RuleId::PathRateLimit));
    let text = "no loss at 34.00 Mbit/s, and at most 49.00 Mbit/s pass";
    assert!(sentence(&rows[0]).contains(text), "{}", sentence(&rows[0]));
    assert_eq!(sentence(&rows[1]), "reached the asked rate");
}

#[test]
fn a_slower_run_that_loses_as_much_tells_random_loss() {
    let tcp = |record: &mut TestRecord| test_record::send_again(record, 3_000, 10);
    let slow = row(test_record::tcp(), Direction::Send, 60, tcp);
    let mut rows = [slow, paced(100, 5_000), paced(54, 5_100)];
    judge_together(&mut rows);
    assert_eq!(headline(&rows[0]), Some(RuleId::TcpPathLoss));
    assert_eq!(headline(&rows[1]), Some(RuleId::UdpPathLoss));
    for row in &rows[..2] {
        assert!(sentence(row).contains("also at 54.00 Mbit/s"), "{}", sentence(row));
    }
}

#[test]
fn loss_of_tcp_at_a_rate_at_which_datagrams_arrive_is_a_policer() {
    let tcp = |record: &mut TestRecord| test_record::send_again(record, 3_000, 10);
    let slow = row(test_record::tcp(), Direction::Send, 20, tcp);
    let flood = row(test_record::udp(), Direction::Send, 50, lose_most);
    let mut rows = [slow, flood, paced(18, 0)];
    judge_together(&mut rows);
    assert_eq!(headline(&rows[0]), Some(RuleId::PathRateLimit), "{}", sentence(&rows[0]));
}

#[test]
fn a_few_datagrams_without_loss_tell_nothing() {
    let mut slower = paced(34, 0);
    let datagrams = slower.outcome.directions[0].datagrams.as_mut().expect("UDP");
    (datagrams.sent, datagrams.received) = (50, 50);
    let mut rows = [paced(70, 5_000), slower];
    judge_together(&mut rows);
    assert_eq!(headline(&rows[0]), Some(RuleId::UdpPathLoss));
}

fn with_window(bytes: u64, mbps: u64, spoil: fn(&mut TestRecord)) -> TestRecord {
    let mut record = test_record::tcp();
    let window = Some(ByteSize::from_bytes(bytes));
    record.plan = test_record::plan_with(&record.plan, |draft| draft.options.window = window);
    row(record, Direction::Send, mbps, spoil)
}

#[test]
fn a_larger_buffer_that_gets_more_makes_the_smaller_one_the_limit() {
    let waits = |record: &mut TestRecord| {
        test_record::sent(record).receive_window_limited_micros = 1_500_000;
    };
    let mut rows = [with_window(65_536, 20, waits), with_window(8 << 20, 90, |_| ())];
    judge_together(&mut rows);
    assert_eq!(headline(&rows[0]), Some(RuleId::ReceiveWindowLimited), "{}", sentence(&rows[0]));
    let mut rows = [with_window(65_536, 20, waits), with_window(8 << 20, 20, |_| ())];
    judge_together(&mut rows);
    assert_eq!(headline(&rows[0]), None);
}

#[test]
fn a_congestion_control_that_gets_more_makes_loss_the_limit() {
    let loses = |record: &mut TestRecord| test_record::send_again(record, 1_000, 10);
    let mut other = test_record::tcp();
    let name = Some("bbr".to_owned());
    other.plan = test_record::plan_with(&other.plan, |draft| draft.options.congestion = name);
    let mut rows = [
        row(test_record::tcp(), Direction::Send, 20, loses),
        row(other, Direction::Send, 90, loses),
    ];
    judge_together(&mut rows);
    assert_eq!(headline(&rows[0]), Some(RuleId::TcpPathLoss));
    assert!(sentence(&rows[0]).contains("; -C bbr, or: "), "{}", sentence(&rows[0]));
}

#[test]
fn small_packets_that_pass_name_the_path_mtu() {
    let mut small = paced(1, 0);
    small.streams[0].block = ByteSize::from_bytes(500);
    let mut rows = [paced(70, 100_000), small];
    judge_together(&mut rows);
    assert_eq!(headline(&rows[0]), Some(RuleId::PathMtuBlackHole));
    let text = "datagrams of 500 bytes arrive, those of 1,250 do not";
    assert!(sentence(&rows[0]).contains(text), "{}", sentence(&rows[0]));
}
