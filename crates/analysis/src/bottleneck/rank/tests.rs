//! Causes with what they usually bring about: the cause is the headline.

use measurement::host::{EachCounter, counter};
use measurement::verdict::Finding;
use measurement::{ByteSize, Conclusion, Role, RuleId, TestRecord, Verdict, Work};

use super::super::Case;
use super::verdict;
use crate::accounts::Test;
use crate::test_record;

/// A fault, as the evidence shows it.
struct Fault {
    name: &'static str,
    record: fn() -> TestRecord,
    spoil: fn(&mut TestRecord),
    /// Rules that name it.
    rules: &'static [RuleId],
    host: Option<Role>,
}

const FAULTS: &[Fault] = &[
    Fault {
        name: "a shaper that nobody sees drops what is above its rate",
        record: test_record::tcp,
        spoil: |record| {
            test_record::send_again(record, 800, 4);
            let tcp = test_record::sent(record);
            (tcp.rtt_micros, tcp.min_rtt_micros) = (40_000, 200);
        },
        rules: &[RuleId::PathRateLimit],
        host: None,
    },
    Fault {
        name: "a shaper with a long queue that nobody sees",
        record: test_record::tcp,
        spoil: |record| {
            let tcp = test_record::sent(record);
            (tcp.rtt_micros, tcp.min_rtt_micros) = (90_000, 200);
        },
        rules: &[RuleId::PathRateLimit],
        host: None,
    },
    Fault {
        name: "the same for datagrams",
        record: test_record::udp,
        spoil: |record| test_record::lose(record, 40_000),
        rules: &[RuleId::PathRateLimit, RuleId::UdpPathLoss],
        host: None,
    },
    Fault {
        name: "a small receive buffer of UDP",
        record: test_record::udp,
        spoil: |record| {
            test_record::lose(record, 20_000);
            test_record::drop_in_sockets(record, 20_000);
        },
        rules: &[RuleId::UdpReceiveBuffer],
        host: Some(Role::Peer),
    },
    Fault {
        name: "a reader that is slow, and the sender full of what it could not send",
        record: test_record::tcp,
        spoil: |record| {
            let tcp = test_record::sent(record);
            (tcp.receive_window_limited_micros, tcp.min_rtt_micros) = (6_000_000, 40);
            tcp.rtt_micros = 9_000;
            test_record::occupy(record, &Role::Peer, 0.99);
            let host = test_record::host(record, &Role::Peer);
            test_record::grow(host, counter::TCP_TO_ZERO_WINDOW_ADV, 900);
        },
        rules: &[RuleId::ReceiveWindowLimited],
        host: Some(Role::Peer),
    },
    Fault {
        name: "a receiver of datagrams that stops at intervals",
        record: test_record::udp,
        spoil: |record| {
            test_record::lose(record, 30_000);
            test_record::drop_in_sockets(record, 30_000);
            record.reported.pulses[0].bytes[20..40].fill(0);
        },
        rules: &[RuleId::UdpReceiveBuffer],
        host: Some(Role::Peer),
    },
    Fault {
        name: "a receiver of TCP that stops at intervals",
        record: test_record::tcp,
        spoil: |record| {
            test_record::sent(record).receive_window_limited_micros = 4_000_000;
            record.reported.pulses[0].bytes[20..60].fill(0);
        },
        rules: &[RuleId::ReceiveWindowLimited],
        host: Some(Role::Peer),
    },
    Fault {
        name: "a receiver that a quota stops",
        record: test_record::tcp,
        spoil: |record| {
            test_record::sent(record).receive_window_limited_micros = 6_000_000;
            let host = test_record::host(record, &Role::Peer);
            test_record::grow(host, counter::CGROUP_THROTTLED, 90);
            test_record::grow(host, counter::CGROUP_THROTTLED_TIME, 6_000_000);
            test_record::grow(host, counter::TASK_WAIT.on(77), 3_000_000_000);
            test_record::grow(host, counter::TCP_TO_ZERO_WINDOW_ADV, 900);
            test_record::occupy(record, &Role::Peer, 0.99);
        },
        rules: &[RuleId::CgroupCpuQuota],
        host: Some(Role::Peer),
    },
    Fault {
        name: "a sender that a quota stops",
        record: test_record::udp,
        spoil: |record| {
            test_record::send_only(record, 40_000_000);
            test_record::occupy(record, &Role::Here, 0.99);
            let host = test_record::host(record, &Role::Here);
            test_record::grow(host, counter::CGROUP_THROTTLED, 90);
            test_record::grow(host, counter::CGROUP_THROTTLED_TIME, 6_000_000);
        },
        rules: &[RuleId::CgroupCpuQuota],
        host: Some(Role::Here),
    },
    Fault {
        name: "another program on the receiver's CPU",
        record: test_record::tcp,
        spoil: |record| {
            test_record::sent(record).receive_window_limited_micros = 5_000_000;
            let host = test_record::host(record, &Role::Peer);
            test_record::grow(host, counter::TASK_WAIT.on(77), 4_500_000_000);
            test_record::grow(host, counter::CPU_USER.on(0), 5_000_000_000);
            test_record::grow(host, counter::CPU_IDLE.on(0), 1_000_000);
            test_record::grow(host, counter::PRESSURE_CPU.some, 6_000_000);
            test_record::occupy(record, &Role::Peer, 0.99);
        },
        rules: &[RuleId::RunDelay],
        host: Some(Role::Peer),
    },
    Fault {
        name: "no checksum offload",
        record: test_record::tcp,
        spoil: |record| {
            let work = [(Work::CopyUser, 30), (Work::Checksum, 12), (Work::Receive, 58)];
            test_record::full_with(record, &work);
            test_record::occupy(record, &Role::Peer, 0.99);
            test_record::sent(record).receive_window_limited_micros = 4_000_000;
        },
        rules: &[RuleId::ChecksumCost],
        host: Some(Role::Peer),
    },
    Fault {
        name: "hundreds of rules of a firewall",
        record: test_record::tcp,
        spoil: |record| {
            test_record::full_in(record, "ipt_do_table", 45);
            test_record::occupy(record, &Role::Peer, 0.99);
        },
        rules: &[RuleId::PacketFilterCost],
        host: Some(Role::Peer),
    },
    Fault {
        name: "short segments that nobody puts together",
        record: test_record::tcp,
        spoil: |record| {
            test_record::sent(record).segment = 460;
            let host = test_record::host(record, &Role::Peer);
            test_record::grow(host, counter::TCP_IN_SEGS, 272_000);
            test_record::fill(host, 0.98);
            test_record::occupy(record, &Role::Peer, 0.99);
        },
        rules: &[RuleId::GroNotMerging],
        host: Some(Role::Peer),
    },
    Fault {
        name: "a small send buffer and a delay",
        record: test_record::tcp,
        spoil: |record| {
            ask(record, 32 << 10);
            let tcp = test_record::sent(record);
            (tcp.send_buffer_limited_micros, tcp.min_rtt_micros) = (8_000_000, 10_000);
            tcp.rtt_micros = 10_200;
        },
        rules: &[RuleId::SendBufferLimited],
        host: Some(Role::Here),
    },
    Fault {
        name: "a small receive window and a delay",
        record: test_record::tcp,
        spoil: |record| {
            ask(record, 64 << 10);
            let tcp = test_record::sent(record);
            (tcp.receive_window_limited_micros, tcp.min_rtt_micros) = (9_000_000, 10_000);
            (tcp.send_window, tcp.rtt_micros) = (131_072, 10_200);
        },
        rules: &[RuleId::ReceiveWindowLimited],
        host: Some(Role::Peer),
    },
    Fault {
        name: "loss by chance",
        record: test_record::tcp,
        spoil: |record| {
            test_record::send_again(record, 900, 20);
            let tcp = test_record::sent(record);
            // CUBIC with such loss, each half millisecond, allows about what arrived.
            (tcp.rtt_micros, tcp.min_rtt_micros) = (540, 500);
        },
        rules: &[RuleId::TcpPathLoss],
        host: None,
    },
    Fault {
        name: "a path that changes the order",
        record: test_record::tcp,
        spoil: |record| {
            test_record::send_again(record, 900, 800);
            test_record::sent(record).reorderings = 400;
        },
        rules: &[RuleId::PacketReordering],
        host: None,
    },
    Fault {
        name: "datagrams above the MTU, and a little loss",
        record: test_record::udp,
        spoil: |record| {
            test_record::lose(record, 9_000);
            record.streams[0].block = ByteSize::from_bytes(8_000);
        },
        rules: &[RuleId::UdpDamagedOrFragmented],
        host: None,
    },
    Fault {
        name: "others on the link",
        record: test_record::tcp,
        spoil: |record| {
            test_record::send_again(record, 900, 20);
            let tcp = test_record::sent(record);
            (tcp.rtt_micros, tcp.min_rtt_micros) = (40_000, 200);
            let host = test_record::host(record, &Role::Here);
            test_record::grow(host, counter::INTERFACE_TX_BYTES.on("eth0"), 260_000_000);
        },
        rules: &[RuleId::ForeignTraffic],
        host: Some(Role::Here),
    },
    Fault {
        name: "a rate above what the sender can do",
        record: test_record::udp,
        spoil: |record| {
            test_record::send_only(record, 50_000_000);
            test_record::occupy(record, &Role::Here, 1.0);
            let host = test_record::host(record, &Role::Here);
            test_record::fill(host, 0.99);
            test_record::profile(host, &[(Work::CopyUser, 35), (Work::SystemCall, 25)]);
        },
        rules: &[RuleId::SenderBelowRate],
        host: Some(Role::Here),
    },
    Fault {
        name: "one stream of one thread",
        record: test_record::tcp,
        spoil: |record| {
            test_record::fill(test_record::host(record, &Role::Peer), 0.99);
            test_record::occupy(record, &Role::Peer, 0.99);
        },
        rules: &[RuleId::SingleThreadSaturated],
        host: Some(Role::Peer),
    },
    Fault {
        name: "loss on the path, to a receiver that stands still and whose socket holds it all",
        record: test_record::udp,
        spoil: |record| {
            test_record::lose(record, 20_000);
            test_record::host(record, &Role::Peer).still_seconds = 2.0;
        },
        rules: &[RuleId::UdpPathLoss],
        host: None,
    },
    Fault {
        name: "a filter that drops, from a sender that stands still while its socket sends",
        record: test_record::tcp,
        spoil: |record| {
            test_record::send_again(record, 3_000, 0);
            record.outcome.directions[0].retransmits = Some(3_000);
            test_record::filter(record, &Role::Peer, 3_000);
            test_record::host(record, &Role::Here).still_seconds = 2.0;
        },
        rules: &[RuleId::InputDrops],
        host: Some(Role::Peer),
    },
    Fault {
        name: "segments made one by one, on a CPU of which a loop has half",
        record: test_record::tcp,
        spoil: |record| {
            record.hosts[0].inventory.interfaces[0]
                .offloads
                .insert("tx-tcp-segmentation".to_owned(), "off".to_owned());
            let host = test_record::host(record, &Role::Here);
            test_record::fill(host, 0.99);
            test_record::grow(host, counter::CPU_USER.on(0), 5_500_000_000);
            test_record::grow(host, counter::CPU_SOFTIRQ.on(0), 1_500_000_000);
            test_record::grow(host, counter::TASK_WAIT.on(77), 4_500_000_000);
            test_record::grow(host, counter::TASK_RUN.on(77), 5_000_000_000);
            test_record::occupy(record, &Role::Here, 0.99);
        },
        rules: &[RuleId::TsoOff],
        host: Some(Role::Here),
    },
    Fault {
        name: "a queue that drops data, so that acknowledgements stand for more",
        record: test_record::tcp,
        spoil: |record| {
            test_record::send_again(record, 8_000, 0);
            let tcp = test_record::sent(record);
            (tcp.rtt_micros, tcp.min_rtt_micros, tcp.segments_in) = (40_000, 200, 9_000);
            let stream = record.reported.streams[0].counted.as_mut().expect("reported");
            stream.tcp.as_mut().expect("TCP").segments_out = 10_000;
        },
        rules: &[RuleId::PathRateLimit],
        host: None,
    },
    Fault {
        name: "a shaper whose rate arrives, beside a filter that drops a little",
        record: test_record::tcp,
        spoil: |record| {
            let interface = test_record::interface_of(record, &Role::Here);
            interface.queueing[0] = measurement::host::Queueing {
                handle: "8001:".to_owned(),
                kind: "tbf".to_owned(),
                // 1,448 of 1,514 bytes of a frame are payload, which arrives at 100 Mbit/s.
                rate: Some(measurement::BitRate::from_bits_per_second(104_558_011)),
                ..measurement::host::Queueing::default()
            };
            let host = test_record::host(record, &Role::Here);
            let tbf = |each: EachCounter<'static>| each.within("eth0").on("tbf@8001:");
            test_record::grow(host, tbf(counter::QDISC_PACKETS), 86_000);
            test_record::grow(host, tbf(counter::QDISC_OVERLIMITS), 12_000);
            test_record::send_again(record, 3_000, 0);
            record.outcome.directions[0].retransmits = Some(3_000);
            test_record::filter(record, &Role::Peer, 3_000);
        },
        rules: &[RuleId::QdiscLimit],
        host: Some(Role::Here),
    },
    Fault {
        name: "a filter that drops a little, of a sender that waits for the reader",
        record: test_record::tcp,
        spoil: |record| {
            test_record::send_again(record, 300, 0);
            record.outcome.directions[0].retransmits = Some(300);
            test_record::filter(record, &Role::Peer, 300);
            let tcp = test_record::sent(record);
            tcp.receive_window_limited_micros = 8_000_000;
            let host = test_record::host(record, &Role::Peer);
            test_record::grow(host, counter::TCP_TO_ZERO_WINDOW_ADV, 900);
        },
        rules: &[RuleId::ReceiveWindowLimited],
        host: Some(Role::Peer),
    },
    Fault {
        name: "a loop in real time on the CPU of an end, whose long run delay is not counted yet",
        record: test_record::tcp,
        spoil: |record| {
            record.reported.runtime.as_mut().expect("reported").mpus[0].run_seconds = 9.9;
            let host = test_record::host(record, &Role::Peer);
            test_record::grow(host, counter::TASK_RUN.on(77), 500_000_000);
            test_record::grow(host, counter::TASK_WAIT.on(77), 4_500_000_000);
            test_record::grow(host, counter::CPU_USER.on(1), 9_500_000_000);
            test_record::grow(host, counter::PRESSURE_CPU.some, 9_800_000);
        },
        rules: &[RuleId::RunDelay, RuleId::OtherProcesses],
        host: Some(Role::Peer),
    },
    Fault {
        name: "a filter that refuses what the sender sends, whatever BBR makes of loss",
        record: test_record::tcp,
        spoil: |record| {
            record.streams[0].congestion = Some("bbr".to_owned());
            test_record::send_again(record, 860, 800);
            let host = test_record::host(record, &Role::Here);
            test_record::grow(host, counter::IP_OUT_REQUESTS.v4, 43_134);
            test_record::grow(host, counter::IP_OUT_TRANSMITS.v4, 42_000);
        },
        rules: &[RuleId::OutputDrops],
        host: Some(Role::Here),
    },
];

