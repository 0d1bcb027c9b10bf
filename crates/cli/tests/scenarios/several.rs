//! Several clients at one time: all at once, one after another, and within limits.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Running, Server, client, json, plain_iperf3, run, test, under_way};

#[test]
fn clients_are_served_at_the_same_time_and_told_of_each_other() {
    let server = Server::start();
    let long = under_way(&server, "--tcp --receive -b 80M -t 60s");
    let rows = ["--tcp --send -b 40M", "--udp --send -b 10M", "--udp --receive -b 10M -P 2"];
    let options = |row: &str| format!("{row} -t 1s --json");
    let others: Vec<_> =
        rows.iter().map(|row| Running::start(client(&server, &options(row)))).collect();
    for other in others {
        let record = finish(other);
        let shared = shares(&record);
        assert!(shared.tests >= 1, "{}", record["reported"]["shared"]);
        assert_eq!(shared.addresses, ["127.0.0.1"]);
        // The long one alone moves 10 MB a second.
        assert!(shared.bytes > 5_000_000, "{}", record["reported"]["shared"]);
    }
    end(long);
    server.line_with("beside 3 other tests of 127.0.0.1, which moved");
    assert!(json(&server, "--tcp --send -n 1M")["reported"]["shared"].is_null(), "it was alone");
}

#[test]
fn a_client_that_was_not_alone_says_so() {
    let server = Server::start_with("--bind 127.0.0.1 --hide-peers");
    let long = under_way(&server, "--tcp --send -b 8M -t 60s");
    let finished = test(&server, "--tcp --send -b 8M -t 500ms --format details");
    finished.assert_success();
    finished.assert_prints(&["SUSPECT: TCP send: 1 test of others moved"]);
    assert!(!finished.stdout.contains("of 127.0.0.1 moved"), "{finished:?}");
    end(long);
}

#[test]
fn a_queue_serves_one_after_another_and_tells_them_their_place() {
    let server = Server::start_with("--bind 127.0.0.1 --queue --yield-below 0");
    let first = under_way(&server, "--tcp --send -b 8M -t 60s");
    let second = Running::start(client(&server, "--udp --receive -b 8M -t 2s"));
    server.await_tests(2);
    let iperf3 = iperf3(&server, "-t 1 -b 8M").map(Running::start);
    let waiting = 2 + usize::from(iperf3.is_some());
    server.await_tests(waiting);
    let last = Running::start(client(&server, "--tcp --receive -b 8M -t 500ms --json"));
    server.await_tests(waiting + 1);
    end(first);
    let second = second.finish();
    second.assert_ran_to_its_end();
    let told = "UDP receive: waiting for 1 test before this one";
    assert!(second.stderr.starts_with(told), "{second:?}");
    if let Some(iperf3) = iperf3 {
        iperf3.finish().assert_success();
    }
    let last = last.finish();
    assert!(last.stderr.contains("waiting for "), "{last:?}");
    let record = last.json();
    assert!(record["reported"]["shared"].is_null(), "each was alone: {record}");
    assert!(last.took > Duration::from_secs(2), "{last:?}");
}

#[test]
fn an_experiment_waits_in_no_queue() {
    let server = Server::start_with("--bind 127.0.0.1 --queue --yield-below 0");
    let first = under_way(&server, "--tcp --send -b 8M -t 60s");
    let second = Running::start(client(&server, "--tcp --send -t 1s --json"));
    server.await_tests(2);
    let third = Running::start(client(&server, "--tcp --send -b 8M -t 60s"));
    server.await_tests(3);
    end(first);
    let second = second.finish_within(Duration::from_secs(30));
    second.assert_ran_to_its_end();
    assert!(second.json()["trials"]["elasticities"].is_null(), "{second:?}");
    end(third);
}

#[test]
fn who_leaves_the_queue_makes_room_for_the_next() {
    let server = Server::start_with("--bind 127.0.0.1 --queue --yield-below 0");
    let first = under_way(&server, "--tcp --send -b 8M -t 60s");
    let impatient = Running::start(client(&server, "--tcp --send -t 60s"));
    server.await_tests(2);
    let next = Running::start(client(&server, "--tcp --send -b 8M -t 100ms"));
    server.await_tests(3);
    impatient.signal("INT");
    let finished = impatient.finish();
    assert_eq!(finished.code, Some(130), "{finished:?}");
    server.await_tests(2);
    end(first);
    // Behind the impatient one it would not end in time.
    next.finish().assert_ran_to_its_end();
}

#[test]
fn no_more_run_at_one_time_than_may() {
    let server = Server::start_with("--bind 127.0.0.1 --max-sessions 2");
    let both = [(); 2].map(|()| Running::start(client(&server, "--tcp --send -b 8M -t 60s")));
    server.await_test();
    server.await_test();
    test(&server, "--tcp --send -t 100ms").assert_refusal(5, &["the server is busy"]);
    server.line_with("not served: busy: as many tests run or wait as may");
    both.into_iter().for_each(end);
    test(&server, "--tcp --send -t 100ms").assert_success();
}

