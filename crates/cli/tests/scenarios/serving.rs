//! One server answers whoever comes, and nobody it does not expect.

use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::control::{COOKIE, CREATE_STREAMS, Control, TEST_RUNNING, TEST_START};
use crate::support::{
    Running, Server, client, free_port, has_ipv6, json, linerate, linerate_on, link, run, skip,
    test, until,
};

#[test]
fn tests_follow_each_other_without_a_pause() {
    let server = Server::start();
    for _ in 0..2 {
        for transport in ["--tcp", "--udp"] {
            for direction in ["--send", "--receive", "--bidir"] {
                test(&server, &format!("{transport} {direction} -b 20M -t 50ms")).assert_success();
            }
        }
    }
    let finished = test(&server, "-P 4 -t 100ms --format details");
    finished.assert_success();
    // A row of the table, one of how its streams shared it, and where what it lacks went; of UDP
    // how the rate was kept as well.
    // Delay variation has a line only where each datagram has a time of its own.
    let lines = finished.stdout.lines().filter(|line| !line.starts_with("  ipdv: "));
    let rows: usize = lines.map(|line| line.matches(", 4 streams").count()).sum();
    assert_eq!(rows, 14, "{finished:?}");
}

#[test]
fn every_option_reaches_the_streams() {
    assert_options_work(&Server::start());
}

#[test]
fn every_option_reaches_the_streams_over_ipv6() {
    if has_ipv6() {
        assert_options_work(&Server::start_with("--bind ::1"));
    }
}

#[test]
fn a_lossless_network_loses_nothing() {
    let server = Server::start();
    for direction in ["--send", "--receive", "--bidir"] {
        let record = json(&server, &format!("--udp {direction} -b 20M -n 1M"));
        for outcome in record["outcome"]["directions"].as_array().expect("directions") {
            let datagrams = &outcome["datagrams"];
            assert_eq!(datagrams["received"], datagrams["sent"], "{outcome}");
            assert_eq!(datagrams["lost"], 0, "{outcome}");
            assert_eq!(outcome["delivered"]["bytes"], outcome["offered"]["bytes"], "{outcome}");
        }
    }
}

#[test]
fn a_server_answers_both_families_on_one_port() {
    let Some(link) = link() else { return };
    let _server = Server::start_on(&link.far, "");
    let v6 = link.far.ipv6().map(|address| address.to_string());
    for address in [Some(link.far.ipv4().to_string()), v6].into_iter().flatten() {
        run(linerate_on(&link.near, &format!("test {address} -t 100ms"))).assert_success();
    }
}

#[test]
fn a_link_local_address_is_reached_through_its_interface() {
    let Some(link) = link() else { return };
    let Some(address) = link.far.link_local() else {
        return skip("no IPv6 on this system").unwrap_or_default();
    };
    let _server = Server::start_on(&link.far, "");
    let scoped = format!("test {address}%{} -t 100ms -P 2", link.near.interface());
    run(linerate_on(&link.near, &scoped)).assert_success();
    let finished = run(linerate_on(&link.near, &format!("test {address}")));
    finished.assert_refusal(1, &["a link-local address needs its interface, as in fe80::1%eth0"]);
}

#[test]
fn a_one_off_server_ends_after_its_test() {
    let server = Server::start_with("--bind 127.0.0.1 --one-off");
    test(&server, "--tcp --send -t 100ms").assert_success();
    server.finish();
}

#[test]
fn a_quiet_server_says_nothing() {
    let port = free_port();
    let serve = linerate(&format!("serve --quiet --one-off --bind 127.0.0.1 --port {port}"));
    let server = Running::start(serve);
    // Nothing tells when it listens.
    await_listener(port);
    run(linerate(&format!("test 127.0.0.1 --port {port} --tcp --send -t 50ms"))).assert_success();
    server.finish().assert_success();
}

#[test]
fn a_server_ends_well_when_told_to() {
    for signal in ["TERM", "INT"] {
        let server = Server::start();
        test(&server, "--tcp --send -t 50ms").assert_success();
        server.running.signal(signal);
        server.finish();
    }
}

#[test]
fn silent_clients_hold_up_nobody() {
    let server = Server::start();
    let silent: Vec<_> = (0..5).map(|_| Control::connect(server.address)).collect();
    let mut half_greeted = Control::connect(server.address);
    half_greeted.write(&COOKIE[..20]);
    let finished = test(&server, "--tcp --send -t 100ms");
    finished.assert_success();
    assert!(finished.took < Duration::from_secs(5), "{finished:?}");
    drop(silent);
}

