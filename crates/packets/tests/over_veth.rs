//! Trials over a virtual link in a namespace: every frame is accounted for, by each engine.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use linerate_packets::{
    Addressing, FrameLayout, FrameSizes, FrameTrial, LiveCounts, PacketError, Port, ReceiveWith,
    SendWith, Setup, TrialPlan, record,
};
use linux::frame_socket::FrameSocket;
use linux::namespace::NetworkNamespace;
use linux::netlink::RouteSocket;
use linux::xdp::{FrameTag, XdpMode, XdpProgram};
use measurement::packets::{PacketEngine, PacketsRecord};
use testbed::wait::eventually;

/// Runs `work` in a namespace with the interfaces `a0` and `b0`, joined. None: not permitted here.
fn in_pair<T: Send>(mtu: u32, work: impl FnOnce(Port, Port) -> T + Send) -> Option<T> {
    if let lab::Access::Forbidden { reason } = lab::prepare() {
        eprintln!("skipped: {reason}");
        return None;
    }
    let namespace = NetworkNamespace::create().expect("permitted");
    let done = namespace.run(|| {
        let mut route = RouteSocket::open().expect("netlink");
        let here = NetworkNamespace::current().expect("permitted");
        route.create_veth("a0", "b0", here.as_fd()).expect("a pair");
        for name in ["a0", "b0"] {
            route.set_mtu(name, mtu).expect("set");
            route.set_up(name).expect("up");
        }
        let port = |name| Port::read(name).expect("there");
        work(port("a0"), port("b0"))
    });
    Some(done.expect("entered"))
}

fn setup(from: Port, to: Port) -> Setup {
    let (send, receive) = (SendWith::Best, ReceiveWith::Best);
    Setup { from, to: Some(to), send, receive, queues: 1, cpus: None }
}

fn layout(setup: &Setup, sizes: FrameSizes, flows: u16) -> FrameLayout {
    let addressing = Addressing {
        source_mac: setup.from.mac,
        destination_mac: setup.to.as_ref().expect("here").mac,
        vlan: None,
        source: [198, 18, 0, 1].into(),
        destination: [198, 18, 0, 2].into(),
        source_port: 1024,
        destination_port: 9,
    };
    FrameLayout::new(FrameTag::new(TAG), addressing, sizes, flows, 1).expect("it fits")
}

fn run(setup: &Setup, layout: &FrameLayout, plan: TrialPlan) -> PacketsRecord {
    let stop = AtomicBool::new(false);
    record(setup, layout, &plan, &LiveCounts::default(), &stop).expect("it ran")
}

fn frames(count: u64) -> TrialPlan {
    TrialPlan { rate: Some(20_000.0), duration: Duration::from_secs(5), frames: Some(count) }
}

#[test]
fn each_engine_accounts_for_every_frame() {
    let done = in_pair(1500, |from, to| {
        let plain = setup(from, to);
        let packet =
            Setup { send: SendWith::AfPacket, receive: ReceiveWith::AfPacket, ..plain.clone() };
        let count = Setup { receive: ReceiveWith::Count, ..plain.clone() };
        [plain, packet, count].map(|setup| {
            let layout = layout(&setup, FrameSizes::imix(), 5);
            run(&setup, &layout, frames(3_001))
        })
    });
    let Some([xdp, packet, count]) = done else { return };
    let engines = |record: &PacketsRecord| {
        let receive = record.receive_engine.as_ref().map(|used| used.engine);
        (record.send_engine.engine, receive)
    };
    assert_eq!(engines(&xdp), (PacketEngine::AfXdp, Some(PacketEngine::AfXdp)), "{xdp:?}");
    assert_eq!(engines(&packet), (PacketEngine::AfPacket, Some(PacketEngine::AfPacket)));
    assert_eq!(engines(&count), (PacketEngine::AfXdp, Some(PacketEngine::XdpCount)));
    for record in [&xdp, &packet, &count] {
        assert_eq!(record.sent.frames, 3_001);
        assert_eq!(record.sent.bytes, 250 * (7 * 64 + 4 * 594 + 1518) + 64);
        let arrived = record.received.expect("counted").frames;
        assert_eq!(Some(record.sent.frames - arrived), record.losses.lost);
        assert_eq!(record.unaccounted, Some(0), "{record:?}");
    }
    for record in [xdp, packet] {
        assert_eq!((record.losses.duplicates, record.losses.reordered), (Some(0), Some(0)));
        assert_eq!(record.flows.len(), 5);
        assert_eq!(record.flows.iter().map(|flow| flow.sent).sum::<u64>(), 3_001);
        let latency = record.latency.expect("timed");
        assert!(latency.max_nanos < 10_000_000_000, "{latency:?}");
    }
}