fn ask(record: &mut TestRecord, bytes: u64) {
    record.plan = test_record::plan_with(&record.plan, |draft| {
        draft.options.window = Some(ByteSize::from_bytes(bytes));
    });
}

fn judged(record: &TestRecord) -> Verdict {
    let test = Test::from_record(record);
    let attributions = test_record::attributions(record);
    verdict(&test, &Case::of_test(&test, &attributions)).expect("something was measured")
}

fn in_short(findings: &[Finding]) -> Vec<(RuleId, measurement::Certainty)> {
    findings.iter().map(|one| (one.rule, one.certainty)).collect()
}

#[test]
fn a_cause_is_the_headline_and_its_consequences_come_after_it() {
    for fault in FAULTS {
        let mut record = (fault.record)();
        (fault.spoil)(&mut record);
        let verdict = judged(&record);
        let reported = in_short(&verdict.findings);
        assert_eq!(verdict.conclusion, Conclusion::Limited, "{}: {reported:?}", fault.name);
        let first = &verdict.findings[0];
        assert!(fault.rules.contains(&first.rule), "{}: {reported:?}", fault.name);
        assert_eq!(first.host, fault.host, "{}", fault.name);
        assert!(verdict.sentence.contains(&first.text), "{}", verdict.sentence);
    }
}

