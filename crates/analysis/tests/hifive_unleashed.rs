//! A board of which only the printout of an iperf3 and some sentences are left.
//!
//! The runs are those that N. Malykh published of a SiFive HiFive Unleashed (four U54 cores of
//! riscv64, Linux 5.2.9) and a PC on a switch of 1 Gbit/s. Its records are made by hand of what
//! iperf3 printed; what the text says of CPUs is stated, and not measured.

use std::time::Duration;

use linerate_analysis::{judge, pages};
use measurement::host::{Cpu, Interface, Pipeline};
use measurement::plan::PlanDraft;
use measurement::{
    BitRate, ByteSize, Certainty, Conclusion, DatagramLedger, Direction, HostEvidence, Profile,
    ProfileRow, ProfileSource, RecordSet, Role, RuleId, Task, TcpSample, TestRecord, Throughput,
    Transport, Verdict,
};

/// A record of an iperf3 at both ends, of ten seconds.
fn run(transport: Transport, board: Role, offered: u64, delivered: u64) -> TestRecord {
    let json = include_str!("../../report/tests/records/four-rows.json");
    let records = serde_json::from_str::<RecordSet>(json).expect("records").records;
    let is_like = |record: &TestRecord| {
        record.plan.transport == transport && record.plan.direction == Direction::Send
    };
    let mut record = records.into_iter().find(is_like).expect("there is one");
    "iperf3".clone_into(&mut record.peer.software);
    record.hosts = vec![host(board)];
    for (sample, second) in record.samples.iter_mut().zip([0, 10]) {
        sample.at = record.start.after(Duration::from_secs(second));
    }
    record.stopped = record.start.after(TIME);
    let outcome = &mut record.outcome.directions[0];
    outcome.offered = Some(Throughput::over(offered, TIME));
    outcome.delivered = Some(Throughput::over(delivered, TIME));
    record
}

fn host(role: Role) -> HostEvidence {
    let mut host = HostEvidence { role, ..HostEvidence::default() };
    host.inventory.model = Some("SiFive HiFive Unleashed A00".to_owned());
    "5.2.9".clone_into(&mut host.inventory.kernel);
    "riscv64".clone_into(&mut host.inventory.architecture);
    host.inventory.cpus = (1..=4).map(core).collect();
    host.interfaces = vec!["eth0".to_owned()];
    host.inventory.interfaces = vec![Interface {
        name: "eth0".to_owned(),
        mtu: 1_500,
        speed_mbps: Some(1_000),
        most_mbps: Some(1_000),
        negotiated: Some(true),
        duplex: Some("full".to_owned()),
        ..Interface::default()
    }];
    host
}

fn core(number: u32) -> Cpu {
    let model = Some("sifive,u54-mc".to_owned());
    Cpu { number, model, pipeline: Some(Pipeline::InOrder), ..Cpu::default() }
}

/// "top showed a load of the processor close to 100 %", as samples.
fn stated(record: &mut TestRecord, source: &str) {
    let row = |task, count| ProfileRow { task, count, ..ProfileRow::default() };
    let rows = vec![row(Task::Own, 98), row(Task::Idle, 2)];
    let source = ProfileSource::Stated(source.to_owned());
    record.hosts[0].profile = Some(Profile { source, rows, ..Profile::default() });
}

/// Datagrams of 1,448 bytes, as both ends counted them.
fn datagrams(board: Role, asked_mbps: u64, sent: u64, lost: u64) -> TestRecord {
    let bytes = |datagrams: u64| datagrams * 1_448;
    let mut record = run(Transport::Udp, board, bytes(sent), bytes(sent - lost));
    let asked = Some(BitRate::from_bits_per_second(asked_mbps * 1_000_000));
    record.plan = plan_with(&record, |draft| draft.options.rate = asked);
    record.streams[0].block = ByteSize::from_bytes(1_448);
    let outcome = &mut record.outcome.directions[0];
    outcome.asked = asked;
    outcome.datagrams =
        Some(DatagramLedger { sent, received: sent - lost, lost, ..DatagramLedger::default() });
    record
}

/// TCP as much as goes; the log tells bytes, segments sent again and the window.
fn stream(bytes: u64, retransmits: u64, window: u64) -> TestRecord {
    let mut record = run(Transport::Tcp, Role::Here, bytes, bytes);
    let outcome = &mut record.outcome.directions[0];
    outcome.acknowledged = Some(Throughput::over(bytes, TIME));
    outcome.retransmits = Some(retransmits);
    let told = |acknowledged, retransmits| TcpSample {
        acknowledged,
        retransmits,
        congestion_window: window,
        bytes_retransmitted: retransmits * 1_448,
        ..TcpSample::default()
    };
    record.samples[0].streams[0].tcp = Some(told(0, 0));
    let last = &mut record.samples[1].streams[0];
    (last.tcp, last.counters.bytes) = (Some(told(bytes, retransmits)), bytes);
    record.samples[0].streams[0].counters.bytes = 0;
    record
}

