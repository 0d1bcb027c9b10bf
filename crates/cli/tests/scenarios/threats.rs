//! Bytes that a server sends to a stranger for the bytes that come (the table of SECURITY.md).

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::time::Duration;

use crate::support::{Server, test};

#[test]
fn no_first_datagram_is_answered() {
    let server = Server::start();
    let stranger = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    stranger.connect(server.address).expect("an address");
    for first in 0..=u8::MAX {
        for length in [1, 4, 12, 16, 36, 60, 200] {
            for tail in [0, 0x39, 0xff] {
                let mut datagram = vec![tail; length];
                datagram[0] = first;
                stranger.send(&datagram).expect("it is sent");
            }
        }
    }
    stranger.set_read_timeout(Some(Duration::from_millis(300))).expect("a timeout");
    let mut room = [0; 2_048];
    assert!(stranger.recv(&mut room).is_err(), "an answer to what ends no flow");
    test(&server, "-u -b 1M -t 100ms").assert_success();
}

#[test]
fn a_connection_has_next_to_nothing_for_what_is_no_test() {
    let server = Server::start();
    let cookie = *b"abcdefghijklmnopqrstuvwxyz234567abcd\0";
    let with = |more: &[u8]| [&cookie[..], more].concat();
    let http = b"GET / HTTP/1.1\r\nHost: example.org\r\nAccept: */*\r\n\r\n";
    for (name, opening, most) in [
        ("too few bytes", cookie[..36].to_vec(), 9),
        ("HTTP", http.to_vec(), 1),
        ("zeros", vec![0; 100], 1),
        ("ones", vec![0xff; 100], 1),
        ("parameters that are none", with(b"\0\0\0\x02{]"), 10),
        ("parameters of 2 GiB", with(b"\x7f\xff\xff\xff{}"), 10),
    ] {
        let mut client = TcpStream::connect(server.address).expect("it listens");
        client.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        client.write_all(&opening).expect("it is sent");
        _ = client.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        // Whether it ends in order is its affair.
        _ = client.take(1_000).read_to_end(&mut answer);
        assert!(answer.len() <= most, "{name}: {answer:?}");
    }
    test(&server, "-t 100ms").assert_success();
}