#[test]
fn a_cause_is_the_headline_where_both_ends_share_a_kernel() {
    for fault in FAULTS {
        let mut record = (fault.record)();
        (fault.spoil)(&mut record);
        test_record::in_software(&mut record);
        let verdict = judged(&record);
        let reported = in_short(&verdict.findings);
        let first = verdict.findings.first().map(|one| one.rule);
        assert!(
            first.is_some_and(|rule| fault.rules.contains(&rule)),
            "{}: {reported:?}",
            fault.name
        );
    }
}

#[test]
fn without_a_limit_the_measurement_that_is_missing_is_named() {
    let would_decide = |record: &TestRecord| {
        let verdict = judged(record);
        assert_eq!(verdict.conclusion, Conclusion::Undecided, "{:?}", verdict.findings);
        verdict.would_decide.expect("undecided")
    };
    let reported = would_decide(&test_record::tcp());
    assert!(reported.starts_with("a test to another server"), "{reported}");
    let mut busy = test_record::tcp();
    test_record::fill(test_record::host(&mut busy, &Role::Peer), 0.8);
    assert!(would_decide(&busy).starts_with("a CPU profile of the server"));
    let mut silent = test_record::tcp();
    silent.hosts.truncate(1);
    assert!(would_decide(&silent).starts_with("run linerate on the server too"));
    let mut growing = test_record::tcp();
    growing.pulses[0].bytes[66..].iter_mut().for_each(|bytes| *bytes *= 2);
    assert!(would_decide(&growing).starts_with("a longer test"));
}

