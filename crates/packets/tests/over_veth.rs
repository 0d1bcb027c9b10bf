//! Trials over a virtual link in a namespace: every frame is accounted for, by each engine.

use std::os::fd::AsFd;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use linerate_packets::{
    Addressing, FrameLayout, FrameSizes, LiveCounts, Port, ReceiveWith, SendWith, Setup, TrialPlan,
    record,
};
use linux::namespace::NetworkNamespace;
use linux::netlink::RouteSocket;
use linux::xdp::FrameTag;
use measurement::packets::{PacketEngine, PacketsRecord};

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
    FrameLayout::new(FrameTag::new(0x1357_9bdf), addressing, sizes, flows, 1).expect("it fits")
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
