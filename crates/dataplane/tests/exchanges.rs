//! Streams that ask and answer, over loopback.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use linerate_dataplane::{
    BufferKind, Link, PayloadPattern, Pool, RequesterConfig, RoundTripStatistics, accept_responder,
    connect_requester, requester, responder,
};
use linux::tcp::TcpOptions;
use measurement::{ByteSize, Exchange, RoundTrips};

#[expect(dead_code, reason = "what is for streams of bulk")]
mod support;

use support::{Setup, counters, eventually, tcp_pair, udp_pair};

const ENOUGH: u64 = 500;

fn exchange(request: u64, response: u64) -> Exchange {
    let (request, response) = (ByteSize::from_bytes(request), ByteSize::from_bytes(response));
    Exchange { request, response, ..Exchange::default() }
}

/// Stream 1 asks and stream 2 answers.
struct Pair {
    pool: Pool,
    statistics: Arc<RoundTripStatistics>,
}

impl Pair {
    fn over(exchange: Exchange, (near, far): (Link, Link)) -> Self {
        let statistics = Arc::new(RoundTripStatistics::new(1_000));
        let asking = |counters| RequesterConfig {
            exchange,
            counters,
            statistics: Arc::clone(&statistics),
            patience: Duration::from_millis(50),
            message: None,
        };
        let pool = Setup::with_buffers(BufferKind::Blocks, PayloadPattern::Random)
            .workers(2)
            .stream(true, |counters| requester(near, asking(counters)).expect("asks"))
            .stream(false, |counters| responder(far, exchange, counters).expect("answers"))
            .start();
        Self { pool, statistics }
    }

    fn over_tcp(exchange: Exchange) -> Self {
        let (near, far) = tcp_pair();
        Self::over(exchange, (Link::Tcp(near), Link::Tcp(far)))
    }

    fn over_udp(exchange: Exchange) -> Self {
        let (near, far) = udp_pair();
        Self::over(exchange, (Link::Udp(near), Link::Udp(far)))
    }

    /// Stops when `count` answers have come, and checks what both ends counted.
    fn end_after(&self, count: u64, what: &str) -> RoundTrips {
        eventually(what, || counters(&self.pool, 1).blocks >= count);
        self.pool.stop_sending();
        let trips = self.statistics.read(Duration::from_secs(1));
        assert_eq!(trips.count, counters(&self.pool, 1).blocks, "{what}");
        // It sends before it counts.
        eventually(what, || counters(&self.pool, 2).blocks >= trips.count);
        assert!(!trips.times.min.is_zero() && trips.times.min <= trips.times.p50, "{what}");
        assert!(trips.times.p50 <= trips.times.p99 && trips.times.p99 <= trips.times.max, "{what}");
        assert!(self.pool.stream_error().is_none(), "{what}");
        trips
    }
}

#[test]
fn requests_and_responses_of_any_size_find_each_other() {
    for (request, response) in [(1, 1), (64, 64), (1, 16_000), (16_000, 1), (5_000, 7_001)] {
        for depth in [1, 7] {
            let what = format!("{request} and {response} bytes, depth {depth}");
            let exchange = Exchange { depth, ..exchange(request, response) };
            let trips = Pair::over_tcp(exchange).end_after(ENOUGH, &format!("TCP, {what}"));
            assert_eq!(trips.lost, 0, "{what}");
            if request.min(response) >= 16 {
                Pair::over_udp(exchange).end_after(ENOUGH, &format!("UDP, {what}"));
            }
        }
    }
}

#[test]
fn those_that_poll_answer_too() {
    let exchange = Exchange { busy: true, ..exchange(64, 64) };
    Pair::over_tcp(exchange).end_after(20, "TCP, busy");
    Pair::over_udp(exchange).end_after(20, "UDP, busy");
}

#[test]
fn requests_keep_their_times() {
    let exchange =
        Exchange { every: Some(Duration::from_millis(2)), depth: 16, ..exchange(64, 64) };
    for pair in [Pair::over_tcp(exchange), Pair::over_udp(exchange)] {
        pair.end_after(30, "every 2 ms");
        let probes = pair.statistics.probes();
        assert!(probes.len() >= 30);
        let span = probes[probes.len() - 1].sent.since(probes[0].sent);
        // Times that were missed are not made up for: there are no more than fit.
        let most = span.as_micros() / 2_000 + 2;
        assert!(probes.len() as u128 <= most, "{} in {span:?}", probes.len());
    }
}

#[test]
fn who_answers_tells_when() {
    let exchange = Exchange { every: Some(Duration::from_millis(1)), depth: 4, ..exchange(64, 64) };
    let pair = Pair::over_udp(exchange);
    pair.end_after(10, "probes");
    for probe in pair.statistics.probes() {
        let received = probe.round_trip.map(|time| probe.sent.after(time)).expect("answered");
        // Both ends have one clock here.
        assert!(probe.sent <= probe.arrived && probe.answered <= received, "{probe:?}");
    }
}

