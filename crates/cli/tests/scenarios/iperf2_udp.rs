//! What UDP clients of iperf2 ask a server to send, at both ends: `-R`, `--full-duplex`, `-d` and `-r`.

use std::net::{TcpStream, UdpSocket};
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::support::{
    Finished, Running, Server, ended, eventually, free_port, linerate, program, run, skip,
};

/// Runs iperf2's client; none: there is no iperf2.
fn iperf2(port: u16, options: &str) -> Option<Finished> {
    if Command::new("iperf").arg("-v").output().is_err() {
        return skip("no iperf");
    }
    let mut command = program(Command::new("iperf"));
    command.args(["-c", "127.0.0.1", "-p", &port.to_string(), "-u"]).args(options.split(' '));
    Some(run(command))
}

fn iperf(port: u16, options: &str) -> Finished {
    run(linerate(&format!("iperf -c 127.0.0.1 -p {port} -u {options}")))
}

/// Proves the address of this host to the server at `port`.
fn prove(port: u16) {
    TcpStream::connect(("127.0.0.1", port)).expect("it listens");
}

/// A port for `-L` above that of the server: 2.1.8 listens at all ports from the lower to the upper one.
fn port_above(port: u16) -> Option<u16> {
    (0..100).map(|_| free_port()).find(|own| *own > port)
}

/// The first datagram of 2.1.8, of 500 bytes, for a test of 0.3 s.
fn first(flags: u32, upper: u32, port: u16) -> Vec<u8> {
    let mut datagram = vec![0; 500];
    let words = [(0, 1), (4, 1), (16, flags), (20, 1), (24, port.into()), (28, 500)];
    let settings = [(36, 0xffff_ffe2), (48, upper), (64, 1_000_000)];
    for (at, word) in words.into_iter().chain(settings) {
        datagram[at..at + 4].copy_from_slice(&u32::to_be_bytes(word));
    }
    datagram
}

/// That, and one that ends the flow.
fn with_end(first: Vec<u8>) -> [Vec<u8>; 2] {
    let mut end = first.clone();
    end[..4].copy_from_slice(&(-2_i32).to_be_bytes());
    end[12..16].fill(0xff);
    [first, end]
}

const REVERSE: (u32, u32) = (0x6c01_0098, 0x0400_0000);
const FULL_DUPLEX: (u32, u32) = (0x6c01_0098, 0x0808_0000);

/// A socket at `host`, 127.9.0.1 or 127.0.0.1, that waits for a moment.
fn socket(host: &str) -> UdpSocket {
    let socket = UdpSocket::bind((host, 0)).expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(1))).expect("a timeout");
    socket
}

/// Bytes that come to it until nothing comes any more.
fn received(socket: &UdpSocket) -> usize {
    let mut room = [0; 2_048];
    std::iter::from_fn(|| socket.recv(&mut room).ok()).sum()
}

#[test]
fn an_iperf2_client_is_sent_datagrams_over_its_flow() {
    let server = Server::start();
    let port = server.address.port();
    prove(port);
    let Some(reverse) = iperf2(port, "-R -t 1 -b 2M -l 1000") else { return };
    assert_eq!(reverse.code, Some(0), "{reverse:?}");
    reverse.assert_prints(&["(reverse)", "[ *1]", "(0%)"]);
    let line = ended(&server, "iperf2, UDP receive, 1 stream");
    assert!(line.contains("1 stream: receive 2") && line.ends_with(": done"), "{line}");
    let both = iperf2(port, "--full-duplex -t 1 -b 2M -P 2").expect("it is there");
    assert_eq!(both.code, Some(0), "{both:?}");
    both.assert_prints(&["(full-duplex)", "[ *1]", "[ *2]", "(0%)", "[SUM"]);
    for _ in 0..2 {
        let line = ended(&server, "iperf2, UDP both ways, 1 stream");
        assert!(line.contains("send 2") && line.contains("receive 2"), "{line}");
        assert!(line.contains(", 0 of ") && line.ends_with(": done"), "{line}");
    }
}

