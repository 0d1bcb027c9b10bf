//! Streams and hellos find their tests, and others do not.

use std::io::Read;
use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use protocol::iperf3::{QueuePlace, State};

use super::*;
use crate::clock::ScriptedClock;
use crate::server::stay::Yielding;

const COST: Cost = Cost { memory: 1, descriptors: 1, threads: 1 };
const NEED: Need = Need { base: COST, each: COST, streams: 1, workers: COST };
const MOST: Cost = Cost { memory: 100, descriptors: 100, threads: 100 };

fn registry(running: usize) -> (Arc<Registry>, Arc<ScriptedClock>) {
    let order = Order {
        running,
        waiting: 9,
        per_address: 9,
        starts: 9,
        memory: 100,
        yielding: Some(Yielding::NEVER),
    };
    let clock = Arc::new(ScriptedClock::at(Timestamp::from_nanos(1)));
    let registry = Registry::new(order, MOST, Arc::<ScriptedClock>::clone(&clock));
    (Arc::new(registry.expect("an eventfd")), clock)
}

fn cookie(number: u8) -> Cookie {
    Cookie::from_random([number; Cookie::LENGTH - 1])
}

fn address(last: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, last).into()
}

fn enter(registry: &Arc<Registry>, number: u8, client: IpAddr) -> Ticket {
    match registry.enter(cookie(number), client, NEED, TestClass::Regular) {
        Ok(ticket) => ticket,
        Err(why) => panic!("{why}"),
    }
}

/// A connection that was accepted, and its client's end.
fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bound");
    let client = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
    (listener.accept().expect("accepted").0, client)
}

/// Whether a client was sent away.
fn is_sent_away(mut client: TcpStream) -> bool {
    let mut byte = [0];
    client.set_read_timeout(Some(Duration::from_secs(5))).expect("set");
    client.read_exact(&mut byte).is_ok() && byte[0] == State::AccessDenied.byte()
}

#[test]
fn a_stream_goes_to_the_test_whose_cookie_it_bears() {
    let (registry, _) = registry(2);
    let (one, two) = (enter(&registry, 1, address(1)), enter(&registry, 2, address(2)));
    one.open_tcp(1, Numbering::ByArrival);
    let (socket, _client) = connection();
    assert!(registry.hand_over(&cookie(1), None, socket).is_none());
    let arrival = one.arrival().expect("its stream");
    assert!(arrival.index.is_none() && matches!(arrival.socket, ArrivalSocket::Tcp(_)));
    assert!(two.arrival().is_none());
    let (socket, _client) = connection();
    assert!(registry.hand_over(&cookie(3), None, socket).is_some(), "no test bears that cookie");
}

#[test]
fn a_stream_that_its_test_does_not_wait_for_is_sent_away() {
    let (registry, _) = registry(2);
    let ticket = enter(&registry, 1, address(1));
    let (socket, client) = connection();
    assert!(registry.hand_over(&cookie(1), None, socket).is_none());
    assert!(is_sent_away(client), "no stream is awaited yet");
    ticket.open_tcp(1, Numbering::ByArrival);
    let (socket, _client) = connection();
    assert!(registry.hand_over(&cookie(1), None, socket).is_none());
    let (socket, client) = connection();
    assert!(registry.hand_over(&cookie(1), None, socket).is_none());
    assert!(is_sent_away(client), "one more than asked");
}

#[test]
fn each_number_is_taken_once() {
    let (registry, _) = registry(2);
    let ticket = enter(&registry, 1, address(1));
    ticket.open_tcp(3, Numbering::Explicit);
    assert!(registry.numbers(&cookie(1)));
    for (index, is_taken) in [(2, true), (2, false), (3, false), (0, true)] {
        let (socket, client) = connection();
        assert!(registry.hand_over(&cookie(1), Some(index), socket).is_none());
        assert_eq!(ticket.arrival().map(|arrival| arrival.index), is_taken.then_some(Some(index)));
        assert!(is_taken || is_sent_away(client), "{index}");
    }
}