#[test]
fn whoever_speaks_another_protocol_holds_up_nobody() {
    let server = Server::start();
    let mut browser = Control::connect(server.address);
    browser.write(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\n\r\n");
    server.line_with("not served: it does not speak");
    test(&server, "--tcp --send -t 100ms").assert_success();
}

#[test]
fn stray_datagrams_get_no_answer() {
    let server = Server::start();
    let stranger = UdpSocket::bind((Ipv4Addr::new(127, 0, 0, 2), 0)).expect("a port");
    let neighbour = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let say = |words: &[u8]| {
        for socket in [&stranger, &neighbour] {
            socket.send_to(words, server.address).expect("sent");
        }
    };
    for words in [HELLO, b"", b"6789", b"GET / HTTP/1.1\r\n", &[0; 1400]] {
        say(words);
    }
    let running = Running::start(client(&server, "--udp -t 500ms -b 20M --json"));
    server.line_with("begins");
    say(HELLO);
    let finished = running.finish();
    finished.assert_success();
    for record in finished.json()["records"].as_array().expect("records") {
        assert_eq!(record["outcome"]["directions"][0]["datagrams"]["lost"], 0, "{record}");
    }
    for socket in [stranger, neighbour] {
        assert_eq!(answer(&socket), None);
    }
}

#[test]
fn a_hello_that_is_repeated_is_one_stream() {
    let server = Server::start();
    let wanted = json!({"udp": true, "parallel": 2, "time": 5, "len": 1000});
    let mut control = Control::ask(server.address, &wanted);
    assert_eq!(control.state(), Some(CREATE_STREAMS));
    let (first, second) = (udp_client(&server), udp_client(&server));
    let stranger = UdpSocket::bind((Ipv4Addr::new(127, 0, 0, 2), 0)).expect("a port");
    stranger.send_to(HELLO, server.address).expect("sent");
    for _ in 0..3 {
        first.send(HELLO).expect("sent");
        assert_eq!(answer(&first).as_deref(), Some(b"6789".as_slice()));
    }
    assert_eq!(answer(&stranger), None, "it belongs to no test");
    control.0.set_read_timeout(Some(Duration::from_millis(300))).expect("a timeout");
    assert_eq!(control.state(), None, "one stream is missing");
    second.send(HELLO).expect("sent");
    assert_eq!(answer(&second).as_deref(), Some(b"6789".as_slice()));
    assert_eq!([control.state(), control.state()], [TEST_START, TEST_RUNNING].map(Some));
    server.line_with("UDP send, 2 streams");
}

/// Each option does to the streams what it says.
fn assert_options_work(server: &Server) {
    let total =
        |record: &Value, end: &str| record["outcome"]["directions"][0][end]["bytes"].clone();

    let record = json(server, "--tcp --send -n 1M");
    assert_eq!(total(&record, "offered"), 1 << 20);
    assert_eq!(total(&record, "delivered"), 1 << 20);
    let record = json(server, "--tcp --receive -n 1M -P 4");
    assert!(total(&record, "delivered").as_u64() >= Some(1 << 20), "{record}");
    let record = json(server, "--tcp --send -k 10 -l 10K");
    assert_eq!(total(&record, "delivered"), 102_400);
    let record = json(server, "--udp --send -k 40 -l 1000 -b 10M -P 2");
    assert_eq!(record["outcome"]["directions"][0]["datagrams"]["sent"], 40);
    assert_eq!(total(&record, "delivered"), 40_000);
    assert_eq!(record["streams"][0]["block_bytes"], 1000);

    let record = json(server, "--tcp --send -w 64K -M 1000 -t 100ms");
    let stream = &record["streams"][0];
    // The kernel doubles what it grants (socket(7)).
    assert_eq!(stream["send_buffer_bytes"], 2 * 65_536);
    assert!(stream["mss_bytes"].as_u64() <= Some(1000), "{stream}");

    for row in ["--tcp --send", "--tcp --receive", "--udp --send", "--udp --receive"] {
        let record = json(server, &format!("{row} -b 5M -P 2 -t 500ms -O 1s"));
        let outcome = &record["outcome"]["directions"][0];
        assert_eq!(outcome["asked_bits_per_second"], 10_000_000);
        let rate = outcome["delivered"]["rate_bits_per_second"].as_f64().expect("a rate");
        assert!((4e6..16e6).contains(&rate), "{row}: {outcome}");
    }
}

/// Waits until a connection succeeds.
fn await_listener(port: u16) {
    until(&format!("listener on port {port}"), || {
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()
    });
}

fn udp_client(server: &Server) -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    socket.connect(server.address).expect("connected");
    socket
}

/// The datagram that comes within a moment.
fn answer(socket: &UdpSocket) -> Option<Vec<u8>> {
    socket.set_read_timeout(Some(Duration::from_millis(500))).expect("a timeout");
    let mut datagram = [0; 64];
    let (length, _): (usize, SocketAddr) = socket.recv_from(&mut datagram).ok()?;
    Some(datagram[..length].to_vec())
}

const HELLO: &[u8] = b"9876";

#[test]
fn a_server_can_log_in_json() {
    let port = free_port();
    let server = Running::start(linerate(&format!("serve --one-off --json --port {port}")));
    await_listener(port);
    run(linerate(&format!("test 127.0.0.1 -p {port} --tcp --send -n 1M"))).assert_success();
    let finished = server.finish();
    finished.assert_success();
    let events: Vec<Value> = finished
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("one object per line"))
        .collect();
    let names: Vec<_> = events.iter().map(|event| event["event"].as_str()).collect();
    assert_eq!(names, [Some("listening"), Some("ended")]);
    let test = &events[1]["test"];
    assert_eq!(test["ending"], json!({"state": "completed"}));
    assert_eq!(test["directions"][0]["delivered"]["bytes"], 1_048_576);
    assert_eq!(test["streams"][0]["sender"], false);
}