#[test]
fn an_iperf2_client_is_sent_datagrams_to_its_port_where_the_server_may() {
    let server = Server::start_with("--connect-back -B 127.0.0.1");
    let port = server.address.port();
    let Some(own) = port_above(port) else { return };
    prove(port);
    for (way, amount) in [("-d", "-t 1"), ("-r", "-n 200K")] {
        let options = format!("{way} {amount} -b 2M -L {own}");
        let Some(dual) = iperf2(port, &options) else { return };
        assert_eq!(dual.code, Some(0), "{dual:?}");
        dual.assert_prints(&["Server Report", &format!("port {own} connected with")]);
        assert!(!dual.stderr.contains("WARNING"), "{dual:?}");
        let line = ended(&server, "iperf2, UDP both ways, 1 stream");
        assert!(line.contains("send 2") && line.contains("receive 2"), "{line}");
        assert_eq!(line.matches(", 0 of ").count(), 2, "both ends reported: {line}");
        assert!(line.ends_with(": done"), "{line}");
    }
    let server = Server::start();
    prove(server.address.port());
    _ = iperf2(server.address.port(), &format!("-d -t 0.3 -b 1M -L {own}"));
    let line = ended(&server, "iperf2, UDP send, 1 stream");
    assert!(line.ends_with("it asks this server to connect to it (--connect-back)"), "{line}");
}

#[test]
fn an_address_without_proof_is_sent_no_more_than_comes() {
    let server = Server::start_with("--connect-back -B 127.0.0.1");
    prove(server.address.port());
    let listener = socket("127.9.0.1");
    let port = listener.local_addr().expect("bound").port();
    let ways = [REVERSE, FULL_DUPLEX, (0xc801_0099, 0), (0xc801_0098, 0)];
    for (flags, upper) in ways {
        let forged = socket("127.9.0.1");
        for datagram in with_end(first(flags, upper, port)) {
            forged.send_to(&datagram, server.address).expect("it is sent");
        }
        assert!(received(&forged) <= 1_000, "{flags:x} {upper:x}");
        let line = ended(&server, "iperf2, UDP send, 1 stream");
        assert!(line.contains("its address is not proved: a TCP test from it"), "{line}");
    }
    assert_eq!(received(&listener), 0);
    // An address that is proved has what it asks for: 0.3 s of 1 Mbit/s.
    let own = socket("127.0.0.1");
    own.send_to(&first(REVERSE.0, REVERSE.1, port), server.address).expect("it is sent");
    assert!(received(&own) > 10_000);
    assert!(ended(&server, "iperf2, UDP receive, 1 stream").ends_with(": done"));
}

#[test]
fn nothing_more_is_sent_to_a_port_that_nobody_has() {
    let server = Server::start();
    prove(server.address.port());
    for (flags, upper) in [REVERSE, FULL_DUPLEX] {
        let gone = socket("127.0.0.1");
        let mut datagram = first(flags, upper, 0);
        // An hour.
        datagram[36..40].copy_from_slice(&(-360_000_i32).to_be_bytes());
        gone.send_to(&datagram, server.address).expect("it is sent");
        gone.recv(&mut [0; 2_048]).expect("a datagram");
        drop(gone);
        let line = ended(&server, "iperf2, UDP");
        assert!(line.ends_with(": the client ended it"), "{line}");
    }
}

#[test]
fn an_echo_of_what_is_sent_brings_no_more() {
    let server = Server::start_with("--connect-back -B 127.0.0.1");
    prove(server.address.port());
    for (flags, upper) in [REVERSE, FULL_DUPLEX, (0xc801_0099, 0)] {
        let echo = socket("127.0.0.1");
        let port = echo.local_addr().expect("bound").port();
        echo.send_to(&first(flags, upper, port), server.address).expect("it is sent");
        let mut room = [0; 2_048];
        // 0.3 s of 1 Mbit/s are 75 datagrams; then come ends and reports, and then nothing.
        let mut count = 0;
        while let Ok((length, from)) = echo.recv_from(&mut room) {
            count += 1;
            assert!(count < 150, "{flags:x} {upper:x}");
            echo.send_to(&room[..length], from).expect("it is sent");
        }
        assert!(count > 10, "{flags:x} {upper:x}: {count}");
    }
}

#[test]
fn two_servers_do_not_feed_each_other() {
    let server = Server::start_with("--connect-back -B 127.0.0.1");
    let other = Server::start_with("--connect-back -B 127.0.0.1");
    for server in [&server, &other] {
        prove(server.address.port());
    }
    let client = socket("127.0.0.1");
    for datagram in with_end(first(0xc801_0099, 0, other.address.port())) {
        client.send_to(&datagram, server.address).expect("it is sent");
    }
    let line = ended(&server, "iperf2, UDP both ways");
    assert!(line.contains("receive 3") && line.ends_with(": done"), "{line}");
    let line = ended(&other, "iperf2, UDP send");
    assert!(line.contains("send 3") && line.ends_with(": done"), "{line}");
}

