//! Ledgers of made records, and that they add up whatever the counters say.

use measurement::host::{Counter, Family, counter};
use measurement::judgement::Place;
use measurement::{Direction, EngineUse, HostEvidence, Role, TestRecord};
use proptest::prelude::*;

use super::*;
use crate::{judge, test_record};

fn ledger(record: &TestRecord) -> Ledger {
    let ledger = judge(record).directions[0].ledger.clone().expect("datagrams");
    assert_adds_up(&ledger);
    ledger
}

fn assert_adds_up(ledger: &Ledger) {
    assert!(is_conserved(ledger), "{ledger:?}");
    for drop in &ledger.drops {
        assert!(drop.least <= drop.datagrams && drop.datagrams <= drop.most, "{drop:?}");
    }
    let (least, most) = (ledger.remainder_least, ledger.remainder_most);
    assert!(least <= ledger.remainder && ledger.remainder <= most, "{ledger:?}");
    assert!(ledger.drops.is_sorted_by_key(|drop| drop.place));
}

fn by(name: &str) -> EngineUse {
    EngineUse { name: name.into(), ..EngineUse::default() }
}

fn shares(ledger: &Ledger) -> Vec<(Place, u64)> {
    ledger.drops.iter().map(|drop| (drop.place, drop.datagrams)).collect()
}

/// A host on the way, like the others.
fn observed(record: &mut TestRecord) -> &mut HostEvidence {
    test_record::observe(record, "router")
}

#[test]
fn all_that_arrived_is_all() {
    let ledger = ledger(&test_record::udp());
    assert_eq!((ledger.sent, ledger.received, ledger.lost()), (100_000, 100_000, 0));
    assert!(ledger.drops.is_empty() && ledger.receiver_told && ledger.sender_told);
    assert_eq!((ledger.remainder_least, ledger.remainder_most), (0, 0));
}

#[test]
fn a_loss_in_a_socket_leaves_nothing() {
    let mut record = test_record::udp();
    test_record::lose(&mut record, 700);
    test_record::drop_in_sockets(&mut record, 700);
    // The host counts the same drops, which must not count twice.
    test_record::grow(
        test_record::host(&mut record, &Role::Peer),
        counter::UDP_RCVBUF_ERRORS.v4,
        700,
    );
    let ledger = ledger(&record);
    assert_eq!(shares(&ledger), [(Place::ReceiverSocket, 700)]);
    assert_eq!((ledger.remainder_least, ledger.remainder_most), (0, 0));
}

#[test]
fn one_count_of_a_socket_that_coalesces_is_up_to_many() {
    let mut record = test_record::udp();
    test_record::lose(&mut record, 700);
    test_record::drop_in_sockets(&mut record, 20);
    record.outcome.directions[0].engines.receive = Some(by("gro"));
    let ledger = ledger(&record);
    let drop = &ledger.drops[0];
    assert_eq!((drop.counted, drop.least, drop.most, drop.datagrams), (20, 20, 700, 700));
    assert_eq!((ledger.remainder, ledger.remainder_least, ledger.remainder_most), (0, 0, 680));
}

#[test]
fn a_piece_holds_what_fits_a_datagram() {
    let mut record = test_record::udp();
    test_record::lose(&mut record, 700);
    test_record::drop_in_sockets(&mut record, 2);
    record.outcome.directions[0].engines.receive = Some(by("gro"));
    // 65,507 bytes hold 52 of 1,250.
    assert_eq!(ledger(&record).drops[0].most, 104);
}

#[test]
fn the_first_queue_has_what_it_dropped_and_the_path_the_rest() {
    let mut record = test_record::udp();
    test_record::lose(&mut record, 1_000);
    let sender = test_record::host(&mut record, &Role::Here);
    test_record::grow(sender, counter::QDISC_DROPS.within("eth0").on("mq@0:"), 600);
    test_record::grow(sender, counter::QDISC_DROPS.within("eth0").on("fq_codel@8001:"), 600);
    test_record::grow(sender, counter::UDP_SNDBUF_ERRORS.v4, 600);
    let ledger = ledger(&record);
    assert_eq!(shares(&ledger), [(Place::SenderQueue, 600)], "root and child count the same");
    assert_eq!((ledger.remainder, ledger.remainder_most), (400, 400));
}

