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
    BitRate, ByteSize, Certainty, Conclusion, DatagramLedger, Direction, DirectionOutcome, End,
    HostEvidence, Profile, ProfileRow, ProfileSource, Role, RuleId, Sample, StreamCounters,
    StreamRecord, StreamSample, Task, TcpSample, TestRecord, Throughput, Timestamp, Transport,
    Verdict,
};

/// What the log of an iperf3 of ten seconds tells of one direction.
fn run(plan: &PlanDraft, board: Role, offered: u64, delivered: u64) -> TestRecord {
    let plan = plan.clone().check().expect("a plan");
    let mut record = TestRecord::imported(plan, "what an iperf3 printed");
    record.hosts = vec![host(board)];
    record.start = Some(at(Duration::ZERO));
    record.stopped = Some(at(TIME));
    record.outcome.directions = vec![DirectionOutcome {
        offered: Some(Throughput::over(offered, TIME)),
        delivered: Some(Throughput::over(delivered, TIME)),
        ..DirectionOutcome::unknown(Direction::Send)
    }];
    record
}

/// The only clock of a log is the time since the test began.
fn at(since_the_begin: Duration) -> Timestamp {
    Timestamp::default().after(since_the_begin)
}

fn plan(transport: Transport) -> PlanDraft {
    let mut draft = PlanDraft::new(transport, Direction::Send);
    draft.end = End::Time(TIME);
    draft
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
    let bytes = |datagrams: u64| datagrams * LENGTH;
    let asked = Some(BitRate::from_bits_per_second(asked_mbps * 1_000_000));
    let mut plan = plan(Transport::Udp);
    plan.options.rate = asked;
    let mut record = run(&plan, board, bytes(sent), bytes(sent - lost));
    record.streams = vec![StreamRecord::unknown(1, true, ByteSize::from_bytes(LENGTH))];
    let outcome = &mut record.outcome.directions[0];
    outcome.asked = asked;
    outcome.datagrams =
        Some(DatagramLedger { sent, received: sent - lost, lost, ..DatagramLedger::default() });
    record
}

/// TCP as much as goes; the log tells bytes, segments sent again and the window.
fn stream(bytes: u64, retransmits: u64, window: u64) -> TestRecord {
    let mut record = run(&plan(Transport::Tcp), Role::Here, bytes, bytes);
    record.streams = vec![StreamRecord::unknown(1, true, ByteSize::from_bytes(128 << 10))];
    let outcome = &mut record.outcome.directions[0];
    outcome.acknowledged = Some(Throughput::over(bytes, TIME));
    outcome.retransmits = Some(retransmits);
    let sample = |time, acknowledged, retransmits| Sample {
        at: at(time),
        streams: vec![StreamSample {
            id: 1,
            counters: StreamCounters { bytes: acknowledged, ..StreamCounters::default() },
            tcp: Some(TcpSample {
                acknowledged,
                retransmits,
                congestion_window: window,
                bytes_retransmitted: retransmits * LENGTH,
                ..TcpSample::default()
            }),
            udp: None,
        }],
    };
    record.samples = vec![sample(Duration::ZERO, 0, 0), sample(TIME, bytes, retransmits)];
    record
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
    assert!(has(&first.evidence, "sent 89.15 Mbit/s of the requested 256.0 Mbit/s"), "{first:?}");
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
    assert!(has(&first.evidence, "throughput 183.3 Mbit/s"), "{first:?}");
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
        has(&window.evidence, "235,520 bytes of window at that rate are 14.77 ms"),
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

/// Payload of a datagram, and of a segment, in bytes.
const LENGTH: u64 = 1_448;
const TIME: Duration = Duration::from_secs(10);
