//! What is on the wire: read from a capture.

use std::time::Duration;

use crate::capture::{Capture, Packet, TCP, UDP};
use crate::shared::linerate;
use crate::support::{
    Running, Server, client, free_port, has_ipv6, iperf3, iperf3_on, link, run, side_by_side, skip,
    test,
};

#[test]
fn a_type_of_service_is_on_every_packet_of_the_streams() {
    side_by_side(
        [("-S 0x10", 0x10), ("--tos 064", 0x34), ("-S 52 -u", 0x34)],
        |(options, service)| {
            assert_service(options, service);
        },
    );
    test("-S 256").assert_usage("");
}

#[test]
fn a_codepoint_is_on_every_packet_of_the_streams() {
    side_by_side(
        [("--dscp ef", 0xb8), ("--dscp 0x0a -u", 0x28), ("--dscp af21", 0x48)],
        |(options, service)| {
            assert_service(options, service);
        },
    );
    test("--dscp 64").assert_usage("");
}

#[test]
fn a_type_of_service_is_a_traffic_class_over_ipv6() {
    if !has_ipv6() {
        return;
    }
    let server = Server::start("");
    let Some(capture) = Capture::on_loopback(&format!("ip6 and port {}", server.port)) else {
        return;
    };
    let command = format!("-c ::1 -p {} -S 0x20 -u -b 10M -n 100K", server.port);
    run(iperf3(&command)).assert_success();
    let packets = capture.packets();
    let is_data = |packet: &&Packet| packet.protocol == UDP && packet.length >= 1000;
    let data: Vec<_> = packets.iter().filter(is_data).collect();
    assert!(data.len() > 1 && data.iter().all(|packet| packet.service == 0x20), "{data:?}");
}

#[test]
fn linerate_test_marks_the_packets_of_both_ends_too() {
    let mut cases = vec![("127.0.0.1", "--tcp"), ("127.0.0.1", "--udp -b 5M")];
    if has_ipv6() {
        cases.extend([("::1", "--tcp"), ("::1", "--udp -b 5M")]);
    }
    side_by_side(cases, |(address, transport)| {
        let port = free_port();
        let mut server = Running::start(linerate(&format!("serve -p {port} -B {address}")));
        testbed::port::await_listener(None, port, &mut server).expect("it listens");
        let Some(capture) = Capture::on_loopback(&format!("port {port}")) else { return };
        let options = format!("{transport} --bidir -t 200ms --dscp af21 --ttl 9 -q");
        let finished = run(linerate(&format!("test -c {address} -p {port} {options}")));
        assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
        let packets = capture.packets();
        // What both ends say on the control connection has the host's own header.
        let data: Vec<_> = packets.iter().filter(|packet| packet.service == 0x48).collect();
        for from_server in [true, false] {
            let mut bytes = 0;
            for packet in data.iter().filter(|packet| (packet.from.1 == port) == from_server) {
                assert_eq!(packet.hops, 9, "{packet:?}");
                bytes += packet.length;
            }
            assert!(
                bytes > 10_000,
                "{address} {transport}, from the server {from_server}: {bytes}"
            );
        }
    });
}

#[test]
fn multipath_tcp_is_on_the_wire_of_linerate_test() {
    let enabled = std::fs::read_to_string("/proc/sys/net/mptcp/enabled").unwrap_or_default();
    if enabled.trim() != "1" {
        return skip("this kernel has no Multipath TCP").unwrap_or_default();
    }
    let port = free_port();
    let mut server = Running::start(linerate(&format!("serve -p {port} -B 127.0.0.1")));
    testbed::port::await_listener(None, port, &mut server).expect("it listens");
    for (option, expected) in [("-m", true), ("", false)] {
        let Some(capture) = Capture::on_loopback(&format!("dst port {port}")) else { return };
        let options = format!("--tcp --send -t 200ms -q {option}");
        let finished = run(linerate(&format!("test 127.0.0.1:{port} {options}")));
        assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
        let packets = capture.packets();
        assert_eq!(packets.iter().any(|packet| packet.multipath), expected, "{option}");
    }
}

