//! `linerate iperf` with the installed iperf and with servers of linerate, over loopback.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::Duration;

use crate::support::{
    Directory, Finished, LINERATE, PATIENCE, Running, Server, ended, eventually, free_port,
    linerate, program, run, skip,
};

/// A server of iperf 2; none: there is no iperf.
fn iperf2_server(options: &str) -> Option<(Running, u16)> {
    if Command::new("iperf").arg("-v").output().is_err() {
        return skip("no iperf");
    }
    let port = free_port();
    let mut command = program(Command::new("iperf"));
    command.args(["-s", "-B", "127.0.0.1", "-p", &port.to_string()]).args(options.split(' '));
    if options.contains("-u") {
        let server = Running::start(command);
        // It says so before it listens; what comes too early is lost, and the end is repeated.
        return Some((server, port));
    }
    Some((Running::start_listening(command, port), port))
}

fn iperf(port: u16, options: &str) -> Finished {
    run(linerate(&format!("iperf -c 127.0.0.1 -p {port} {options}")))
}

#[test]
fn an_iperf2_server_receives_tcp_to_the_byte() {
    let Some((server, port)) = iperf2_server("-y C") else { return };
    let finished = iperf(port, "-n 1000000 -l 8K -i 1");
    assert_eq!(finished.code, Some(0), "{finished:?}");
    finished.assert_prints(&[
        "Client connecting to 127.0.0.1, TCP port",
        "[ ID] Interval",
        "[  1]",
    ]);
    server.signal("INT");
    let received = server.finish().stdout;
    assert!(received.contains(",1000000,"), "{received}");
}

#[test]
fn an_iperf2_server_sends_in_reverse() {
    let Some((_server, port)) = iperf2_server("-y C") else { return };
    let finished = iperf(port, "-R -t 0.5 -b 10M");
    assert_eq!(finished.code, Some(0), "{finished:?}");
    finished.assert_prints(&["(reverse)", "[ *1] 0.0000-0."]);
    assert!(!finished.stdout.contains(" 0.00 Bytes"), "{finished:?}");
}

#[test]
fn an_iperf2_server_sends_and_receives_over_one_connection() {
    let Some((_server, port)) = iperf2_server("-i 1") else { return };
    let both = iperf(port, "--full-duplex -t 1 -b 20M -P 2");
    assert_eq!(both.code, Some(0), "{both:?}");
    both.assert_prints(&["(full-duplex)", "[  1]", "[  2]", "[ *1]", "[ *2]", "[SUM]"]);
    assert!(!both.stdout.contains(" 0.00 Bytes"), "{both:?}");
    let own = Server::start();
    let both = iperf(own.address.port(), "--full-duplex -t 1 -b 20M");
    assert_eq!(both.code, Some(0), "{both:?}");
    let line = ended(&own, "iperf2, TCP both ways, 1 stream");
    assert!(line.contains("send 2.") && line.contains("receive 2."), "{line}");
}

#[test]
fn an_iperf2_server_answers_requests() {
    let Some((_server, port)) = iperf2_server("-i 1") else { return };
    let own = Server::start();
    for port in [port, own.address.port()] {
        let answered = iperf(port, "--bounceback=20 --bounceback-hold 2 -t 1");
        assert_eq!(answered.code, Some(0), "{answered:?}");
        answered.assert_prints(&["Bounce-back test (size= 100 Byte)", "BB cnt=avg/min/max/stdev"]);
        let row = answered.stdout.lines().last().unwrap_or_default();
        let numbers = row.split(['=', '/', ' ']).filter(|word| !word.is_empty());
        let numbers: Vec<f64> = numbers.filter_map(|word| word.parse().ok()).collect();
        let [.., count, mean, least, most, _deviation, _rate] = numbers[..] else {
            panic!("{row}")
        };
        // A busy machine answers later, and less.
        assert!((1.0..=21.0).contains(&count), "{row}");
        assert!(2.0 <= least && least <= mean && mean <= most, "{row}");
    }
    let line = ended(&own, "iperf2, TCP request/response");
    assert!(line.ends_with("answered: done"), "{line}");
}