#[test]
fn a_server_keeps_its_rate_for_what_it_is_asked_for() {
    let server = Server::start_with("-B 127.0.0.1 --max-rate 400K --max-time 2s");
    let port = server.address.port();
    let slow = iperf(port, "-R -t 1 -b 50M -l 500");
    assert_eq!(slow.code, Some(0), "{slow:?}");
    let line = ended(&server, "iperf2, UDP receive, 1 stream");
    assert!(line.contains("KiB") && line.ends_with(": done"), "{line}");
    let long = iperf(port, "-R -t 5 -b 100k -l 500");
    let line = ended(&server, "iperf2, UDP receive, 1 stream");
    assert!(line.contains("a longer test than this server allows"), "{line} {long:?}");
}

/// A server of iperf 2 for UDP; none: there is no iperf.
fn iperf2_server() -> Option<(Running, u16)> {
    if Command::new("iperf").arg("-v").output().is_err() {
        return skip("no iperf");
    }
    let port = free_port();
    let mut command = program(Command::new("iperf"));
    command.args(["-s", "-u", "-B", "127.0.0.1", "-p", &port.to_string()]);
    let server = Running::start(command);
    // It says that it listens before it does.
    thread::sleep(Duration::from_millis(500));
    Some((server, port))
}

/// Options of each way, and what the client prints of it.
fn ways(own: u16) -> [(String, &'static [&'static str]); 4] {
    [
        ("-R -t 1 -b 2M -P 2".to_owned(), &["(reverse)", "[ *1]", "[ *2]", "[SUM]", "Jitter"]),
        ("--full-duplex -t 1 -b 2M -P 2".to_owned(), &["(full-duplex)", "[ *1]", "[ *2]", "[  2]"]),
        (format!("-d -t 1 -b 2M -P 2 -L {own}"), &["Server Report", "[  3]", "[  4]", "Jitter"]),
        (format!("-r -t 1 -b 2M -L {own}"), &["Server Report", "[  2] 0.0000-", "Jitter"]),
    ]
}

#[test]
fn an_iperf2_server_sends_datagrams() {
    for index in 0..4 {
        // 2.1.8 crashes at the end of some flows, of its own clients too.
        let is_right = (0..8).any(|_| {
            let Some((_server, port)) = iperf2_server() else { return true };
            let (options, expected) = &ways(free_port())[index];
            let told = iperf(port, options);
            let has_all = expected.iter().all(|words| told.stdout.contains(words));
            let is_right = told.code == Some(0) && has_all && told.stdout.contains("(0%)");
            if !is_right {
                eprintln!("{options}: {told:?}");
            }
            is_right
        });
        assert!(is_right, "{}", ways(7)[index].0);
    }
}

#[test]
fn servers_of_linerate_send_datagrams() {
    let port = free_port();
    // Without TCP no address could prove itself.
    let drop_in = linerate(&format!("iperf -s -u -B 127.0.0.1 -p {port}"));
    let drop_in = Running::start_listening(drop_in, port);
    let server = Server::start_with("--connect-back -B 127.0.0.1");
    for port in [port, server.address.port()] {
        for (options, expected) in ways(free_port()) {
            let told = iperf(port, &options);
            assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""), "{options}: {told:?}");
            told.assert_prints(expected);
            assert!(told.stdout.contains("(0%)"), "{options}: {told:?}");
        }
    }
    for (title, count) in [("UDP receive", 2), ("UDP both ways", 5)] {
        for _ in 0..count {
            let line = ended(&server, title);
            assert!(line.contains("receive 2") && line.ends_with(": done"), "{line}");
        }
    }
    eventually("rows", || drop_in.stdout().matches("(reverse)").count() == 7);
    drop_in.signal("INT");
    assert_eq!(drop_in.finish().stderr, "");
}

#[test]
fn a_client_says_that_nothing_was_sent() {
    let server = Server::start();
    let refused = iperf(server.address.port(), &format!("-r -n 10K -L {}", free_port()));
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("--connect-back, or use --full-duplex"), "{refused:?}");
    let own = iperf(server.address.port(), "-d -n 10K");
    assert!(own.code == Some(1) && own.stderr.contains("-L chooses the port"), "{own:?}");
    let vain = iperf(free_port(), "-R -t 0.1");
    assert_eq!(vain.code, Some(1), "{vain:?}");
    assert!(vain.stderr.contains("the server has sent nothing"), "{vain:?}");
}