#[test]
fn a_packet_of_128_datagrams_that_a_queue_dropped_is_not_the_paths() {
    let mut record = test_record::udp();
    test_record::lose(&mut record, 38_400);
    record.outcome.directions[0].engines.send = Some(by("gso"));
    record.streams[0].block = measurement::ByteSize::from_bytes(64);
    let sender = test_record::host(&mut record, &Role::Here);
    test_record::grow(sender, counter::QDISC_DROPS.within("eth0").on("tbf@1:"), 300);
    let ledger = ledger(&record);
    assert_eq!(shares(&ledger), [(Place::SenderQueue, 38_400)]);
    assert_eq!((ledger.remainder, ledger.remainder_least), (0, 0));
}

#[test]
fn the_socket_tells_of_queues_that_do_not() {
    let mut record = test_record::udp();
    test_record::lose(&mut record, 1_000);
    let sender = test_record::host(&mut record, &Role::Here);
    sender.series.remove(Family::QDISC);
    test_record::grow(sender, counter::UDP_SNDBUF_ERRORS.v4, 600);
    let ledger = ledger(&record);
    assert_eq!(shares(&ledger), [(Place::Sender, 600)]);
    assert_eq!((ledger.remainder_least, ledger.remainder_most), (400, 1_000));
}

#[test]
fn a_backlog_counts_in_two_places_and_is_one() {
    let mut record = test_record::udp();
    test_record::lose(&mut record, 1_000);
    let receiver = test_record::host(&mut record, &Role::Peer);
    test_record::grow(receiver, counter::SOFTNET_DROPPED.on(1), 1_000);
    test_record::grow(receiver, counter::INTERFACE_RX_DROPPED.on("eth0"), 1_000);
    assert_eq!(shares(&ledger(&record)), [(Place::ReceiverBacklog, 1_000)]);
}

#[test]
fn a_router_that_is_watched_tells_its_share() {
    let mut record = test_record::udp();
    test_record::lose(&mut record, 1_000);
    test_record::grow(observed(&mut record), counter::QDISC_DROPS.within("eth0").on("tbf@1:"), 990);
    let ledger = ledger(&record);
    assert_eq!(shares(&ledger), [(Place::ObservedQueue, 990)]);
    assert_eq!(ledger.drops[0].counter, "qdisc tbf 1: of eth0 on router");
    assert_eq!(ledger.remainder, 10);
}

#[test]
fn who_shares_a_queue_loses_his_part() {
    let mut record = test_record::udp();
    test_record::lose(&mut record, 1_000);
    let sender = test_record::host(&mut record, &Role::Here);
    test_record::grow(sender, counter::QDISC_DROPS.within("eth0").on("fq_codel@0:"), 1_000);
    test_record::grow(sender, counter::INTERFACE_TX_BYTES.on("eth0"), 1_300_000_000);
    let ledger = ledger(&record);
    let drop = &ledger.drops[0];
    assert_eq!((drop.least, drop.most), (0, 1_000));
    assert!((80..=140).contains(&drop.datagrams), "{drop:?}");
    assert_eq!((ledger.remainder_least, ledger.remainder_most), (0, 1_000));
}

#[test]
fn a_host_whose_sockets_are_not_known_may_have_lost_it() {
    let mut record = test_record::udp();
    test_record::lose(&mut record, 1_000);
    record.reported.streams[0].counted = None;
    test_record::grow(
        test_record::host(&mut record, &Role::Peer),
        counter::UDP_RCVBUF_ERRORS.v4,
        1_000,
    );
    let ledger = ledger(&record);
    assert_eq!(shares(&ledger), [(Place::ReceiverSocket, 1_000)]);
    record.hosts.truncate(1);
    let silent = judge(&record).directions[0].ledger.clone().expect("datagrams");
    assert_eq!((silent.receiver_told, silent.remainder), (false, 1_000));
}