#[test]
fn a_program_makes_frames_of_several_flows_and_all_are_counted() {
    let records = in_pair(1500, |from, to| {
        let count = Setup { receive: ReceiveWith::Count, ..setup(from, to) };
        let live = Setup { send: SendWith::XdpLive, ..count.clone() };
        let fastest = Setup { send: SendWith::Fastest, ..count };
        let one_size = layout(&live, FrameSizes::one(64), 5);
        let plan = TrialPlan { rate: None, ..frames(100_001) };
        let imix = layout(&live, FrameSizes::imix(), 5);
        let error = FrameTrial::open(&live, &imix).expect_err("frames of several sizes");
        assert!(matches!(error, PacketError::Live { .. }), "{error:?}");
        [run(&live, &one_size, plan), run(&fastest, &one_size, plan), run(&fastest, &imix, plan)]
    });
    let Some([live, fastest, imix]) = records else { return };
    assert_eq!(live.send_engine.engine, PacketEngine::XdpLive);
    assert_eq!(fastest.send_engine.engine, PacketEngine::XdpLive);
    assert_eq!(imix.send_engine.engine, PacketEngine::AfXdp, "frames differ in their sizes");
    for record in [live, fastest, imix] {
        assert_eq!((record.sent.frames, record.unaccounted), (100_001, Some(0)), "{record:?}");
    }
}

#[test]
fn frames_that_a_program_makes_are_numbered_timed_and_have_right_checksums() {
    for (source, destination, payload) in
        [("198.18.0.1", "198.18.0.2", 42), ("fd00::1", "fd00::2", 62)]
    {
        let seen = in_pair(1500, |from, to| {
            let _pass = XdpProgram::pass(to.index, XdpMode::Native).expect("attached");
            let mut socket = FrameSocket::receiver(to.index, 64, 100).expect("opened");
            let setup =
                Setup { send: SendWith::XdpLive, to: None, ..setup(from.clone(), to.clone()) };
            let known = layout(&crate::setup(from, to), FrameSizes::one(86), 3);
            let addressing = Addressing {
                source: source.parse().expect("an address"),
                destination: destination.parse().expect("an address"),
                ..*known.addressing()
            };
            let layout = known.with_addressing(addressing).expect("it fits");
            let begun = dataplane::now();
            run(&setup, &layout, TrialPlan { rate: None, ..frames(200) });
            let mut seen = Vec::new();
            while socket.receive(|frame| seen.push(frame.to_vec())).expect("read") > 0 {}
            (begun, seen)
        });
        let Some((begun, seen)) = seen else { return };
        let tag = FrameTag::new(TAG).bytes();
        let ours = seen.iter().filter(|frame| frame.get(payload..payload + 4) == Some(&tag));
        let mut next = 0_u32;
        for frame in ours {
            assert_eq!(frame.len(), 82);
            let number = |at: usize, bytes: usize| {
                frame[at..at + bytes].iter().fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte))
            };
            let flow = next % 3;
            assert_eq!(number(payload + 4, 2), flow);
            assert_eq!(number(payload + 6, 4), next / 3);
            assert_eq!(number(payload - 8, 2), 1024 + flow, "port");
            let units = u64::from(number(payload + 10, 4));
            let late = units.wrapping_sub(begun.nanos() >> 4) & u64::from(u32::MAX);
            assert!(late << 4 < 5_000_000_000, "{late} units of 16 ns");
            assert_eq!(checksum_of_udp(frame, payload - 8), 0);
            next += 1;
        }
        assert_eq!(next, 200);
    }
}

