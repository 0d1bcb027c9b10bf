//! A client of iperf2 at the server's one port.

use std::io::Write;
use std::net::{TcpStream, UdpSocket};
use std::process::Command;
use std::time::Duration;

use crate::support::{
    Finished, Running, Server, ended, eventually, free_port, limited, linerate, program, run, skip,
    test,
};

/// Runs iperf2's client; none: there is no iperf2.
fn iperf2(server: &Server, options: &str) -> Option<Finished> {
    if Command::new("iperf").arg("-v").output().is_err() {
        return skip("no iperf");
    }
    let mut command = program(Command::new("iperf"));
    let (ip, port) = (server.address.ip().to_string(), server.address.port().to_string());
    command.args(["-c", &ip, "-p", &port]).args(options.split(' '));
    Some(run(command))
}

#[test]
fn tcp_of_an_iperf2_client_is_received_to_the_byte() {
    let server = Server::start();
    let Some(finished) = iperf2(&server, "-n 4M -l 64K") else { return };
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let line = ended(&server, "iperf2, TCP");
    assert!(line.contains("1 stream") && line.contains("4.000 MiB"), "{line}");
    assert!(line.ends_with(": done"), "{line}");
    _ = iperf2(&server, "-t 1 -P 2 -b 20M");
    let line = ended(&server, "iperf2, TCP");
    assert!(line.contains("2 streams") && line.ends_with(": done"), "{line}");
    // The same port still serves others.
    test(&server, "-t 100ms").assert_success();
}

#[test]
fn udp_of_an_iperf2_client_has_its_report() {
    let server = Server::start();
    let Some(finished) = iperf2(&server, "-u -t 1 -b 5M") else { return };
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stdout.contains("Server Report"), "{finished:?}");
    assert!(!finished.stdout.contains("did not receive ack"), "{finished:?}");
    let line = ended(&server, "iperf2, UDP");
    assert!(line.contains(", 0 of ") && line.ends_with(": done"), "{line}");
}

#[test]
fn what_an_iperf2_client_asks_for_is_sent_over_its_connection() {
    let server = Server::start();
    let Some(reverse) = iperf2(&server, "-t 1 -R -b 20M -P 2") else { return };
    assert_eq!(reverse.code, Some(0), "{reverse:?}");
    reverse.assert_prints(&["[ *1]", "[ *2]", "[SUM]"]);
    let line = ended(&server, "iperf2, TCP receive, 2 streams");
    assert!(line.ends_with(": done"), "{line}");
    // 2 x 20 x 2^20 bit/s for a second.
    let mebibytes = line.split_once("receive: receive ").map_or(line.as_str(), |(_, rest)| rest);
    assert!(mebibytes.contains(" 5.") && mebibytes.contains("MiB"), "{line}");
    _ = iperf2(&server, "-t 1 --full-duplex -b 20M");
    let line = ended(&server, "iperf2, TCP both ways, 1 stream");
    assert!(line.contains("send 2.") && line.contains("receive 2."), "{line}");
    assert!(line.ends_with(": done"), "{line}");
}