#[test]
fn what_was_asked_and_came_has_notes_at_most() {
    let mut record = test_record::tcp_at_a_rate();
    test_record::fill(test_record::host(&mut record, &Role::Peer), 0.99);
    test_record::occupy(&mut record, &Role::Peer, 0.99);
    test_record::send_again(&mut record, 900, 10);
    let verdict = judged(&record);
    assert_eq!(verdict.conclusion, Conclusion::Delivered);
    assert!(
        in_short(&verdict.findings).iter().all(|(_, how)| *how == measurement::Certainty::Note)
    );
}

#[test]
fn a_bound_that_far_more_than_it_allows_refutes_is_no_headline() {
    let mut record = test_record::tcp();
    // Reno with 1 % of loss each 20 ms allows some 7 Mbit/s; 1 Gbit/s arrived.
    record.streams[0].congestion = Some("reno".to_owned());
    test_record::send_again(&mut record, 9_000, 0);
    let tcp = test_record::sent(&mut record);
    (tcp.rtt_micros, tcp.min_rtt_micros) = (20_400, 20_000);
    let verdict = judged(&record);
    assert_eq!(verdict.conclusion, Conclusion::Undecided, "{:?}", verdict.findings);
}

#[test]
fn loss_in_a_filter_explains_the_time_that_tcp_waited_for_its_congestion_window() {
    let first = |window: u64| {
        let mut record = test_record::tcp();
        test_record::sent(&mut record).receive_window_limited_micros = window;
        let host = test_record::host(&mut record, &Role::Here);
        test_record::grow(host, counter::IP_OUT_REQUESTS.v4, 43_134);
        test_record::grow(host, counter::IP_OUT_TRANSMITS.v4, 42_000);
        judged(&record).findings[0].rule
    };
    assert_eq!(first(6_400_000), RuleId::ReceiveWindowLimited);
    assert_eq!(first(2_600_000), RuleId::OutputDrops);
}

