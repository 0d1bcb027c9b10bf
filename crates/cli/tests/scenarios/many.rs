//! More streams than an iperf3 can have, and what they need.

use std::collections::{BTreeMap, BTreeSet};

use measurement::StreamRecord;
use serde_json::Value;

use crate::support::{
    Running, Server, free_port, has_ports, json, json_across, limited, linerate, link, list,
    plain_iperf3, ports_of_streams, run, shell, test, typed, under_way, unprivileged,
};

#[test]
fn a_thousand_streams_move_and_are_compared() {
    let server = Server::start();
    let record = json(&server, "--tcp --send -P 1000 -t 2s -i 500ms");
    let read = typed(&record);
    assert_eq!((read.streams.len(), read.reported.streams.len()), (1000, 1000));
    let fairness = &record["outcome"]["directions"][0]["fairness"];
    assert_eq!(fairness["streams"], 1000, "{fairness}");
    assert_eq!(fairness["idle"], 0, "{fairness}");
    assert!(fairness["jain"].as_f64().is_some_and(|jain| jain > 0.3), "{fairness}");
    // Samples of so many streams are kept of the two ends only, intervals all.
    assert_eq!(list(&record["samples"]).len(), 2);
    assert!(list(&record["intervals"][0]["intervals"]).len() >= 3, "{}", record["intervals"]);
    server.line_with("1000 streams: send");
}

#[test]
fn both_ends_count_the_same_on_each_of_many_streams() {
    let server = Server::start();
    for options in ["--tcp --send -P 200 -n 64M", "--tcp --bidir -P 150 -n 32M"] {
        let record = typed(&json(&server, options));
        let counted = &record.samples.last().expect("samples").streams;
        let streams = record.streams.iter().zip(counted);
        assert_eq!(record.streams.len(), record.reported.streams.len(), "{options}");
        for ((stream, here), there) in streams.zip(&record.reported.streams) {
            assert_eq!((here.id, there.id), (stream.id, stream.id), "{options}");
            // Every byte of an amount arrives, so that a mix-up of two streams shows.
            assert_eq!(here.counters.bytes, there.bytes, "{options}: {stream:?}");
        }
        let senders = record.streams.iter().filter(|stream| stream.sender);
        assert!([200, 150].contains(&senders.count()), "{options}");
    }
}

#[test]
fn copies_of_one_host_have_workers_for_each_direction_unless_they_are_short_or_pinned() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return;
    }
    let server = Server::start();
    for (options, are_apart) in [("", true), ("-l 1K", false), ("--cpus 0,1", false)] {
        let record = typed(&json(&server, &format!("--tcp --bidir -P 4 -t 300ms {options}")));
        let workers = |sends| {
            let streams = record.streams.iter().filter(move |stream| stream.sender == sends);
            streams.filter_map(|stream| stream.worker).collect::<BTreeSet<_>>()
        };
        let (sending, receiving) = (workers(true), workers(false));
        assert!(!sending.is_empty() && !receiving.is_empty(), "{options}");
        assert_eq!(sending.is_disjoint(&receiving), are_apart, "{options}: {sending:?}");
    }
}

#[test]
fn many_streams_of_udp_lose_none_of_their_numbers() {
    let server = Server::start();
    let record = json(&server, "--udp --bidir -P 200 -b 20k -l 100 -t 2s");
    let read = typed(&record);
    assert_eq!((read.streams.len(), read.reported.streams.len()), (400, 400));
    for (stream, there) in read.streams.iter().zip(&read.reported.streams) {
        assert_eq!(stream.id, there.id);
        assert!(there.datagrams > 0, "{there:?}");
    }
    for outcome in list(&record["outcome"]["directions"]) {
        assert_eq!(outcome["fairness"]["streams"], 200, "{outcome}");
        assert_eq!(outcome["fairness"]["idle"], 0, "{outcome}");
    }
}

#[test]
fn the_table_compares_streams_and_verbosity_tells_where_they_ran() {
    let server = Server::start();
    let finished = test(&server, "--tcp --send -P 130 -t 1s --verbose");
    finished.assert_ran_to_its_end();
    finished.assert_prints(&["TCP send, 130 streams", "Jain's index", "slowest", "idle"]);
    assert!(finished.stdout.lines().count() < 60, "not a row for each: {finished:?}");
    assert!(finished.stderr.contains("130 streams take about 1.016 MiB of memory"), "{finished:?}");
    assert!(finished.stderr.contains("130 streams opened in"), "{finished:?}");
    assert!(finished.stderr.contains("worker 0, any CPU: "), "{finished:?}");
}