fn plan_with(record: &TestRecord, change: impl FnOnce(&mut PlanDraft)) -> measurement::TestPlan {
    let mut draft = PlanDraft::from(record.plan.clone());
    draft.end = measurement::End::Time(TIME);
    change(&mut draft);
    draft.check().expect("a plan")
}

fn judged(record: &TestRecord) -> Verdict {
    judge(record).verdict.expect("something was measured")
}

fn has(evidence: &[String], part: &str) -> bool {
    evidence.iter().any(|one| one.contains(part))
}

#[test]
fn the_board_as_a_sender_of_datagrams_is_the_limit() {
    let mut record = datagrams(Role::Here, 256, 76_960, 0);
    stated(&mut record, "top in the article's text");
    let verdict = judged(&record);
    assert_eq!(verdict.conclusion, Conclusion::Limited, "{verdict:?}");
    let first = &verdict.findings[0];
    assert_eq!((first.rule, &first.host), (RuleId::SenderBelowRate, &Some(Role::Here)));
    assert!(has(&first.evidence, "sent 89.15 Mbit/s of the 256.0 Mbit/s asked"), "{first:?}");
    assert!(has(&first.evidence, "stated, top in the article's text"), "{first:?}");
}

#[test]
fn without_the_sentence_on_top_it_is_a_candidate() {
    let verdict = judged(&datagrams(Role::Here, 256, 76_960, 0));
    assert_eq!(verdict.conclusion, Conclusion::Undecided);
    let first = &verdict.findings[0];
    assert_eq!((first.rule, first.certainty), (RuleId::SenderBelowRate, Certainty::Candidate));
    assert!(verdict.would_decide.is_some());
}

#[test]
fn a_rate_that_the_board_can_send_is_delivered() {
    let verdict = judged(&datagrams(Role::Here, 2, 1_727, 0));
    assert_eq!((verdict.conclusion, verdict.findings), (Conclusion::Delivered, vec![]));
}

#[test]
fn the_board_as_a_receiver_of_datagrams_is_the_limit() {
    let mut record = datagrams(Role::Peer, 256, 220_852, 62_608);
    stated(&mut record, "iperf3 took nearly all of the processor");
    let verdict = judged(&record);
    assert_eq!(verdict.conclusion, Conclusion::Limited, "{verdict:?}");
    let first = &verdict.findings[0];
    assert_eq!((first.rule, &first.host), (RuleId::CpuSaturated, &Some(Role::Peer)));
    assert!(has(&first.evidence, "stated, iperf3 took nearly all"), "{first:?}");
    assert!(has(&first.evidence, "183.3 Mbit/s came through"), "{first:?}");
    let path = verdict
        .findings
        .iter()
        .find(|one| one.rule == RuleId::UdpPathLoss)
        .expect("it may be the path");
    assert_eq!(path.certainty, Certainty::Candidate, "the receiver tells nothing");
}

#[test]
fn tcp_is_undecided_and_its_window_is_no_likely_limit() {
    // 152 MiB in 10.03 s, no segment sent again, a window of 230 KiB.
    let verdict = judged(&stream(159_383_552, 0, 235_520));
    assert_eq!(verdict.conclusion, Conclusion::Undecided, "{verdict:?}");
    let window =
        verdict.findings.iter().find(|one| one.rule == RuleId::CwndGrowing).expect("arithmetic");
    assert_eq!(window.certainty, Certainty::Note);
    assert!(window.text.contains("unlikely"), "{window:?}");
    assert!(
        has(&window.evidence, "235,520 bytes of window at that rate are 14.77ms"),
        "{window:?}"
    );
    let cpu = |one: &&measurement::verdict::Finding| {
        one.rule == RuleId::CpuSaturated && one.certainty == Certainty::Candidate
    };
    assert!(verdict.findings.iter().any(|one| cpu(&one)), "{verdict:?}");
    let decides = verdict.would_decide.expect("undecided");
    assert!(decides.starts_with("run linerate on the server too"), "{decides}");
}

#[test]
fn a_speed_that_was_forced_may_be_a_mismatch_of_duplex() {
    // `ethtool -s eth0 speed 100 autoneg off`: 76.9 MiB in ten seconds.
    let mut record = stream(80_635_494, 0, 505_856);
    let interface = &mut record.hosts[0].inventory.interfaces[0];
    (interface.speed_mbps, interface.negotiated) = (Some(100), Some(false));
    let verdict = judged(&record);
    assert_eq!(verdict.conclusion, Conclusion::Undecided, "{verdict:?}");
    if pages().iter().any(|page| page.id == RuleId::DuplexMismatch) {
        let duplex = verdict.findings.iter().find(|one| one.rule == RuleId::DuplexMismatch);
        let duplex = duplex.unwrap_or_else(|| panic!("{verdict:?}"));
        assert_eq!(duplex.certainty, Certainty::Candidate);
        assert!(duplex.text.contains("duplex mismatch"), "{duplex:?}");
    }
}

const TIME: Duration = Duration::from_secs(10);