#[test]
fn what_is_not_answered_is_lost_and_the_next_one_goes() {
    let (near, far) = udp_pair();
    let statistics = Arc::new(RoundTripStatistics::new(0));
    let patience = Duration::from_millis(5);
    let pool = Setup::with_buffers(BufferKind::Blocks, PayloadPattern::Random)
        .stream(true, |counters| {
            let statistics = Arc::clone(&statistics);
            let asking = RequesterConfig {
                exchange: exchange(64, 64),
                counters,
                statistics,
                patience,
                message: None,
            };
            requester(Link::Udp(near), asking).expect("asks")
        })
        .start();
    eventually("some are lost", || statistics.read(patience).lost >= 3);
    let mut request = [0; 100];
    let length = far.recv(&mut request).expect("a request");
    // That of a request that was given up comes too late to count.
    far.send(&request[..length]).expect("sent");
    eventually("it is late", || counters(&pool, 1).late == 1);
    assert_eq!(statistics.read(patience).count, 0);
    drop(far);
    let lost = statistics.read(patience).lost;
    eventually("more are lost", || statistics.read(patience).lost >= lost + 3);
    assert!(pool.stream_error().is_none(), "an ICMP error is no end");
}

#[test]
fn a_response_that_nobody_asked_for_is_not_one() {
    let (near, far) = udp_pair();
    let statistics = Arc::new(RoundTripStatistics::new(0));
    let pool = Setup::with_buffers(BufferKind::Blocks, PayloadPattern::Random)
        .stream(true, |counters| {
            let asking = RequesterConfig {
                exchange: exchange(64, 64),
                counters,
                statistics: Arc::clone(&statistics),
                patience: Duration::from_secs(60),
                message: None,
            };
            requester(Link::Udp(near), asking).expect("asks")
        })
        .start();
    eventually("it asks", || far.recv(&mut [0; 64]).is_ok());
    for datagram in [&[0xff; 64][..], &[0; 64], &[0; 63], &[]] {
        far.send(datagram).expect("sent");
    }
    eventually("they are seen", || {
        let seen = counters(&pool, 1);
        seen.malformed + seen.late == 4
    });
    assert_eq!(statistics.read(Duration::ZERO).count, 0);
}

#[test]
fn a_datagram_of_another_length_is_not_answered() {
    let (near, far) = udp_pair();
    let pool = Setup::with_buffers(BufferKind::Blocks, PayloadPattern::Random)
        .stream(false, |counters| {
            responder(Link::Udp(far), exchange(64, 1_000), counters).expect("answers")
        })
        .start();
    // More than there is room for, too.
    for length in [0, 4, 63, 65, 1_000, 60_000] {
        near.send(&vec![1; length]).expect("sent");
    }
    near.send(&[2; 64]).expect("sent");
    eventually("one is answered", || counters(&pool, 1).blocks == 1);
    let mut response = [0; 2_000];
    assert_eq!(near.recv(&mut response).expect("its response"), 1_000);
    assert!(near.recv(&mut response).is_err(), "there is but one");
}

#[test]
fn each_call_has_a_connection_of_its_own() {
    for (request, response) in [(64, 64), (1, 10_000), (16_000, 1)] {
        let (listener, to) = listener();
        let exchange = exchange(request, response);
        let statistics = Arc::new(RoundTripStatistics::new(0));
        let mut setup = Setup::with_buffers(BufferKind::Blocks, PayloadPattern::Random).workers(2);
        // Two at a time share the listener.
        for _ in 0..2 {
            let (near, far) = tcp_pair();
            let (statistics, listener) = (Arc::clone(&statistics), Arc::clone(&listener));
            setup = setup
                .stream(true, |counters| {
                    let patience = Duration::from_secs(1);
                    let asking =
                        RequesterConfig { exchange, counters, statistics, patience, message: None };
                    connect_requester((to, TcpOptions::default()), near, asking)
                })
                .stream(false, |counters| accept_responder(listener, &far, exchange, counters));
        }
        let pool = setup.start();
        eventually("calls are answered", || {
            counters(&pool, 1).blocks >= 200 && counters(&pool, 3).blocks >= 200
        });
        pool.stop_sending();
        let trips = statistics.read(Duration::from_secs(1));
        assert!(trips.count >= 400, "{}", trips.count);
        // A response may arrive before its responder has counted it.
        eventually("each response is counted", || {
            counters(&pool, 2).blocks + counters(&pool, 4).blocks >= trips.count
        });
        assert_eq!(trips.lost, 0, "{request} and {response} bytes");
    }
}

#[test]
fn a_caller_that_is_silent_holds_up_nobody() {
    let (listener, to) = listener();
    let (near, far) = tcp_pair();
    let exchange = exchange(64, 64);
    let silent: Vec<_> = (0..5).map(|_| TcpStream::connect(to).expect("connected")).collect();
    let statistics = Arc::new(RoundTripStatistics::new(0));
    let pool = Setup::with_buffers(BufferKind::Blocks, PayloadPattern::Random)
        .stream(true, |counters| {
            let statistics = Arc::clone(&statistics);
            let asking = RequesterConfig {
                exchange,
                counters,
                statistics,
                patience: Duration::from_secs(1),
                message: None,
            };
            connect_requester((to, TcpOptions::default()), near, asking)
        })
        .stream(false, |counters| accept_responder(Arc::clone(&listener), &far, exchange, counters))
        .start();
    eventually("others are answered", || counters(&pool, 1).blocks >= 50);
    drop(silent);
}

fn listener() -> (Arc<TcpListener>, SocketAddr) {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = linux::tcp::listen(any, false).expect("listens");
    let to = listener.local_addr().expect("bound");
    (Arc::new(listener), to)
}