#[test]
fn one_address_does_not_take_the_place_of_others() {
    let server = Server::start_with("--bind 127.0.0.1 --max-per-address 1");
    let first = under_way(&server, "--tcp --send -b 8M -t 60s");
    test(&server, "--tcp --send -t 100ms").assert_refusal(5, &["the server is busy"]);
    server.line_with("too many tests from this address at one time");
    test(&server, "--tcp --send -t 100ms --bind 127.0.0.2").assert_success();
    end(first);
}

#[test]
fn one_address_does_not_begin_tests_all_the_time() {
    let server = Server::start_with("--bind 127.0.0.1 --max-starts 1");
    // At the same time: a busy machine runs less than one in a second.
    let row = "--tcp --send -n 1K --connect-timeout 1s";
    let all: Vec<_> = (0..8).map(|_| Running::start(client(&server, row))).collect();
    let mut refused = all.into_iter().map(Running::finish).filter(|one| !one.ran_to_its_end());
    refused.next().expect("eight at once").assert_refusal(5, &["the server is busy"]);
    server.line_with("too many tests begun from this address in a second");
}

#[test]
fn a_client_that_asks_for_too_much_is_told_of_the_limit() {
    for (limit, asked, words) in [
        ("--max-streams 3", "--bidir -P 2", "at most 3, both directions together"),
        ("--max-bytes 1M", "--send -n 2M", "at most 1,048,576 bytes"),
        ("--max-time 1s", "--send -n 1G", "at most 1 s"),
        ("--max-memory 64K", "--send", "has 32.00 KiB for one client: raise its --max-memory"),
    ] {
        let server = Server::start_with(&format!("--bind 127.0.0.1 {limit}"));
        let finished = test(&server, &format!("--tcp {asked}"));
        finished.assert_refusal(1, &["the server refuses: ", words]);
    }
}

#[test]
fn an_iperf3_that_asks_for_too_much_hears_it_in_its_numbers() {
    let server = Server::start_with("--bind 127.0.0.1 --max-time 1s --max-rate 10M");
    let complaint = |options| iperf3(&server, options).map(|command| run(command).stderr);
    let Some(of_time) = complaint("-t 2") else { return };
    // Versions before 3.17 have no words for it.
    let words = ["maximum permitted limit", "int_errno=37"];
    assert!(words.iter().any(|words| of_time.contains(words)), "{of_time}");
    let of_rate = complaint("-t 1 -b 20M").unwrap_or_default();
    assert!(of_rate.contains("larger than server limit"), "{of_rate}");
}

#[test]
fn a_test_that_takes_too_much_is_ended() {
    let server = Server::start_with("--bind 127.0.0.1 --max-bytes 10M");
    let finished = test(&server, "--tcp --send -t 20s");
    finished
        .assert_complaint(1, &["the server refuses: more bytes than this server allows: at most"]);
    assert!(finished.took < Duration::from_secs(5), "{finished:?}");
    server.line_with("more bytes than this server allows: at most 10,485,760 bytes");
}

#[test]
fn many_udp_clients_of_one_address_get_their_own_streams() {
    let server = Server::start();
    let own: Vec<_> = (0..6)
        .map(|n| format!("--udp --send -b 1M -l {} -n {}K --json", 1000 + n, 20 + n))
        .map(|options| Running::start(client(&server, &options)))
        .collect();
    let theirs: Vec<_> = (0..6)
        .filter_map(|n| iperf3(&server, &format!("-u -b 1M -l {} -k {} -J", 500 + n, 20 + n)))
        .map(Running::start)
        .collect();
    for (n, one) in own.into_iter().enumerate() {
        let direction = &finish(one)["outcome"]["directions"][0];
        assert_eq!(direction["datagrams"]["lost"], 0, "{direction}");
        let sent = direction["offered"]["bytes"].as_u64().expect("a count");
        assert_eq!(sent % (1000 + n as u64), 0, "{direction}");
        assert_eq!(direction["delivered"]["bytes"], sent, "{direction}");
    }
    for (n, one) in theirs.into_iter().enumerate() {
        let end = finish(one)["end"]["sum"].take();
        assert_eq!(
            (end["packets"].as_u64(), &end["lost_packets"]),
            (Some(20 + n as u64), &0.into())
        );
    }
}

/// What others took of the server, as a record tells it.
struct Shares {
    tests: u64,
    bytes: u64,
    addresses: Vec<String>,
}

fn shares(record: &Value) -> Shares {
    let shared = record["reported"]["shared"].as_array().cloned().unwrap_or_default();
    let sum = |key: &str| shared.iter().filter_map(|one| one[key].as_u64()).sum();
    let address = |one: &Value| one["address"].as_str().map(str::to_owned);
    Shares {
        tests: sum("tests"),
        bytes: sum("bytes"),
        addresses: shared.iter().filter_map(address).collect(),
    }
}

/// Ends a test that had its place for as long as others needed it.
fn end(running: Running) {
    running.signal("INT");
    assert_eq!(running.finish().code, Some(130));
}

fn finish(running: Running) -> Value {
    let finished = running.finish();
    finished.assert_ran_to_its_end();
    finished.json()
}

/// A real iperf3 client; none if there is no iperf3 here.
fn iperf3(server: &Server, options: &str) -> Option<Command> {
    let (ip, port) = (server.address.ip(), server.address.port());
    plain_iperf3(&format!("-c {ip} -p {port} {options}"))
}