#[test]
fn a_server_that_goes_ends_a_test_of_requests() {
    let server = Server::start();
    let words = server.address.port().to_string();
    let words = format!("iperf -c 127.0.0.1 -p {words} --bounceback -t 20 -i 0.5");
    let mut client = Running::start(linerate(&words));
    client.await_line(PATIENCE, |line| line.contains(" sec ")).expect("a row");
    server.running.signal("KILL");
    let left = client.finish();
    assert_eq!(left.code, Some(1), "{left:?}");
    assert!(left.took < Duration::from_secs(10), "{left:?}");
}

#[test]
fn an_iperf2_server_connects_back_and_sends() {
    let Some((server, port)) = iperf2_server("-y C") else { return };
    let own = free_port();
    let dual = iperf(port, &format!("-d -P 2 -t 1 -b 20M -L {own}"));
    assert_eq!(dual.code, Some(0), "{dual:?}");
    assert_eq!(dual.stdout.matches(&format!("port {own} connected with")).count(), 2, "{dual:?}");
    dual.assert_prints(&["[SUM]", "[  3]", "[  4]"]);
    let later = iperf(port, &format!("-r -n 1000000 -L {own}"));
    assert_eq!(later.code, Some(0), "{later:?}");
    later.assert_prints(&["[  1]", "[  2]", " 977 KBytes"]);
    server.signal("INT");
    let printed = server.finish().stdout;
    assert_eq!(printed.matches(",1000000,").count(), 2, "{printed}");
    // A server that may not do it receives for its part; and a port that is taken.
    let stranger = Server::start();
    let refused = iperf(stranger.address.port(), &format!("-d -n 100K -L {own}"));
    assert_eq!(refused.code, Some(1), "{refused:?}");
    refused.assert_prints(&["[  1] 0.0000-", "100 KBytes"]);
    let words = "start linerate serve with --connect-back, or use --full-duplex";
    assert!(refused.stderr.contains(words), "{refused:?}");
    let taken = iperf(port, &format!("-d -t 0.3 -L {}", stranger.address.port()));
    assert_eq!(taken.code, Some(1), "{taken:?}");
    assert!(taken.stderr.contains("-L chooses the port"), "{taken:?}");
}

#[test]
fn an_iperf2_server_reports_udp() {
    // 2.1.8 crashes at the end of some flows, of its own clients too.
    for _ in 0..8 {
        let Some((_server, port)) = iperf2_server("-u") else { return };
        let finished = iperf(port, "-u -t 1 -b 2M -i 0.5");
        finished.assert_prints(&["UDP port", "Sending 1470 byte datagrams", "datagrams\n"]);
        if finished.stdout.contains("Server Report") && finished.stdout.contains("(0%)") {
            finished.assert_prints(&["Jitter   Lost/Total Datagrams"]);
            assert!(!finished.stderr.contains("WARNING"), "{finished:?}");
            assert_eq!(finished.code, Some(0), "{finished:?}");
            return;
        }
    }
    panic!("no report in eight tests");
}

#[test]
fn a_server_of_linerate_receives_all_of_it() {
    let server = Server::start();
    let port = server.address.port();
    let finished = iperf(port, "-n 2M -P 2 -l 64K");
    assert_eq!(finished.code, Some(0), "{finished:?}");
    finished.assert_prints(&["[SUM]"]);
    let line = ended(&server, "iperf2, TCP");
    assert!(line.contains("2 streams") && line.contains("4.000 MiB"), "{line}");
    let finished = iperf(port, "-P 2 -t 0.3 -b 10M -y C");
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let numbers: Vec<_> =
        finished.stdout.lines().filter_map(|line| line.split(',').nth(5)).collect();
    assert_eq!(numbers, ["1", "2", "-1"], "{finished:?}");
    let finished = iperf(port, "-u -t 0.5 -b 2M -P 2");
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_eq!(finished.stdout.matches("Server Report").count(), 2, "{finished:?}");
    assert_eq!(finished.stdout.matches("(0%)").count(), 2, "{finished:?}");
    for _ in 0..2 {
        assert!(ended(&server, "iperf2, UDP").contains(", 0 of "));
    }
}