#[test]
fn this_end_knows_its_own_sockets() {
    let mut record = test_record::udp_received();
    test_record::lose(&mut record, 50);
    record.samples[10].streams[0].udp.as_mut().expect("reported").drops = 50;
    let ledger = ledger(&record);
    assert_eq!(shares(&ledger), [(Place::ReceiverSocket, 50)]);
    assert_eq!(judge(&record).directions[0].direction, Direction::Receive);
}

#[test]
fn what_an_iperf3_left_on_the_way_is_not_lost() {
    let mut record = test_record::udp();
    let reported = record.outcome.directions[0].datagrams.as_mut().expect("reported");
    (reported.received, reported.unaccounted, reported.late) = (99_900, Some(60), Some(30));
    let ledger = ledger(&record);
    assert_eq!((ledger.in_flight, ledger.late, ledger.lost()), (60, 30, 10));
}

#[test]
fn what_only_the_driver_counts_is_the_interfaces_in_the_ledger_and_in_the_verdict() {
    let mut record = test_record::udp();
    test_record::lose(&mut record, 5_000);
    let host = test_record::host(&mut record, &Role::Peer);
    host.series.note_read(Family::NIC);
    test_record::grow(host, counter::driver("eth0").on("rx_no_buffer_count"), 5_000);
    let drops = ledger(&record).drops;
    let places: Vec<_> = drops.iter().map(|drop| (drop.place, drop.datagrams)).collect();
    assert_eq!(places, [(Place::ReceiverInterface, 5_000)]);
    assert_eq!(drops[0].counter, "rx_no_buffer_count of eth0");
    let verdict = judge(&record).verdict.expect("something was measured");
    assert_eq!(verdict.findings[0].host, Some(Role::Peer));
    assert!(verdict.sentence.starts_with("RX ring overrun on eth0 of the server"), "{verdict:?}");
}

#[test]
fn a_policer_at_the_ingress_is_a_place() {
    let mut record = test_record::udp();
    test_record::lose(&mut record, 5_000);
    test_record::vanish_at_ingress(&mut record, 5_000);
    let ledger = ledger(&record);
    assert_eq!(shares(&ledger), [(Place::ReceiverIngress, 5_000)]);
    // Frames that are not of IP may be among them.
    assert_eq!((ledger.remainder, ledger.remainder_least, ledger.remainder_most), (0, 0, 44));
}

#[test]
fn the_firewall_of_the_receiver_is_a_place_with_its_number() {
    let mut record = test_record::udp();
    test_record::lose(&mut record, 1_719);
    let host = test_record::host(&mut record, &Role::Peer);
    test_record::grow(host, counter::IP_IN_RECEIVES.v4, 100_000);
    test_record::grow(host, counter::IP_IN_DELIVERS.v4, 98_281);
    let ledger = ledger(&record);
    assert_eq!(shares(&ledger), [(Place::ReceiverFirewall, 1_719)]);
    assert_eq!((ledger.remainder_least, ledger.remainder_most), (0, 0));
}

#[test]
fn each_router_has_what_it_did_not_forward() {
    let mut record = test_record::udp();
    test_record::lose(&mut record, 1_534);
    for (name, received, forwarded) in [("first", 76_448, 74_914), ("second", 74_914, 74_914)] {
        let host = test_record::observe(&mut record, name);
        test_record::grow(host, counter::IP_IN_RECEIVES.v4, received);
        test_record::grow(host, counter::IP_FORW_DATAGRAMS.v4, forwarded);
    }
    let ledger = ledger(&record);
    assert_eq!(shares(&ledger), [(Place::ObservedForward, 1_534)]);
    assert_eq!(ledger.drops[0].counter, "InReceives of IP less what it forwarded on first");
}

