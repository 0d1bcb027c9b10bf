//! Clients that take much of a server and use nothing of it do not shut it for others.
//! `cargo xtask conformance siege` does the same in numbers, and measures.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};

use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};

use crate::shared::control::{CREATE_STREAMS, Control, PARAM_EXCHANGE, TEST_RUNNING, TEST_START};
use crate::support::{Server, test, until};

#[test]
fn streams_that_are_announced_and_not_opened_take_nothing_from_others() {
    let server = Server::start();
    let announced = json!({"tcp": true, "parallel": 10_000, "time": 60, "linerate": MANY});
    let held: Vec<_> = (0..8).map(|number| Raw::opening(&server, number, &announced)).collect();
    for options in ["--tcp --send -n 1M", "--tcp --receive -n 1M -P 200", "--udp --send -t 200ms"] {
        test(&server, options).assert_ran_to_its_end();
    }
    drop(held);
}

#[test]
fn tests_that_move_next_to_nothing_make_room_and_hear_why() {
    let server = Server::start_with("--bind 127.0.0.1 --max-sessions 8");
    let asked =
        [json!({"tcp": true, "time": 3600}), json!({"tcp": true, "time": 3600, "linerate": MANY})];
    let mut held: Vec<_> =
        (0..8).map(|number| Raw::trickling(&server, number, &asked[number % 2])).collect();
    // Who has just begun is not idle yet.
    until("a place", || test(&server, "--tcp --send -n 1M").ran_to_its_end().then_some(()));
    test(&server, "--udp --receive -t 200ms").assert_ran_to_its_end();
    server.line_with("another client needed the place");
    assert!(held.iter_mut().any(|one| one.control.state() == Some(SERVER_ERROR)));
}

#[test]
fn a_test_that_does_nothing_does_not_hold_up_the_queue() {
    let server = Server::start_with("--bind 127.0.0.1 --queue");
    let asked = json!({"tcp": true, "time": 3600});
    let mut held: Vec<_> = vec![Raw::trickling(&server, 0, &asked)];
    held.extend((1..4).map(|number| Raw::asking(&server, number, &asked)));
    test(&server, "--tcp --send -n 1M").assert_ran_to_its_end();
    assert_eq!(held[0].control.state(), Some(SERVER_ERROR));
}

#[test]
fn a_test_that_has_run_for_long_makes_room() {
    let server = Server::start_with("--bind 127.0.0.1 --queue --yield-after 1s --yield-below 0");
    let mut held = Raw::trickling(&server, 0, &json!({"tcp": true, "time": 3600}));
    test(&server, "--tcp --send -n 1M").assert_ran_to_its_end();
    server.line_with("it ran for 1 s (--yield-after)");
    assert_eq!(held.control.state(), Some(SERVER_ERROR));
}

/// A client by hand, from an address of its own.
struct Raw {
    control: Control,
    streams: Vec<TcpStream>,
}

impl Raw {
    /// It has asked for a test.
    fn asking(server: &Server, number: usize, parameters: &Value) -> Self {
        let mut control = Control::over(connect(server, number));
        control.write(&cookie(number));
        assert_eq!(control.state(), Some(PARAM_EXCHANGE));
        control.tell(&with_usual(parameters));
        Self { control, streams: Vec::new() }
    }

    /// It may open its streams.
    fn opening(server: &Server, number: usize, parameters: &Value) -> Self {
        let mut raw = Self::asking(server, number, parameters);
        raw.await_state(CREATE_STREAMS);
        raw
    }

    /// Its one stream has moved one byte.
    fn trickling(server: &Server, number: usize, parameters: &Value) -> Self {
        let mut raw = Self::opening(server, number, parameters);
        let mut stream = Control::over(connect(server, number));
        stream.write(&cookie(number));
        if parameters.get("linerate").is_some() {
            stream.write(&0_u32.to_be_bytes());
        }
        raw.await_state(TEST_START);
        raw.await_state(TEST_RUNNING);
        raw.streams.push(stream.0);
        raw.trickle();
        raw
    }

    fn trickle(&mut self) {
        for stream in &mut self.streams {
            stream.write_all(b"x").expect("a stream");
        }
    }

    /// Reads on until the server says that; a linerate hears of extensions in between.
    fn await_state(&mut self, wanted: u8) {
        loop {
            match self.control.state() {
                Some(EXTENSION) => _ = self.control.hear(),
                state => return assert_eq!(state, Some(wanted)),
            }
        }
    }
}

fn with_usual(parameters: &Value) -> Value {
    let mut all = json!({"len": 1000, "pacing_timer": 1000, "client_version": "3.16"});
    for (key, value) in parameters.as_object().into_iter().flatten() {
        all[key] = value.clone();
    }
    if let Some(own) = all.get_mut("linerate") {
        *own = json!({"version": "0.1.0", "extensions": own.clone()});
    }
    all
}

/// From 127.0.1.1, and every other one from 127.0.1.2.
fn connect(server: &Server, number: usize) -> TcpStream {
    let last = if number.is_multiple_of(2) { 1 } else { 2 };
    let from = SocketAddr::new(IpAddr::from(Ipv4Addr::new(127, 0, 1, last)), 0);
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.bind(&from.into()).expect("all of 127.0.0.0/8 is this host");
    socket.connect(&server.address.into()).expect("a connection");
    socket.into()
}

fn cookie(number: usize) -> [u8; 37] {
    let mut cookie = *b"besiegedbesiegedbesiegedbesiegedbesi\0";
    cookie[35] = b'a' + u8::try_from(number).expect("few");
    cookie
}

const MANY: [&str; 3] = ["many-streams", "hello-token", "evidence"];
const EXTENSION: u8 = 64;
const SERVER_ERROR: u8 = 0xfe;