#[test]
fn iperf3s_limit_holds_in_its_dialect_and_against_it() {
    let port = free_port();
    let dialect = linerate(&format!("iperf3 -s -B 127.0.0.1 -p {port}"));
    let server = Running::start_listening(dialect, port);
    let finished = run(linerate(&format!("test 127.0.0.1 --port {port} --tcp -P 129")));
    finished.assert_refusal(1, &["at most 128 in each direction", "-P"]);
    drop(server);
    let finished = run(linerate("iperf3 -c 127.0.0.1 -P 129"));
    assert_eq!(finished.code, Some(1), "{finished:?}");
    let words = "number of parallel streams too large (maximum = 128)";
    assert!(finished.stderr.contains(words), "{finished:?}");
    let port = free_port();
    let Some(serve) = plain_iperf3(&format!("-s -1 -B 127.0.0.1 -p {port}")) else { return };
    let _iperf3 = Running::start_listening(serve, port);
    let finished = run(linerate(&format!("test 127.0.0.1 --port {port} --tcp --send -P 129")));
    finished.assert_refusal(1, &["an iperf3 server takes at most 128 streams", "-P"]);
}

#[test]
fn who_has_too_few_descriptors_says_so_before_the_test() {
    let server = Server::start();
    let options = server.arguments("test", "--tcp --send -P 300");
    let Some(client) = unprivileged(&options) else { return };
    run(limited("-n 200", &client)).assert_refusal(
        1,
        &["need 364 open files, 200 are allowed", "ulimit -n", "lower -P to 136"],
    );
}

#[test]
fn streams_take_several_addresses_in_turn() {
    let server = Server::start();
    for streams in [3, 300] {
        let options = format!("--tcp --send -P {streams} -t 200ms -B 127.0.0.2,127.0.0.3");
        let record = typed(&json(&server, &options));
        let local = record.streams.iter().filter_map(|stream| stream.local);
        let mut counts = BTreeMap::<String, usize>::new();
        local.for_each(|local| *counts.entry(local.ip().to_string()).or_default() += 1);
        let expected = [("127.0.0.2", streams / 2 + streams % 2), ("127.0.0.3", streams / 2)];
        assert!(counts.iter().map(|(ip, count)| (ip.as_str(), *count)).eq(expected), "{counts:?}");
    }
    let record = typed(&json(&server, "--udp --send -P 3 -b 1M -t 200ms -B 127.0.0.2,127.0.0.3"));
    let local = |stream: &StreamRecord| stream.local.map(|local| local.ip().to_string());
    assert!(record.streams.iter().all(|one| local(one).as_deref() == Some("127.0.0.2")));
}

#[test]
fn further_ports_serve_more_streams_than_a_client_has_ports() {
    let Some(link) = link() else { return };
    if !has_ports(&link.near, "40000 40099") {
        return;
    }
    let _server = Server::start_on(&link.far, "");
    let record = json_across(&link, "--tcp --send -P 400 -t 1s");
    let ports = ports_of_streams(&record);
    assert_eq!(ports.len(), 8, "400 streams, 50 for each port: {ports:?}");
    let fairness = &record["outcome"]["directions"][0]["fairness"];
    assert_eq!(fairness["streams"], 400, "{fairness}");
    let notes = record["outcome"]["notes"].to_string();
    assert!(!notes.contains("cannot be reached"), "{notes}");
}

#[test]
fn further_ports_behind_a_firewall_are_done_without_and_that_is_said() {
    let Some(link) = link() else { return };
    // The server's kernel chooses its further ports from the usual range.
    let wall = "ip rule add ipproto tcp dport 32768-60999 prohibit";
    if !has_ports(&link.near, "10000 10399") || !shell(&link.near, wall) {
        return;
    }
    let _server = Server::start_on(&link.far, "");
    let record = json_across(&link, "--tcp --send -P 300 -t 1s");
    assert_eq!(ports_of_streams(&record), BTreeSet::from([5201]));
    let notes = list(&record["outcome"]["notes"]);
    let told = |note: &Value| {
        note.as_str()
            .is_some_and(|note| note.contains("cannot be reached") && note.contains("5201"))
    };
    assert!(notes.iter().any(told), "{}", record["outcome"]);
}

#[test]
fn an_interrupt_ends_a_test_of_many_streams_in_order() {
    let server = Server::start();
    let running = under_way(&server, "--tcp --send -P 500 -t 30s --json");
    running.signal("INT");
    let finished = running.finish();
    assert_eq!(finished.code, Some(130), "{finished:?}");
    let record = finished.json();
    assert_eq!(record["outcome"]["ending"]["state"], "interrupted");
    assert_eq!(typed(&record).reported.streams.len(), 500);
}