#[test]
fn a_server_connects_to_an_iperf2_client_where_it_may() {
    let server = Server::start_with("--connect-back -B 127.0.0.1");
    // 2.1.8 listens at all ports from the lower to the upper one.
    let is_above = |port: &u16| *port > server.address.port();
    let Some(own) = (0..100).map(|_| free_port()).find(is_above) else { return };
    let options = format!("-t 1 -d -P 2 -b 20M -L {own}");
    let Some(dual) = iperf2(&server, &options) else { return };
    assert_eq!(dual.code, Some(0), "{dual:?}");
    assert_eq!(dual.stdout.matches(&format!("port {own} connected with")).count(), 2, "{dual:?}");
    let line = ended(&server, "iperf2, TCP both ways, 2 streams");
    assert!(line.contains("send 5.") && line.contains("receive 5."), "{line}");
    assert!(line.ends_with(": done"), "{line}");
    _ = iperf2(&server, &format!("-n 300K -r -L {own}"));
    let line = ended(&server, "iperf2, TCP both ways, 1 stream");
    assert!(line.contains("send 300.0 KiB") && line.contains("receive 300.0 KiB"), "{line}");
    let server = Server::start();
    let alone = iperf2(&server, &options).expect("it is there");
    alone.assert_prints(&["[SUM]", " sec  "]);
    let words = format!("{alone:?}");
    assert!(words.contains("expected reverse connect did not occur"), "{words}");
    assert!(!words.contains("reset by peer"), "{words}");
    server.line_with("it asks this server to connect to it (--connect-back)");
    let line = ended(&server, "iperf2, TCP send, 2 streams");
    assert!(line.ends_with(": done"), "{line}");
}

#[test]
fn requests_of_an_iperf2_client_are_answered() {
    let server = Server::start();
    let Some(answered) = iperf2(&server, "-t 1 --bounceback --bounceback-hold 2 -l 1K") else {
        return;
    };
    assert_eq!(answered.code, Some(0), "{answered:?}");
    // Mean, and then the least: what the server waits, at any rate.
    let trips = answered.stdout.split("    10=").nth(1).and_then(|rest| rest.split('/').nth(1));
    let least = trips.and_then(|text| text.parse::<f64>().ok());
    assert!(least.is_some_and(|millis| millis >= 2.0), "{answered:?}");
    let line = ended(&server, "iperf2, TCP request/response");
    assert!(line.contains("send 1") && line.contains("receive 1"), "{line}");
    assert!(line.contains(" answered") && line.ends_with(": done"), "{line}");
    // Its own connections are tests of their own.
    _ = iperf2(&server, "-t 1 --bounceback -P 2");
    for _ in 0..2 {
        let line = ended(&server, "iperf2, TCP request/response");
        assert!(line.contains(" answered") && line.ends_with(": done"), "{line}");
    }
}

#[test]
fn requests_that_cannot_be_answered_are_refused() {
    let server = Server::start();
    let mut words = [0_u32; 15];
    // Of --bounceback; 40 bytes have no room for the times of an answer.
    (words[0], words[1]) = (0x0080_0000, 40);
    let request: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    let mut client = TcpStream::connect(server.address).expect("it listens");
    client.write_all(&request).expect("it is sent");
    server.line_with("what it asked for cannot be read or done");
}

#[test]
fn a_low_rate_is_kept_to_the_end_of_the_test() {
    let server = Server::start();
    // A write of 128 KiB would be due after ten seconds.
    let words = format!("iperf -c 127.0.0.1 -p {} -t 1 -R -b 100k", server.address.port());
    let slow = run(linerate(&words));
    assert_eq!(slow.code, Some(0), "{slow:?}");
    let line = ended(&server, "iperf2, TCP receive, 1 stream");
    assert!(line.ends_with(": done"), "{line}");
}

#[test]
fn a_forged_address_is_sent_no_more_than_came_in_its_name() {
    let server = Server::start();
    let victim = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    victim.set_read_timeout(Some(Duration::from_millis(400))).expect("a timeout");
    let mut sent = 0;
    for sequence in [1_i32, 2, 3, -4, -4] {
        let mut datagram = vec![0; 40];
        datagram[..4].copy_from_slice(&sequence.to_be_bytes());
        datagram[4] = 1;
        sent += victim.send_to(&datagram, server.address).expect("sent");
    }
    let mut received = 0;
    let mut room = [0; 2_048];
    while let Ok(length) = victim.recv(&mut room) {
        received += length;
    }
    assert!((1..=sent).contains(&received), "{received} for {sent}");
}