#[test]
fn a_flow_label_is_on_every_packet_of_the_streams() {
    if !has_ipv6() {
        return;
    }
    // What both ends say at the end is shorter than a segment of loopback, or no datagram.
    for (transport, protocol, least) in [("", TCP, 5_000), ("-u -l 1000", UDP, 900)] {
        let server = Server::start("");
        let filter = format!("ip6 and dst port {}", server.port);
        let Some(capture) = Capture::on_loopback(&filter) else { return };
        let options = format!("-L 0x12345 -b 10M -n 100K {transport}");
        let command = format!("-c ::1 -p {} {options}", server.port);
        run(iperf3(&command)).assert_success();
        let packets = capture.packets();
        let is_data = |packet: &&Packet| packet.protocol == protocol && packet.length >= least;
        let data: Vec<_> = packets.iter().filter(is_data).collect();
        assert!(!data.is_empty(), "{packets:?}");
        assert!(data.iter().all(|packet| packet.flow_label == 0x12345), "{data:?}");
    }
    let server = Server::start("");
    let finished = run(client(server.port, "-L 5 -n 1M"));
    assert_eq!(finished.code, Some(1), "IPv4 has no flow label: {finished:?}");
}

#[test]
fn datagrams_have_the_length_that_was_asked() {
    side_by_side(["", "-R"], |direction| {
        let server = Server::start("");
        let options = format!("-u -l 777 -k 50 -b 10M {direction}");
        let Some(packets) = packets_of(&server, &options) else { return };
        let datagrams = data(&packets);
        assert!(datagrams.len() >= 50, "{direction}: {}", datagrams.len());
        assert!(datagrams.iter().all(|packet| packet.length == 777), "{datagrams:?}");
    });
}

#[test]
fn counters_have_64_bits_if_asked() {
    side_by_side([("--udp-counters-64bit", 8..16), ("", 8..12)], |(option, at)| {
        let server = Server::start("");
        let Some(packets) = packets_of(&server, &format!("-u -l 500 -k 20 -b 10M {option}")) else {
            return;
        };
        for (packet, number) in data(&packets).into_iter().zip(1_u8..) {
            let counter = &packet.payload[at.clone()];
            let (last, rest) = counter.split_last().expect("bytes");
            assert!(*last == number && rest.iter().all(|byte| *byte == 0), "{counter:?}, {number}");
        }
    });
}

#[test]
fn a_payload_repeats_if_asked_and_is_random_otherwise() {
    for transport in ["-u -l 200", "-l 200"] {
        for (option, repeats) in [("--repeating-payload", true), ("", false)] {
            let server = Server::start("");
            let options = format!("{transport} -k 20 -b 1M {option}");
            let Some(packets) = packets_of(&server, &options) else { return };
            let blocks: Vec<_> = packets.iter().filter(|packet| packet.length == 200).collect();
            assert!(!blocks.is_empty(), "{packets:?}");
            for packet in blocks {
                let pattern = &packet.payload[16..];
                let found = pattern.iter().zip(&pattern[10..]).all(|(one, next)| one == next);
                assert_eq!(found, repeats, "{options}: {pattern:?}");
                assert!(!repeats || pattern.iter().all(u8::is_ascii_digit), "{pattern:?}");
            }
        }
    }
}

#[test]
fn a_datagram_too_long_for_the_link_is_cut_unless_that_is_forbidden() {
    let Some(link) = link() else { return };
    let fragments = |option: &str| -> Option<(Option<i32>, usize, usize)> {
        let server = Server::start_on(&link.far, "");
        let filter = format!("ip proto 17 and src host {}", link.near.ipv4());
        let capture = Capture::on(&link.near, &filter)?;
        let to = format!("-c {} -p {}", link.far.ipv4(), server.port);
        let options = format!("{to} -u -l 4000 -k 20 -b 10M {option}");
        let finished = run(iperf3_on(&link.near, &options));
        let packets = capture.packets();
        let cut = packets.iter().filter(|packet| packet.fragment).count();
        Some((finished.code, cut, packets.len()))
    };
    let Some((code, cut, _)) = fragments("") else { return };
    assert_eq!(code, Some(0));
    assert!(cut >= 20, "{cut}");
    let (_, cut, _) = fragments("--dont-fragment").expect("a capture");
    assert_eq!(cut, 0);
}

