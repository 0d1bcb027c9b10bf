//! Every engine that users can choose, against every other one, over loopback.

use std::net::TcpStream;
use std::sync::Arc;

use linerate_dataplane::tcp::{Incoming, Outgoing, RECEIVERS, ReceiveEngine, SENDERS, SendEngine};
use linerate_dataplane::{
    Budget, BufferKind, Pacer, PayloadPattern, Pool, SharedResources, now, udp,
};
use measurement::BitRate;
use measurement::engine::{self, Engine};
use protocol::iperf3::CounterWidth;

#[expect(dead_code, reason = "what is for single engines")]
mod support;

use support::{BLOCK, DATAGRAM, Setup, counters, eventually, tcp_pair, udp_pair};

/// Not a whole number of blocks.
const BYTES: u64 = 20_000_003;
const DATAGRAMS: u64 = 3_001;
/// The senders that ask the kernel not to copy, and hear whether it did.
const IN_PLACE: [&Engine; 2] = [&engine::ZEROCOPY, &engine::URING_ZEROCOPY];

#[test]
fn whatever_sends_and_whatever_receives_agree_to_the_byte() {
    for sender in SENDERS {
        for receiver in RECEIVERS {
            let pair = format!("{} to {}", sender.engine.name, receiver.engine.name);
            let resources = resources();
            let budget = Some(Arc::new(Budget::new(BYTES)));
            let pool = joined(&resources, sender, receiver, budget, None);
            eventually(&pair, || counters(&pool, 2).bytes >= BYTES);
            let both = (counters(&pool, 1).bytes, counters(&pool, 2).bytes);
            assert_eq!(both, (BYTES, BYTES), "{pair}");
            assert!(pool.stream_error().is_none(), "{pair}");
        }
    }
}

#[test]
fn what_is_in_flight_when_the_sending_stops_is_counted() {
    for sender in SENDERS {
        let resources = resources();
        let pool = joined(&resources, sender, &RECEIVERS[0], None, None);
        eventually(sender.engine.name, || counters(&pool, 2).bytes > BYTES);
        pool.stop_sending();
        eventually(sender.engine.name, || pool.senders_finished());
        let sent = counters(&pool, 1).bytes;
        eventually(sender.engine.name, || counters(&pool, 2).bytes >= sent);
        let both = (counters(&pool, 1).bytes, counters(&pool, 2).bytes);
        assert_eq!(both, (sent, sent), "{}", sender.engine.name);
    }
}

#[test]
fn every_sender_keeps_its_pace() {
    for sender in SENDERS {
        let rate = BitRate::from_bits_per_second(100_000_000);
        let pacer = Some(Pacer::for_blocks(rate, BLOCK as u64));
        let began = now();
        let pool = joined(&resources(), sender, &RECEIVERS[0], None, pacer);
        eventually(sender.engine.name, || counters(&pool, 1).bytes > 1_000_000);
        let sent = counters(&pool, 1).bytes;
        let passed = now().since(began);
        let due = rate.time_for(sent - BLOCK as u64);
        assert!(due <= passed, "{}: {sent} bytes in {passed:?}", sender.engine.name);
    }
}

#[test]
fn a_receiver_hears_of_the_end_and_of_a_reset() {
    for receiver in RECEIVERS {
        let ends: [fn(&TcpStream); 2] =
            [|_| (), |near| linux::tcp::abort_on_close(near).expect("will reset")];
        for (end, is_error) in ends.into_iter().zip([false, true]) {
            let (near, far) = tcp_pair();
            let pool =
                Setup::tcp().stream(false, |counters| built(receiver, far, counters)).start();
            end(&near);
            drop(near);
            eventually(receiver.engine.name, || pool.is_stuck());
            assert_eq!(pool.stream_error().is_some(), is_error, "{}", receiver.engine.name);
        }
    }
}

#[test]
fn loopback_owns_up_to_copying_what_was_sent_in_place() {
    for sender in SENDERS.iter().filter(|sender| IN_PLACE.contains(&sender.engine)) {
        let resources = resources();
        let budget = Some(Arc::new(Budget::new(BYTES)));
        let pool = joined(&resources, sender, &RECEIVERS[0], budget, None);
        eventually(sender.engine.name, || counters(&pool, 2).bytes >= BYTES);
        drop(pool);
        let tally = resources.zerocopy();
        assert!(tally.sends() > 0 && tally.done() > 0, "{}: {tally:?}", sender.engine.name);
        assert_eq!(tally.copied(), tally.done(), "{}", sender.engine.name);
    }
}

#[test]
fn every_datagram_arrives_once_whatever_sends_and_receives() {
    for sender in udp::SENDERS {
        for receiver in udp::RECEIVERS {
            let pair = format!("{} to {}", sender.engine.name, receiver.engine.name);
            let (near, far) = udp_pair();
            let rate = BitRate::from_bits_per_second(50_000_000);
            let pool = Setup::with_buffers(BufferKind::Segments, PayloadPattern::Random)
                .stream(true, |counters| {
                    let outgoing = udp::Outgoing {
                        socket: near,
                        header: CounterWidth::Bits64.into(),
                        counters,
                        budget: Some(Arc::new(Budget::new(DATAGRAMS))),
                        pacer: Some(Pacer::for_datagrams(rate, DATAGRAM as u64)),
                    };
                    sender.build(DATAGRAM, outgoing).expect("this kernel has it")
                })
                .stream(false, |counters| {
                    let width = CounterWidth::Bits64;
                    let incoming =
                        udp::Incoming { socket: far, header: width.into(), counters, goal: None };
                    receiver.build(DATAGRAM, incoming).expect("this kernel has it")
                })
                .start();
            eventually(&pair, || counters(&pool, 2).unique == DATAGRAMS);
            let (sent, received) = (counters(&pool, 1), counters(&pool, 2));
            assert_eq!((sent.sequence, sent.bytes), (DATAGRAMS, received.bytes), "{pair}");
            assert_eq!((received.duplicate, received.malformed), (0, 0), "{pair}");
        }
    }
}

fn resources() -> SharedResources {
    SharedResources::new(BLOCK, PayloadPattern::Random)
}

fn joined(
    resources: &SharedResources,
    sender: &SendEngine,
    receiver: &ReceiveEngine,
    budget: Option<Arc<Budget>>,
    pacer: Option<Pacer>,
) -> Pool {
    let (near, far) = tcp_pair();
    Setup::tcp()
        .stream(true, |counters| {
            let outgoing = Outgoing { socket: near, counters, budget, pacer };
            sender.build(resources, outgoing).expect("this kernel has it")
        })
        .stream(false, |counters| built(receiver, far, counters))
        .start()
}

fn built(
    receiver: &ReceiveEngine,
    socket: Arc<TcpStream>,
    counters: Arc<linerate_dataplane::Counters>,
) -> Box<dyn linerate_dataplane::Stream> {
    let incoming = Incoming { socket, counters, goal: None, read_before: 0 };
    receiver.build(&resources(), incoming).expect("this kernel has it")
}