#[test]
fn a_client_that_sends_keeps_its_place_and_one_that_is_silent_does_not() {
    let server = Server::start_with("--bind 127.0.0.1 --max-sessions 1");
    let port = server.address.port();
    let words = format!("iperf -c 127.0.0.1 -p {port} -t 4 -b 10M");
    let busy = Running::start(linerate(&words));
    // Longer than each client may take to show that it moves data.
    std::thread::sleep(Duration::from_millis(2_500));
    let other = test(&server, "-t 100ms");
    assert!(other.code != Some(0) && other.stderr.contains("busy"), "{other:?}");
    assert_eq!(busy.finish().code, Some(0));
    assert!(ended(&server, "iperf2, TCP send, 1 stream").ends_with(": done"));
    let silent = TcpStream::connect(server.address);
    let mut silent = silent.expect("it listens");
    // As much as the cookie of an iperf3 client, digits as those of iperf2.
    silent.write_all(&b"0123456789".repeat(6)).expect("it is sent");
    eventually("the place", || test(&server, "-t 100ms").code != Some(5));
    server.line_with("another client needed the place: it moved less than");
}

#[test]
fn forged_flows_make_room_for_one_that_sends() {
    let server = Server::start();
    for host in 1..=254_u8 {
        for _ in 0..2 {
            let forged = UdpSocket::bind((std::net::Ipv4Addr::new(127, 9, 0, host), 0));
            let forged = forged.expect("a socket");
            let mut datagram = vec![b'0'; 100];
            datagram[..4].copy_from_slice(&1_i32.to_be_bytes());
            forged.send_to(&datagram, server.address).expect("it is sent");
        }
    }
    let words = format!("iperf -c 127.0.0.1 -p {} -u -t 1 -b 1M", server.address.port());
    let good = run(linerate(&words));
    assert_eq!(good.code, Some(0), "{good:?}");
    good.assert_prints(&["Server Report"]);
}

#[test]
fn a_client_that_sends_a_header_alone_holds_nobody_up() {
    let port = free_port();
    let words = format!("iperf3 -s -1 -B 127.0.0.1 -p {port}");
    let server = Running::start_listening(linerate(&words), port);
    let mut silent = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    silent.write_all(&b"0123456789".repeat(6)).expect("it is sent");
    let started = std::time::Instant::now();
    // One client, and as none came that was served, it ends.
    assert_eq!(server.finish().code, Some(0));
    assert!(started.elapsed() > Duration::from_secs(8), "{:?}", started.elapsed());
}

/// A datagram of iperf2 2.0.5 with that number.
fn datagram(sequence: i32) -> Vec<u8> {
    let mut datagram = vec![b'7'; 1_470];
    datagram[..4].copy_from_slice(&sequence.to_be_bytes());
    datagram[4..12].fill(0);
    datagram[11] = 1;
    datagram
}

#[test]
fn what_the_server_s_socket_drops_has_its_place() {
    let server = Server::start();
    let client = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    client.connect(server.address).expect("an address");
    client.set_read_timeout(Some(Duration::from_millis(250))).expect("a timeout");
    let send = |sequence| _ = client.send(&datagram(sequence)).expect("it is sent");
    (1..=20).for_each(send);
    let port = client.local_addr().expect("bound").port();
    let peer = format!("0100007F:{port:04X} 01 ");
    eventually("the flow has a socket of its own", || {
        std::fs::read_to_string("/proc/net/udp").is_ok_and(|sockets| sockets.contains(&peer))
    });
    server.running.signal("STOP");
    (21..=30_000).for_each(send);
    server.running.signal("CONT");
    let mut report = [0; 2_048];
    eventually("a report", || {
        send(-30_001);
        client.recv(&mut report).is_ok()
    });
    let line = ended(&server, "iperf2, UDP send");
    assert!(line.ends_with(": done"), "{line}");
    let number = |before: &str, after: &str| {
        let digits = line.split(before).nth(1).and_then(|rest| rest.split(after).next());
        digits.and_then(|text| text.replace(',', "").parse::<u64>().ok())
    };
    let lost = number("bit/s, ", " of 30000 lost");
    assert!(lost.is_some_and(|lost| lost > 0), "{line}");
    // Ends of the flow may be among them.
    assert!(number(" lost; ", " dropped in this host's receive buffers") >= lost, "{line}");
}