#[test]
fn a_quota_explains_a_run_delay_that_is_about_as_long() {
    let first = |throttled_micros| {
        let mut record = test_record::tcp();
        let host = test_record::host(&mut record, &Role::Here);
        test_record::grow(host, counter::CGROUP_THROTTLED, 20);
        test_record::grow(host, counter::CGROUP_THROTTLED_TIME, throttled_micros);
        test_record::grow(host, counter::TASK_WAIT.on(77), 9_500_000_000);
        test_record::grow(host, counter::TASK_RUN.on(77), 300_000_000);
        test_record::grow(host, counter::CPU_USER.on(0), 9_700_000_000);
        judged(&record).findings[0].rule
    };
    assert_eq!(first(1_300_000), RuleId::RunDelay);
    assert_eq!(first(4_000_000), RuleId::CgroupCpuQuota);
}

#[test]
fn who_waits_for_a_cpu_half_of_the_time_may_answer_late_however_little_it_wants() {
    let certainty = |waited| {
        let mut record = test_record::tcp();
        let host = test_record::host(&mut record, &Role::Peer);
        test_record::grow(host, counter::TASK_WAIT.on(77), waited);
        test_record::grow(host, counter::TASK_RUN.on(77), 100_000_000);
        test_record::grow(host, counter::CPU_USER.on(0), 9_800_000_000);
        let verdict = judged(&record);
        let found = verdict.findings.iter().find(|one| one.rule == RuleId::RunDelay);
        found.map(|one| one.certainty)
    };
    assert_eq!(certainty(5_500_000_000), Some(measurement::Certainty::Candidate));
    assert_eq!(certainty(3_500_000_000), Some(measurement::Certainty::Note));
}

