//! How much, how long, how fast, and which way.

use std::time::Duration;

use serde_json::Value;

use crate::evidence::{connections, is_at_the_server, number_after, peer_of};
use crate::support::{
    Running, Server, client, eventually, long_test, report, run, side_by_side, test, until,
};

#[test]
fn a_time_ends_a_test() {
    let finished = test("-t 1 -J");
    finished.assert_success();
    assert!(finished.took >= Duration::from_millis(950), "{:?}", finished.took);
    assert!(finished.took < Duration::from_secs(8), "{:?}", finished.took);
    let seconds = number(&finished.json(), "/end/sum_sent/seconds");
    assert!((0.9..2.0).contains(&seconds), "{seconds}");
}

#[test]
fn a_time_of_0_goes_on_until_it_is_interrupted() {
    let server = Server::start("");
    let mut client = Running::start(client(server.port, "-t 0 -b 10M -i 0.2"));
    let intervals = || client.stdout().matches("/sec").count();
    eventually("five intervals", || intervals() >= 5);
    assert!(client.is_running());
    client.signal("INT");
    assert_eq!(client.finish().code, Some(0));
}

#[test]
fn bytes_end_a_test() {
    for (options, direction) in [("", "sum_sent"), ("-R", "sum_received"), ("-P 2", "sum_sent")] {
        let json = report(&format!("-n 4M -b 200M {options}"));
        let bytes = number(&json, &format!("/end/{direction}/bytes"));
        assert!((4_194_304.0..9e6).contains(&bytes), "{options}: {bytes}");
    }
    let json = report("-u -n 100000 -l 1000 -b 50M");
    assert_eq!(whole(&json, "/end/sum/packets"), 100);
}

#[test]
fn blocks_end_a_test() {
    let json = report("-k 10 -l 10K");
    assert_eq!(whole(&json, "/end/sum_sent/bytes"), 102_400);
    let json = report("-u -k 40 -l 1000 -b 10M");
    assert_eq!(whole(&json, "/end/sum/packets"), 40);
    assert_eq!(whole(&json, "/end/sum/bytes"), 40_000);
}

#[test]
fn bytes_are_counted_from_the_end_of_the_omitted_start() {
    for options in ["-n 20M", "-n 20M -P 3", "-k 160"] {
        let json = report(&format!("-O 1 {options}"));
        assert_eq!(whole(&json, "/end/sum_sent/bytes"), 20_971_520, "{options}");
    }
    let json = report("-u -O 1 -n 100000 -l 1000 -b 5M");
    assert_eq!(whole(&json, "/end/sum_sent/packets"), 100);
}

#[test]
fn an_omitted_start_is_not_in_the_result() {
    let finished = test("-O 1 -t 1 -i 0.5 -b 80M -J");
    finished.assert_success();
    assert!(finished.took >= Duration::from_millis(1950), "{:?}", finished.took);
    let json = finished.json();
    let omitted = |interval: &&Value| interval["sum"]["omitted"] == true;
    let intervals = json["intervals"].as_array().expect("intervals");
    assert_eq!(intervals.iter().filter(omitted).count(), 2, "{json:#}");
    assert_eq!(intervals.iter().filter(|interval| !omitted(interval)).count(), 2, "{json:#}");
    // 80 Mbit/s for one second, not for two.
    let bytes = number(&json, "/end/sum_sent/bytes");
    assert!((7e6..14e6).contains(&bytes), "{bytes}");
    assert_eq!(json["start"]["test_start"]["omit"], 1);
}

#[test]
fn a_rate_is_kept() {
    side_by_side(["", "-R", "-u", "-u -R", "-P 2"], |options| {
        let json = report(&format!("-b 8M -t 1 -l 1000 {options}"));
        let streams = if options == "-P 2" { 2.0 } else { 1.0 };
        let rate = number(&json, "/end/sum_received/bits_per_second") / streams;
        assert!((6e6..10e6).contains(&rate), "{options}: {rate}");
    });
}

#[test]
fn datagrams_have_a_rate_unless_it_is_0() {
    let json = report("-u -t 1 -l 1000");
    let rate = number(&json, "/end/sum_sent/bits_per_second");
    assert!((9e5..1.3e6).contains(&rate), "{rate}");
    let json = report("-u -t 1 -b 0");
    let rate = number(&json, "/end/sum_sent/bits_per_second");
    assert!(rate > 2e7, "{rate}");
}