/// A flood of packets of 44 datagrams, as two namespaces with a router between them counted it:
/// the ingress hook of the receiver dropped 24,282 of them, its socket 7,322.
fn flood() -> TestRecord {
    let mut record = test_record::udp();
    test_record::in_software(&mut record);
    let outcome = &mut record.outcome.directions[0];
    let datagrams = outcome.datagrams.as_mut().expect("reported");
    (datagrams.sent, datagrams.received, datagrams.lost) = (3_600_960, 2_210_384, 1_390_576);
    outcome.engines.send = Some(by("gso"));
    outcome.engines.receive = Some(by("gro"));
    record.streams[0].block = measurement::ByteSize::from_bytes(1_472);
    test_record::drop_in_sockets(&mut record, 7_322);
    let sender = test_record::host(&mut record, &Role::Here);
    let sent = [
        (counter::INTERFACE_TX_BYTES.on("eth0"), 5_304_051_123),
        (counter::INTERFACE_TX_PACKETS.on("eth0"), 81_849),
    ];
    for (counter, by) in sent {
        test_record::grow(sender, counter, by);
    }
    let receiver = test_record::host(&mut record, &Role::Peer);
    let came = [
        (counter::INTERFACE_RX_BYTES.on("eth0"), 5_304_051_597),
        (counter::INTERFACE_RX_PACKETS.on("eth0"), 81_844),
        (counter::IP_IN_RECEIVES.v4, 57_562),
        (counter::IP_IN_DELIVERS.v4, 57_562),
        (counter::IP_IN_NO_ECT_PKTS.v4, 2_532_556),
        (counter::TCP_IN_SEGS, 4),
    ];
    for (counter, by) in came {
        test_record::grow(receiver, counter, by);
    }
    record
}

#[test]
fn segments_and_bytes_tell_datagrams_where_packets_hold_many() {
    let ledger = ledger(&flood());
    let bounds = |place| {
        let drop = ledger.drops.iter().find(|drop| drop.place == place).expect("it dropped");
        (drop.least, drop.most)
    };
    // Of the 322,168 in the socket and 1,068,408 at the ingress hook the control connection
    // leaves a few open.
    let (least, most) = bounds(Place::ReceiverSocket);
    assert!((322_000..=322_168).contains(&least), "{ledger:?}");
    assert!((322_168..=322_300).contains(&most), "{ledger:?}");
    let (least, most) = bounds(Place::ReceiverIngress);
    assert!((1_068_000..=1_068_408).contains(&least), "{ledger:?}");
    assert!((1_068_408..=1_068_600).contains(&most), "{ledger:?}");
    assert!(ledger.remainder_most < 500, "{ledger:?}");
}

#[test]
fn bytes_of_a_router_tell_datagrams_that_it_did_not_forward() {
    let mut record = flood();
    test_record::drop_in_sockets(&mut record, 31_604);
    let receiver = test_record::host(&mut record, &Role::Peer);
    test_record::grow(receiver, counter::IP_IN_RECEIVES.v4, 81_844);
    let router = test_record::observe(&mut record, "router");
    let counters = [
        (counter::IP_IN_NO_ECT_PKTS.v4, 3_600_990),
        (counter::IP_IN_RECEIVES.v4, 81_878),
        (counter::IP_IN_DELIVERS.v4, 11),
        (counter::IP_FORW_DATAGRAMS.v4, 81_867),
        (counter::IP_OUT_REQUESTS.v4, 9),
        (counter::IP_OUT_TRANSMITS.v4, 80_108),
        (counter::IP_OUT_OCTETS.v4, 3_523_168 * 1_472 + 28 * 80_108),
    ];
    for (counter, by) in counters {
        test_record::grow(router, counter, by);
    }
    let ledger = ledger(&record);
    let forward = ledger.drops.iter().find(|drop| drop.place == Place::ObservedForward);
    let forward = forward.expect("it did not forward 1,768 packets");
    assert_eq!(forward.counted, 1_768);
    assert!((77_600..=77_834).contains(&forward.least), "{ledger:?}");
    assert!((77_792..=78_100).contains(&forward.most), "{ledger:?}");
}