#[test]
fn a_hello_with_a_token_is_for_the_test_of_that_token_and_address() {
    let (registry, _) = registry(2);
    let ticket = enter(&registry, 1, address(1));
    let token = HelloToken::from_random([1; 16]);
    let other = HelloToken::from_random([2; 16]);
    ticket.open_udp(2, &StreamOptions::default(), Some(token), Numbering::Explicit);
    let owner = |last, hello| registry.owner(SocketAddr::new(address(last), 1000), hello);
    let expected = |owner| matches!(owner, Owner::Expected { index: Some(1), .. });
    assert!(expected(owner(1, Hello::Numbered(token, 1))));
    assert!(!expected(owner(2, Hello::Numbered(token, 1))), "another address");
    assert!(matches!(owner(1, Hello::Numbered(other, 1)), Owner::Stray), "another token");
    assert!(matches!(owner(1, Hello::Numbered(token, 2)), Owner::Stray), "no such stream");
    assert!(matches!(owner(1, Hello::Current), Owner::Stray), "no token");
}

#[test]
fn a_hello_without_a_token_is_for_the_holder_of_the_handshake_lock() {
    let (registry, _) = registry(3);
    let (one, two) = (enter(&registry, 1, address(1)), enter(&registry, 2, address(1)));
    assert!(one.takes_handshake_lock() && !two.takes_handshake_lock());
    one.open_udp(1, &StreamOptions::default(), None, Numbering::ByArrival);
    let source = SocketAddr::new(address(1), 1000);
    let test = |owner| match owner {
        Owner::Expected { test, .. } => Some(test),
        _ => None,
    };
    assert_eq!(test(registry.owner(source, Hello::Current)), Some(cookie(1)));
    one.close();
    assert!(two.takes_handshake_lock(), "the first has all its streams");
    two.open_udp(1, &StreamOptions::default(), None, Numbering::ByArrival);
    assert_eq!(test(registry.owner(source, Hello::Current)), Some(cookie(2)));
}

#[test]
fn the_peer_of_a_stream_is_known_and_forgotten_by_the_clock() {
    let (registry, clock) = registry(1);
    let ticket = enter(&registry, 1, address(1));
    ticket.open_udp(1, &StreamOptions::default(), None, Numbering::ByArrival);
    let source = SocketAddr::new(address(1), 1000);
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("bound");
    registry.deliver_udp(&cookie(1), None, source, socket);
    assert_eq!(registry.peer_state(source), PeerState::Current);
    assert!(matches!(registry.owner(source, Hello::Current), Owner::Known));
    drop(ticket);
    assert_eq!(registry.peer_state(source), PeerState::Former);
    // The next test of a client may come from the same port (`--cport`).
    let next = enter(&registry, 2, address(1));
    assert!(next.takes_handshake_lock());
    next.open_udp(1, &StreamOptions::default(), None, Numbering::ByArrival);
    let owner = registry.owner(source, Hello::Current);
    assert!(matches!(owner, Owner::Expected { test, .. } if test == cookie(2)));
    drop(next);
    clock.advance(Duration::from_secs(30));
    assert_eq!(registry.peer_state(source), PeerState::Unknown);
}

#[test]
fn a_place_is_free_again_when_its_ticket_is_dropped() {
    let (registry, _) = registry(1);
    let (one, two) = (enter(&registry, 1, address(1)), enter(&registry, 2, address(2)));
    assert!(
        registry.enter(cookie(1), address(3), NEED, TestClass::Regular).is_err(),
        "the same cookie"
    );
    assert_eq!(one.place(), None);
    assert_eq!(two.place(), Some(QueuePlace { ahead: 1, running: 1 }));
    assert!(one.is_queued_for());
    one.begin();
    let id = one.id();
    drop(one);
    assert_eq!((two.place(), registry.tests(), registry.served()), (None, 1, 1));
    assert!(!registry.has(&id) && registry.knows(&cookie(2)));
    drop(two);
    assert_eq!((registry.tests(), registry.served()), (0, 1), "the second never began");
}

#[test]
fn a_server_that_stops_lets_the_tests_end_that_have_begun() {
    let (registry, _) = registry(2);
    let (begun, waiting) = (enter(&registry, 1, address(1)), enter(&registry, 2, address(2)));
    begun.begin();
    registry.let_end();
    assert!(!begun.is_stopping() && waiting.is_stopping());
    registry.stop();
    assert!(begun.is_stopping());
}