#[test]
fn the_old_name_of_a_rate_is_taken() {
    let json = report("--bandwidth 8M -t 1");
    let rate = number(&json, "/end/sum_sent/bits_per_second");
    assert!((6e6..12e6).contains(&rate), "{rate}");
}

#[test]
fn the_kernel_paces_to_the_rate_of_fq_rate() {
    side_by_side(["", "-R"], |direction| {
        let json = report(&format!("--fq-rate 80M -t 1 {direction}"));
        let rate = number(&json, "/end/sum_received/bits_per_second");
        assert!((3e7..9e7).contains(&rate), "{direction}: {rate}");
    });
}

#[test]
fn pacing_by_the_kernel_can_be_switched_off() {
    let server = Server::start("");
    let command = client(server.port, "--fq-rate 8M --no-fq-socket-pacing -n 8M -J");
    let finished = run(command);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.took < Duration::from_secs(5), "{:?}", finished.took);
}

#[test]
fn a_length_is_that_of_each_block() {
    let json = report("-l 5000 -k 3");
    assert_eq!(json["start"]["test_start"]["blksize"], 5000);
    assert_eq!(whole(&json, "/end/sum_sent/bytes"), 15_000);
}

#[test]
fn parallel_streams_are_so_many_connections() {
    let (server, _client) = long_test("", "-P 3 -b 10M");
    let at_the_server = |line: &&String| is_at_the_server(line, server.port);
    eventually("three streams and the control connection", || {
        connections(server.port).iter().filter(at_the_server).count() == 4
    });
}

#[test]
fn in_reverse_the_server_sends() {
    let [sent, received] = data_of_the_client("-R", |[_, received]| received > MUCH);
    assert!(sent < 2_000, "{sent} {received}");
    let [sent, received] = data_of_the_client("", |[sent, _]| sent > MUCH);
    assert!(received < 2_000, "{sent} {received}");
}

#[test]
fn with_bidir_both_send() {
    let server = Server::start("");
    let json = run(client(server.port, "--bidir -t 1 -b 20M -J")).json();
    for sum in ["sum_sent", "sum_received", "sum_sent_bidir_reverse", "sum_received_bidir_reverse"]
    {
        let rate = number(&json, &format!("/end/{sum}/bits_per_second"));
        assert!((1e7..3e7).contains(&rate), "{sum}: {rate}");
    }
    data_of_the_client("--bidir", |counted| counted.iter().all(|bytes| *bytes > MUCH));
}

#[test]
fn intervals_are_as_long_as_asked() {
    let count = |json: &Value| json["intervals"].as_array().map_or(0, Vec::len);
    // A busy machine joins two; none is shorter by plan. How many there are if each is on time is
    // told by crate session, whose clock is an argument.
    let many = count(&report("-t 1 -i 0.2 -b 10M"));
    assert!((2..=5).contains(&many), "{many} of a fifth");
    let few = count(&report("-t 2 -b 10M"));
    assert!((1..=2).contains(&few), "{few} of a second");
    // 0: one interval at the end at most.
    assert!(count(&report("-t 2 -i 0 -b 10M")) <= 1);
    let text = test("-t 2 -i 0 -b 10M").stdout;
    assert!(!text.contains("0.00-1.00"), "{text}");
}

/// Bytes that the kernel counted on all sockets of the client, sent and received, once they are
/// `enough`.
fn data_of_the_client(options: &str, enough: impl Fn([u64; 2]) -> bool) -> [u64; 2] {
    let (server, _client) = long_test("", &format!("-b 100M {options}"));
    let to = format!("127.0.0.1:{}", server.port);
    let counted = || {
        let lines = connections(server.port);
        let ours = lines.iter().filter(|line| peer_of(line) == to);
        let ours: Vec<_> = ours.collect();
        ["bytes_sent:", "bytes_received:"]
            .map(|name| ours.iter().filter_map(|line| number_after(line, name)).sum())
    };
    until("data", || Some(counted()).filter(|counted| enough(*counted)))
}

fn whole(json: &Value, path: &str) -> u64 {
    json.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {path}: {json:#}"))
}

fn number(json: &Value, path: &str) -> f64 {
    json.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {path}: {json:#}"))
}

/// More bytes than a control connection has.
const MUCH: u64 = 1_000_000;