#[test]
fn what_cannot_be_done_is_told_in_a_sentence() {
    let nobody = free_port();
    let refused = iperf(nobody, "-t 1");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let words = "connection refused; is \"iperf -s\" running there?";
    assert!(refused.stderr.contains(words), "{refused:?}");
    let silent = iperf(nobody, "-u -t 0.1");
    let words = "[  1] WARNING: did not receive ack of last datagram after 10 tries.";
    assert!(silent.stderr.contains(words), "{silent:?}");
    assert_eq!(silent.code, Some(1), "{silent:?}");
    let usage = iperf(nobody, "--tcp-write-times");
    assert_eq!((usage.code, usage.stderr.lines().count()), (Some(2), 1), "{usage:?}");
    let server = Server::start();
    let reverse = iperf(server.address.port(), "-R -t 0.2");
    assert_eq!(reverse.code, Some(0), "{reverse:?}");
    reverse.assert_prints(&["(reverse)", "[ *1]"]);
}

#[test]
fn a_link_named_iperf_is_client_and_server() {
    let folder = Directory::new("iperf");
    let link = folder.file("iperf");
    symlink(LINERATE, &link).expect("a link");
    let port = free_port().to_string();
    let iperf = |words: &[&str]| {
        let mut command = program(Command::new(&link));
        command.args(words);
        command
    };
    let server = iperf(&["-s", "-B", "127.0.0.1", "-p", &port]);
    let server = Running::start_listening(server, port.parse().expect("a port"));
    // At the same port, as the first one has no UDP.
    let mut udp = Running::start(iperf(&["-s", "-u", "-B", "127.0.0.1", "-p", &port, "-P", "1"]));
    udp.await_line(PATIENCE, |line| line.contains("Server listening")).expect("it listens");
    for options in ["-n 100000", "-u -t 0.2 -b 1M"] {
        let mut client = iperf(&["-c", "127.0.0.1", "-p", &port]);
        client.args(options.split(' '));
        let finished = run(client);
        assert_eq!(finished.code, Some(0), "{finished:?}");
    }
    server.signal("INT");
    server.finish().assert_prints(&["Server listening on TCP port", "97.7 KBytes"]);
    let udp = udp.finish();
    assert_eq!(udp.code, Some(0), "it ends after its one client: {udp:?}");
    udp.assert_prints(&["Server listening on UDP port", "(0%)", "Jitter"]);
}

#[test]
fn a_server_ends_after_its_streams_and_after_its_time() {
    let port = free_port();
    let server = |options: &str| {
        let words = format!("iperf -s -B 127.0.0.1 -p {port} {options}");
        Running::start_listening(linerate(&words), port)
    };
    let two = server("-P 2 -L 7");
    let client = iperf(port, "-n 100000 -P 2 -y C");
    assert_eq!(client.code, Some(0), "{client:?}");
    let two = two.finish();
    assert_eq!(two.code, Some(0), "{two:?}");
    assert!(two.stderr.contains("WARNING: -L is an option of a client"), "{two:?}");
    for row in client.stdout.lines().take(2) {
        let from = row.split(',').nth(2).expect("a port");
        assert!(two.stdout.contains(&format!("connected with 127.0.0.1 port {from}")), "{two:?}");
    }
    let timed = server("-t 1");
    iperf(port, "-t 5");
    let timed = timed.finish();
    assert_eq!((timed.code, timed.stderr.as_str()), (Some(0), ""), "{timed:?}");
    timed.assert_prints(&["[  1] 0.0000-1."]);
}