#[test]
fn a_shaper_passes_its_queue_on_while_the_sender_stands_still() {
    let first = |rate| {
        let mut record = test_record::tcp();
        let interface = test_record::interface_of(&mut record, &Role::Here);
        interface.queueing[0] = measurement::host::Queueing {
            handle: "8001:".to_owned(),
            kind: "tbf".to_owned(),
            rate: Some(measurement::BitRate::from_bits_per_second(rate)),
            ..measurement::host::Queueing::default()
        };
        let host = test_record::host(&mut record, &Role::Here);
        let tbf = |each: EachCounter<'static>| each.within("eth0").on("tbf@8001:");
        test_record::grow(host, tbf(counter::QDISC_PACKETS), 6_945);
        test_record::grow(host, tbf(counter::QDISC_OVERLIMITS), 19_159);
        host.still_seconds = 3.9;
        judged(&record).findings[0].rule
    };
    // 100 Mbit/s of payload arrived, in 61 % of the time.
    assert_eq!(first(163_000_000), RuleId::QdiscLimit);
    assert_eq!(first(400_000_000), RuleId::ProcessStopped);
}

#[test]
fn a_bound_by_few_losses_is_wide() {
    let conclusion = |again, times| {
        let mut record = test_record::tcp();
        record.streams[0].congestion = Some("reno".to_owned());
        test_record::send_again(&mut record, again, 0);
        let tcp = test_record::sent(&mut record);
        tcp.bytes_retransmitted = 130_000;
        (tcp.rtt_micros, tcp.min_rtt_micros) = (10_500, times);
        judged(&record).conclusion
    };
    // 0.1 % of loss each 9.5 ms: 46.9 Mbit/s with Reno, of which 2.1 times as much arrived.
    assert_eq!(conclusion(90, 9_500), Conclusion::Limited);
    assert_eq!(conclusion(90_000, 9_500), Conclusion::Undecided);
}

#[test]
fn a_quota_that_stops_a_host_for_a_tenth_of_the_time_costs_less_than_loss() {
    let first = |throttled_micros| {
        let mut record = test_record::tcp();
        test_record::send_again(&mut record, 1_200, 5);
        let host = test_record::host(&mut record, &Role::Here);
        test_record::grow(host, counter::CGROUP_THROTTLED, 35);
        test_record::grow(host, counter::CGROUP_THROTTLED_TIME, throttled_micros);
        judged(&record).findings[0].rule
    };
    assert_eq!(first(1_200_000), RuleId::TcpPathLoss);
    assert_eq!(first(5_000_000), RuleId::CgroupCpuQuota);
}