/// Counters that a ledger looks at, at both ends and on the way.
fn counters<'a>() -> [Counter<'a>; COUNTERS] {
    [
        counter::QDISC_DROPS.within("eth0").on("tbf@1:"),
        counter::UDP_SNDBUF_ERRORS.v4,
        counter::INTERFACE_TX_DROPPED.on("eth0"),
        counter::INTERFACE_TX_BYTES.on("eth0"),
        counter::INTERFACE_RX_BYTES.on("eth0"),
        counter::INTERFACE_RX_DROPPED.on("eth0"),
        counter::INTERFACE_RX_MISSED_ERRORS.on("eth0"),
        counter::INTERFACE_RX_FIFO_ERRORS.on("eth0"),
        counter::SOFTNET_DROPPED.on(0),
        counter::IP_REASM_FAILS.v4,
        counter::IP_IN_DISCARDS.v4,
        counter::UDP_RCVBUF_ERRORS.v4,
        counter::INTERFACE_TX_PACKETS.on("eth0"),
        counter::INTERFACE_RX_PACKETS.on("eth0"),
        counter::IP_IN_RECEIVES.v4,
        counter::IP_IN_DELIVERS.v4,
        counter::IP_IN_NO_ECT_PKTS.v4,
        counter::UDP_OUT_DATAGRAMS.v4,
    ]
}

const COUNTERS: usize = 18;

fn any_number() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 0..100_u64, 0..200_000_u64, any::<u64>()]
}

proptest! {
    #[test]
    fn a_ledger_adds_up_whatever_was_counted(
        reported in (any_number(), any_number(), any_number(), any_number(), any_number()),
        drops in any_number(),
        counters in proptest::collection::vec(any_number(), 3 * COUNTERS),
        engines in (0..2_usize, 0..2_usize),
        length in 1..70_000_u64,
        reverse in any::<bool>(),
        base in 0..11_usize,
    ) {
        let mut record = if reverse { test_record::udp_received() } else { test_record::udp() };
        record.base = base;
        let outcome = &mut record.outcome.directions[0];
        let datagrams = outcome.datagrams.as_mut().expect("reported");
        (datagrams.sent, datagrams.received, datagrams.lost) = (reported.0, reported.1, reported.2);
        (datagrams.late, datagrams.unaccounted) = (Some(reported.3), Some(reported.4));
        (datagrams.tail, datagrams.duplicate) = (Some(reported.2), Some(reported.4));
        outcome.engines.send = Some(by(["sendmmsg", "gso"][engines.0]));
        outcome.engines.receive = Some(by(["recvmmsg", "gro"][engines.1]));
        record.streams[0].block = measurement::ByteSize::from_bytes(length);
        test_record::drop_in_sockets(&mut record, drops);
        record.samples[10].streams[0].udp.as_mut().expect("reported").drops = drops;
        observed(&mut record);
        for (host, counters) in record.hosts.iter_mut().zip(counters.chunks(COUNTERS)) {
            for (counter, by) in self::counters().into_iter().zip(counters) {
                host.series.put(counter, vec![0, *by, 0, *by, 0, *by, *by, *by, *by, *by, *by]);
            }
        }
        let ledger = judge(&record).directions[0].ledger.clone().expect("datagrams");
        assert_adds_up(&ledger);
        let is_reported = ledger.drops.iter().any(|drop| drop.place == Place::ReceiverSocket);
        // Those of the omitted start are of no concern.
        prop_assert!(drops == 0 || is_reported || (reverse && base == 10));
    }
}