#[test]
fn a_server_tells_how_long_datagrams_took() {
    let server = Server::start();
    let timed = iperf(server.address.port(), "-u -t 0.5 -b 2M --trip-times -l 50");
    assert_eq!(timed.code, Some(0), "{timed:?}");
    timed.assert_prints(&["Sending 124 byte datagrams", "Latency avg/min/max/stdev"]);
    let row = timed.stdout.lines().last().unwrap_or_default();
    let spread = row.split_once("%) ").and_then(|(_, rest)| rest.strip_suffix(" ms"));
    let spread: Vec<f64> = spread.unwrap_or_default().split('/').flat_map(str::parse).collect();
    let [mean, least, most, _deviation] = spread[..] else { panic!("{row}") };
    // One clock, on which a machine may be busy.
    assert!((0.0..500.0).contains(&least) && least <= mean && mean <= most, "{row}");
}

#[test]
fn frames_are_sent_at_once_and_so_many_in_a_second() {
    let server = Server::start();
    let framed = iperf(server.address.port(), "-u -t 1 --isochronous=20:4m -i 1");
    assert_eq!(framed.code, Some(0), "{framed:?}");
    // 4 Mbit/s are 17.007 datagrams of 1,470 bytes in a twentieth of a second.
    framed.assert_prints(&["Isochronous: 20.00 frames/sec of 17 datagrams", "(0%)"]);
    let line = ended(&server, "iperf2, UDP");
    assert!(line.contains(", 0 of 3") && line.ends_with(": done"), "{line}");
}

#[test]
fn a_multicast_group_is_sent_to_and_received() {
    let group = "239.77.5.1";
    let port = free_port();
    let server = |sender: &str| {
        let words = format!("iperf -s -u -p {port} -B {group}%lo -H {sender} -y C");
        Running::start(linerate(&words))
    };
    let (right, too, wrong) = (server("127.0.0.1"), server("127.0.0.1"), server("127.0.0.9"));
    let members = |source: &str| {
        let filters = fs::read_to_string("/proc/net/mcfilter").expect("IPv4 has groups");
        let of_source = filters.lines().find(|line| line.contains(&format!("0xef4d0501 {source}")));
        of_source.and_then(|line| line.split_whitespace().nth(4)?.parse().ok())
    };
    eventually("three members", || {
        (members("0x7f000001"), members("0x7f000009")) == (Some(2), Some(1))
    });
    let more = "-T 1 -t 0.5 --isochronous=20:4m";
    let words = format!("iperf -c {group} -u -p {port} -B 127.0.0.1%lo {more}");
    let sent = run(linerate(&words));
    assert_eq!(sent.code, Some(0), "{sent:?}");
    assert!(!sent.stderr.contains("WARNING"), "{sent:?}");
    // The end of a flow of a group is answered by nobody.
    let row = format!(",{group},{port},");
    eventually("rows", || [&right, &too].iter().all(|server| server.stdout().contains(&row)));
    for (server, hears) in [(right, true), (too, true), (wrong, false)] {
        server.signal("INT");
        let finished = server.finish();
        assert_eq!(finished.stdout.contains(&row), hears, "{row} {finished:?}");
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{finished:?}");
    }
}

#[test]
fn connections_that_send_nothing_make_room_at_a_server() {
    let port = free_port();
    let server = linerate(&format!("iperf -s -B 127.0.0.1 -p {port}"));
    let _server = Running::start_listening(server, port);
    let silent: Vec<_> = (0..100)
        .map(|_| {
            let mut silent = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
            // As much as the cookie of an iperf3 client, digits as those of iperf2.
            silent.write_all(&b"0123456789".repeat(4)).expect("it is sent");
            silent
        })
        .collect();
    eventually("a place", || iperf(port, "-n 100K").stdout.contains(" sec "));
    drop(silent);
}