/// Sum of the UDP header, its pseudo header and the payload (RFC 768); 0: the checksum is right.
fn checksum_of_udp(frame: &[u8], udp: usize) -> u16 {
    let addresses = if udp == 34 { 26..34 } else { 22..54 };
    let length = frame.len() - udp;
    let words = [&frame[addresses], &frame[udp..]].concat();
    let sum = words.chunks(2).map(|word| u64::from(word[0]) << 8 | u64::from(word[1])).sum::<u64>();
    let mut sum = sum + 17 + length as u64;
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    assert!(frame[udp + 6..udp + 8] != [0, 0], "none");
    u16::try_from(0xffff - sum).expect("16 bits")
}

#[test]
fn what_a_receiver_has_no_room_for_is_counted_where_it_was_dropped() {
    let record = in_pair(1500, |from, to| {
        let setup = setup(from, to);
        let layout = layout(&setup, FrameSizes::one(64), 1);
        let plan = TrialPlan { rate: None, duration: Duration::from_millis(300), frames: None };
        run(&setup, &layout, plan)
    });
    let Some(record) = record else { return };
    let dropped: u64 = record.drops.iter().map(|one| one.frames).sum();
    assert_eq!(record.losses.lost, Some(dropped), "{record:?}");
    assert!(record.sent.frames > 1_000);
}

#[test]
fn jumbo_frames_go_by_af_packet_and_the_record_says_why() {
    let record = in_pair(9000, |from, to| {
        let setup = setup(from, to);
        let layout = layout(&setup, FrameSizes::one(9018), 1);
        run(&setup, &layout, frames(200))
    });
    let Some(record) = record else { return };
    assert_eq!(record.send_engine.engine, PacketEngine::AfPacket);
    assert!(record.send_engine.why.contains("longer"), "{:?}", record.send_engine);
    assert_eq!((record.sent.frames, record.unaccounted), (200, Some(0)), "{record:?}");
}

#[test]
fn a_rate_is_kept_and_a_stop_ends_a_trial() {
    let records = in_pair(1500, |from, to| {
        let setup = setup(from, to);
        let layout = layout(&setup, FrameSizes::one(64), 1);
        let plan =
            TrialPlan { rate: Some(2_000.0), duration: Duration::from_secs(1), frames: None };
        let kept = run(&setup, &layout, plan);
        let stop = AtomicBool::new(true);
        let stopped = record(&setup, &layout, &plan, &LiveCounts::default(), &stop);
        (kept, stopped.expect("it ran"))
    });
    let Some((kept, stopped)) = records else { return };
    // On a busy machine it may fall behind, but never exceeds the rate.
    assert!((200..=2_100).contains(&kept.sent.frames), "{}", kept.sent.frames);
    assert!(stopped.interrupted);
    assert_eq!(stopped.sent.frames, 0);
}

#[test]
fn a_port_that_goes_down_in_the_middle_is_named() {
    let failed = in_pair(1500, |from, to| {
        let setup = Setup { receive: ReceiveWith::Count, ..setup(from, to) };
        let layout = layout(&setup, FrameSizes::one(64), 1);
        let plan = TrialPlan { rate: Some(100.0), duration: Duration::from_secs(60), frames: None };
        let stop = AtomicBool::new(false);
        let counts = LiveCounts::default();
        std::thread::scope(|scope| {
            let running = scope.spawn(|| record(&setup, &layout, &plan, &counts, &stop));
            eventually("frames", || counts.sent.load(Relaxed) > 0);
            let mut route = RouteSocket::open().expect("netlink");
            route.delete_link("b0").expect("deleted");
            running.join().expect("no panic").expect_err("a link that is gone")
        })
    });
    let Some(failed) = failed else { return };
    let text = failed.to_string();
    assert!(text.contains("b0 was removed") || text.contains("a0"), "{text}");
}

const TAG: u32 = 0x1357_9bdf;