#[test]
fn each_connection_is_sent_the_amount_that_its_client_asked_for() {
    let server = Server::start();
    let Some(finished) = iperf2(&server, "-n 10M -R -P 2") else { return };
    assert_eq!(finished.stdout.matches("10.0 MBytes").count(), 2, "{finished:?}");
    let line = ended(&server, "iperf2, TCP receive, 2 streams");
    assert!(line.contains("receive 20.00 MiB"), "{line}");
}

#[test]
fn writes_to_a_client_tell_when_they_were_sent_if_it_asks() {
    let server = Server::start();
    let Some(finished) = iperf2(&server, "-t 1 -R -b 20M --trip-times") else { return };
    assert_eq!(finished.code, Some(0), "{finished:?}");
    for complaint in ["Program error", "ignore", "nan"] {
        assert!(!format!("{finished:?}").contains(complaint), "{finished:?}");
    }
}

#[test]
fn a_report_of_short_datagrams_and_of_those_without_flags_can_be_read() {
    let server = Server::start();
    for options in ["-u -t 1 -b 1M -l 16", "-u -t 1 -b 1M -l 40", "-u -t 1 -b 1M -C"] {
        let Some(finished) = iperf2(&server, options) else { return };
        let report = finished.stdout.split("Server Report").nth(1).unwrap_or_default();
        assert!(report.contains(" ms ") && report.contains("(0%)"), "{options}: {finished:?}");
        assert!(!report.contains("nan") && !report.contains("TBytes"), "{options}: {finished:?}");
    }
}

#[test]
fn the_datagram_that_ends_a_flow_of_2_1_is_one_of_it() {
    let server = Server::start();
    let client = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    client.connect(server.address).expect("an address");
    client.set_read_timeout(Some(Duration::from_secs(5))).expect("a timeout");
    let datagram = |sequence: i64| {
        let mut datagram = datagram(0);
        let (low, high) = (sequence & 0xffff_ffff, sequence >> 32);
        for (at, word) in [(0, low), (12, high), (16, 0x4801_0098)] {
            let word = u32::try_from(word & 0xffff_ffff).expect("half of it");
            datagram[at..at + 4].copy_from_slice(&word.to_be_bytes());
        }
        datagram
    };
    for sequence in [1, 2, 3, -4] {
        client.send(&datagram(sequence)).expect("it is sent");
    }
    let mut report = [0; 2_048];
    assert_eq!(client.recv(&mut report).expect("a report"), 128);
    let line = ended(&server, "iperf2, UDP send");
    assert!(line.contains("0 of 4 lost"), "{line}");
}

#[test]
fn forged_flows_leave_a_server_of_few_files_what_its_clients_need() {
    let port = free_port();
    let words = format!("serve --bind 127.0.0.1 --port {port} --profile 0");
    let server = limited("-n 256", &linerate(&words));
    let _server = Running::start_listening(server, port);
    let forged: Vec<_> = (0..=255_u8)
        .map(|host| UdpSocket::bind((std::net::Ipv4Addr::new(127, 9, 0, host), 0)))
        .map(|socket| socket.expect("a socket"))
        .collect();
    for sequence in 1..=20 {
        for socket in &forged {
            let to = ("127.0.0.1", port);
            socket.send_to(&datagram(sequence)[..100], to).expect("it is sent");
        }
    }
    for words in ["iperf3 -c 127.0.0.1 -t 1 -p", "iperf -c 127.0.0.1 -t 1 -p"] {
        let finished = run(linerate(&format!("{words} {port}")));
        assert_eq!(finished.code, Some(0), "{finished:?}");
    }
}
