//! Ports, addresses, families and devices.

use std::net::{IpAddr, Ipv4Addr};

use crate::evidence::{
    await_connection, connections, datagram_flows, datagram_sockets, listeners, local_of, peer_of,
};
use crate::support::{
    Running, Server, client, eventually, free_port, has_ipv6, iperf3, long_test, report, run,
    side_by_side, until,
};

#[test]
fn a_server_listens_on_its_port_and_a_client_comes_to_it() {
    let server = Server::start("");
    assert!(!listeners(server.running.id(), server.port).is_empty());
    run(client(server.port, "-n 1M")).assert_success();
    run(client(free_port(), "-n 1M")).assert_error("Connection refused");
}

#[test]
fn a_server_binds_to_its_address() {
    let server = Server::start("-B 127.0.0.2");
    let own: IpAddr = Ipv4Addr::new(127, 0, 0, 2).into();
    assert_eq!(listeners(server.running.id(), server.port), [own]);
    run(client(server.port, "-n 1M")).assert_error("Connection refused");
    let there = |options: &str| iperf3(&format!("-c 127.0.0.2 -p {} {options}", server.port));
    run(there("-n 1M")).assert_success();
    let _client = Running::start(there("-u -t 20"));
    let pid = server.running.id();
    let sockets = until("socket", || {
        Some(datagram_sockets(pid, server.port)).filter(|sockets| !sockets.is_empty())
    });
    assert!(sockets.iter().all(|address| *address == own), "{sockets:?}");
}

#[test]
fn a_client_binds_to_its_address() {
    for transport in ["", "-u"] {
        let (server, _client) = long_test("", &format!("-B 127.0.0.3 -P 2 {transport}"));
        let to = format!("127.0.0.1:{}", server.port);
        let from_there = |lines: Vec<String>| {
            let ours = lines.iter().filter(|line| peer_of(line) == to);
            ours.filter(|line| local_of(line).starts_with("127.0.0.3:")).count()
        };
        eventually("three connections", || from_there(sockets(transport, server.port)) >= 2);
        assert!(from_there(connections(server.port)) >= 1, "the control connection");
    }
}

#[test]
fn a_client_binds_to_a_device() {
    side_by_side(
        [
            ("127.0.0.1", "--bind-dev lo"),
            ("127.0.0.1", "-B 127.0.0.1%lo"),
            ("127.0.0.1%lo", ""),
            ("127.0.0.1%lo", "-u"),
        ],
        |(host, options)| {
            let server = Server::start("");
            let port = server.port;
            let _client = Running::start(iperf3(&format!("-c {host} -p {port} {options} -t 20")));
            let to = format!("127.0.0.1:{port}");
            let bound = || {
                let lines = sockets(options, port);
                let ours: Vec<_> = lines.into_iter().filter(|line| peer_of(line) == to).collect();
                let all = ours.iter().all(|line| local_of(line).starts_with("127.0.0.1%lo:"));
                all && ours.len() >= if options == "-u" { 1 } else { 2 }
            };
            eventually(&format!("socket on the device with {host} {options}"), bound);
        },
    );
    run(client(free_port(), "--bind-dev nosuchdevice")).assert_error("No such device");
}

#[test]
fn a_server_binds_to_a_device() {
    let (server, _client) = long_test("--bind-dev lo", "");
    await_connection(server.port, &[&format!("%lo:{} ", server.port)]);
}

#[test]
fn each_family_can_be_had_alone() {
    let server = Server::start("-4");
    assert!(listeners(server.running.id(), server.port).iter().all(IpAddr::is_ipv4));
    let json = run(iperf3(&format!("-c localhost -4 -p {} -n 1M -J", server.port))).json();
    assert_eq!(json["start"]["connected"][0]["remote_host"], "127.0.0.1");
    if !has_ipv6() {
        return;
    }
    let to_v6 = |options: &str, port| iperf3(&format!("-c ::1 -p {port} -n 1M {options}"));
    assert_eq!(run(to_v6("", server.port)).code, Some(1));
    let server = Server::start("-6");
    assert!(listeners(server.running.id(), server.port).iter().all(IpAddr::is_ipv6));
    run(to_v6("-6", server.port)).assert_success();
    assert_eq!(run(to_v6("-4", server.port)).code, Some(1));
    assert_eq!(run(client(server.port, "-n 1M -6")).code, Some(1));
}

#[test]
fn a_server_answers_both_families_on_one_port() {
    let server = Server::start("");
    run(client(server.port, "-n 1M")).assert_success();
    if has_ipv6() {
        for options in ["-n 1M", "-u -n 100K -b 100M", "-u -R -n 100K -b 100M"] {
            let command = iperf3(&format!("-c ::1 -p {} {options}", server.port));
            run(command).assert_success();
        }
    }
}

#[test]
fn streams_have_the_ports_of_cport() {
    for transport in ["", "-u"] {
        let server = Server::start("");
        // Below those of all servers here.
        let first = server.port - 10_000;
        let options = format!("--cport {first} -P 2 -t 20 {transport}");
        let _client = Running::start(client(server.port, &options));
        for port in [first, first + 1] {
            let local = format!("127.0.0.1:{port}");
            eventually(&format!("socket at {local}"), || {
                sockets(transport, server.port).iter().any(|line| local_of(line) == local)
            });
        }
    }
}

#[test]
fn one_server_has_each_direction_and_number_of_streams() {
    for (options, streams, sends) in
        [("-P 3", 3, true), ("-R -P 2", 2, false), ("-P 2 --reverse -u", 2, false)]
    {
        let json = report(&format!("{options} -n 1M -b 100M"));
        let list = json["end"]["streams"].as_array().expect("streams");
        assert_eq!(list.len(), streams, "{options}: {json:#}");
        let kind = if options.ends_with("-u") { "udp" } else { "sender" };
        assert!(list.iter().all(|stream| stream[kind]["sender"] == sends), "{options}: {json:#}");
    }
}

fn sockets(transport: &str, port: u16) -> Vec<String> {
    if transport == "-u" { datagram_flows(port) } else { connections(port) }
}