#[test]
fn dont_fragment_is_on_every_datagram() {
    let server = Server::start("");
    let Some(packets) = packets_of(&server, "-u -l 1000 -k 20 -b 10M --dont-fragment") else {
        return;
    };
    assert!(data(&packets).iter().all(|packet| packet.whole), "{packets:?}");
}

#[test]
fn a_test_with_udp_is_datagrams_and_one_without_is_not() {
    side_by_side([("-u", true), ("", false)], |(option, any)| {
        let server = Server::start("");
        let filter = format!("udp port {}", server.port);
        let Some(capture) = Capture::on_loopback(&filter) else { return };
        run(client(server.port, &format!("-n 100K -b 10M {option}"))).assert_success();
        assert_eq!(!capture.packets().is_empty(), any, "{option}");
    });
}

#[test]
fn a_burst_is_so_many_blocks_at_once() {
    let server = Server::start("");
    // A thousand datagrams each second, one every millisecond or ten every ten.
    let Some(packets) = packets_of(&server, "-u -l 1000 -b 8M/10 -t 1") else { return };
    let bursts = bursts(&data(&packets));
    let whole = bursts.iter().filter(|size| **size % 10 == 0).count();
    assert!(bursts.len() > 20, "{bursts:?}");
    assert!(whole * 2 > bursts.len(), "{bursts:?}");
}

#[test]
fn without_a_burst_the_blocks_are_spread() {
    let server = Server::start("");
    let Some(packets) = packets_of(&server, "-u -l 1000 -b 800k -t 1") else { return };
    let bursts = bursts(&data(&packets));
    let single = bursts.iter().filter(|size| **size == 1).count();
    assert!(single * 2 > bursts.len(), "{bursts:?}");
}

/// Sizes of groups of packets with more than three milliseconds between two groups.
fn bursts(packets: &[&Packet]) -> Vec<usize> {
    let apart = |pair: &[&Packet]| pair[1].at.saturating_sub(pair[0].at) > Duration::from_millis(3);
    let mut sizes = vec![1];
    for pair in packets.windows(2) {
        if apart(pair) {
            sizes.push(0);
        }
        *sizes.last_mut().expect("the first") += 1;
    }
    sizes
}

fn assert_service(options: &str, service: u8) {
    let server = Server::start("");
    let Some(packets) = packets_of(&server, &format!("{options} -l 10000 -b 20M -n 200K --bidir"))
    else {
        return;
    };
    for at_the_server in [false, true] {
        let own = packets.iter().filter(|packet| (packet.from.1 == server.port) == at_the_server);
        let data: Vec<_> = own.filter(|packet| packet.length >= 5000).collect();
        assert!(!data.is_empty(), "{options}: nothing sent, by the server: {at_the_server}");
        let wrong = data.iter().find(|packet| packet.service != service);
        assert!(wrong.is_none(), "{options}, at the server: {at_the_server}: {wrong:?}");
    }
}

/// All packets of a test; none where the system forbids a capture.
fn packets_of(server: &Server, options: &str) -> Option<Vec<Packet>> {
    let capture = Capture::on_loopback(&format!("port {}", server.port))?;
    run(client(server.port, options)).assert_success();
    Some(capture.packets())
}

/// The datagrams that are no hello of a stream.
fn data(packets: &[Packet]) -> Vec<&Packet> {
    packets.iter().filter(|packet| packet.protocol == UDP && packet.length > 100).collect()
}
