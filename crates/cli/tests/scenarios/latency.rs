//! How long responses take, idle and under load.

use std::time::Duration;

use lab::{Link, LinkSpec, Rate, Shape};
use serde_json::Value;

use crate::support::{
    Finished, Running, Server, across, client, free_port, json, linerate, link, plain_iperf3, run,
    shell, skip,
};

fn latency(server: &Server, options: &str) -> Finished {
    run(linerate(&server.arguments("latency", options)))
}

fn records(finished: &Finished) -> Vec<Value> {
    finished.assert_success();
    let json = finished.json();
    match json["records"].as_array() {
        Some(records) => records.clone(),
        None => vec![json],
    }
}

#[test]
fn every_row_tells_how_long_responses_took() {
    let server = Server::start();
    let records = records(&latency(&server, "-t 300ms --only tcp,udp,connect --json"));
    assert_eq!(records.len(), 3);
    for record in &records {
        let trips = &record["outcome"]["round_trips"];
        let value = |name: &str| trips[name].as_f64().expect("a number");
        assert!(value("count") > 100.0, "{trips}");
        assert!(value("lost") <= value("count") / 100.0, "{trips}");
        let times = ["min", "p50", "p90", "p99", "p999", "max"];
        let times = times.map(|time| value(&format!("{time}_seconds")));
        assert!(times[0] > 0.0 && times.is_sorted(), "{trips}");
        let counts = trips["histogram"].as_array().expect("a histogram");
        let sum: u64 = counts.iter().filter_map(|bucket| bucket[1].as_u64()).sum();
        assert_eq!(Some(sum), trips["count"].as_u64());
        assert_eq!(record["outcome"]["directions"].as_array().map(Vec::len), Some(0));
    }
    let count = records[2]["outcome"]["round_trips"]["count"].as_u64().expect("a count");
    let line = server.line_with("TCP connect/request/response, 1 stream: ");
    let answered = line.split(": ").nth(2).and_then(|part| part.split(' ').next()).expect("told");
    let answered: u64 = answered.replace(',', "").parse().expect("a number");
    // The last one may have been answered and not heard.
    assert!((count..=count + 1).contains(&answered), "{count}: {line}");
}

#[test]
fn the_screen_answers_first_and_has_rows_and_load() {
    let server = Server::start();
    let finished = latency(&server, "-t 300ms --only udp,load -P 2");
    finished.assert_success();
    finished.assert_prints(&[
        "UDP requests",
        "TCP send idle",
        "TCP receive loaded",
        "p99.9",
        "RPM",
    ]);
    let answer = finished.stdout.lines().nth(2).unwrap_or_default();
    assert!(answer.starts_with("  Bufferbloat ") && answer.contains(" idle, "), "{finished:?}");
    assert!(finished.stdout.is_ascii(), "a pipe is no terminal: {finished:?}");
    assert!(finished.stdout.lines().all(|line| line.len() <= 80), "{finished:?}");
    assert!(!finished.stdout.contains("shared:"), "a probe is nobody's neighbour: {finished:?}");
}

#[test]
fn the_record_has_all_numbers_of_the_screen() {
    let server = Server::start();
    let records = records(&latency(&server, "-t 1s --only load --json"));
    assert_eq!(records.len(), 2);
    for record in &records {
        let latency = &record["outcome"]["latency"];
        let rpm = |name: &str| latency["responsiveness"][name].as_f64().expect(name);
        let mean = f64::midpoint(rpm("foreign_rpm"), rpm("loaded_rpm"));
        assert!((rpm("rpm") - mean).abs() < 1e-6 * mean, "{latency}");
        // By the mean of all but the slowest 5 %, which lies below that of all.
        let slowest = 60.0 / latency["loaded"]["mean_seconds"].as_f64().expect("a mean");
        let fastest = 60.0 / latency["loaded"]["min_seconds"].as_f64().expect("a minimum");
        assert!((slowest * 0.99..=fastest).contains(&rpm("foreign_rpm")), "{latency}");
        assert!(latency["grade"].is_string(), "{latency}");
        let buckets = latency["loaded"]["histogram"].as_array().expect("a histogram");
        let sum: u64 = buckets.iter().filter_map(|bucket| bucket[1].as_u64()).sum();
        assert_eq!(Some(sum), latency["loaded"]["count"].as_u64());
    }
}

#[test]
fn sizes_depth_and_times_are_as_asked() {
    let server = Server::start();
    let options = "-t 300ms --only tcp --request 1 --response 20K --depth 8 --json";
    let record = &records(&latency(&server, options))[0];
    assert_eq!(record["plan"]["exchange"]["response_bytes"], 20 << 10);
    assert_eq!(record["plan"]["exchange"]["depth"], 8);
    let options = "-t 1s -O 1s --only udp --every 20ms --json";
    let record = &records(&latency(&server, options))[0];
    let count = record["outcome"]["round_trips"]["count"].as_u64().expect("a count");
    // 50, if this host wakes in time.
    assert!((20..=51).contains(&count), "{count}");
    let probes = record["probes"].as_array().expect("probes");
    assert!(probes.len() > 40, "those of the omitted start are there too: {}", probes.len());
}

#[test]
fn a_queue_that_fills_under_load_is_seen_on_its_way() {
    let Some((_server, link)) = slow_link(Duration::from_millis(60), "") else { return };
    let screen = across(&link, "latency", "--only load -t 1s -C cubic -v");
    screen.assert_prints(&["under load the median round trip took", "Bufferbloat"]);
    let record = &records(&across(&link, "test", "--tcp --send -t 2s --latency --json"))[0];
    let latency = &record["outcome"]["latency"];
    let time = |path: &str| latency.pointer(path).and_then(Value::as_f64).expect(path);
    assert!(time("/idle/p50_seconds") < 0.02, "{latency}");
    assert!(time("/loaded/p50_seconds") > time("/idle/p50_seconds") + 0.01, "{latency}");
    // It is the way there that is full.
    assert!(time("/one_way/loaded_there/p50_seconds") > 0.01, "{latency}");
    assert!(time("/one_way/loaded_back/p50_seconds") < 0.01, "{latency}");
    assert!(time("/one_way/clock_error_seconds") < 0.01, "{latency}");
}

#[test]
fn a_probe_takes_no_place_in_a_queue() {
    let server = Server::start_with("--bind 127.0.0.1 --queue");
    let record = json(&server, "--tcp --send -t 300ms --latency");
    assert!(record["outcome"]["latency"]["loaded"]["count"].as_u64() > Some(5), "{record}");
    assert!(record["reported"]["shared"].is_null(), "{}", record["reported"]["shared"]);
}

#[test]
fn requests_that_were_not_sent_in_time_are_told() {
    let server = Server::start();
    let arguments = server.arguments("latency", "--only udp --every 1ms --depth 1 -t 2s");
    let running = Running::start(linerate(&arguments));
    server.line_with("begins");
    server.running.signal("STOP");
    // Some hundred times of requests.
    std::thread::sleep(Duration::from_millis(400));
    server.running.signal("CONT");
    let finished = running.finish();
    finished.assert_success();
    finished.assert_prints(&["requests could not be sent at their times"]);
}

#[test]
fn two_clients_with_probes_share_a_queue() {
    let server = Server::start_with("--bind 127.0.0.1 --queue");
    let command = || client(&server, "--tcp --send -t 500ms --latency --json");
    let (one, two) = (Running::start(command()), Running::start(command()));
    for running in [one, two] {
        let finished = running.finish();
        // One of them may say that it waits.
        finished.assert_ran_to_its_end();
        let count = &finished.json()["outcome"]["latency"]["loaded"]["count"];
        assert!(count.as_u64() > Some(5), "{count}");
    }
}

#[test]
fn large_requests_in_numbers_get_their_responses() {
    let server = Server::start();
    let options = "--only tcp --depth 256 --request 64K --response 64K -t 1s --json";
    let record = &records(&latency(&server, options))[0];
    assert!(record["outcome"]["round_trips"]["count"].as_u64() > Some(100), "{record}");
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let server = Server::start();
    let start = |row: &str| {
        let options = format!("-t 30s --only {row} --json");
        Running::start(linerate(&server.arguments("latency", &options)))
    };
    let running = start("udp");
    // Its data moves, and did so for the quarter of a second in which the server measured that.
    server.await_test();
    running.signal("INT");
    let finished = running.finish();
    assert_eq!(finished.code, Some(130), "{finished:?}");
    let record = finished.json();
    assert_eq!(record["outcome"]["ending"]["state"], "interrupted");
    assert!(record["outcome"]["round_trips"]["count"].as_u64() > Some(10));
    let running = start("load");
    // After the time in which nothing else moved.
    server.line_with(", TCP send");
    running.signal("INT");
    let finished = running.finish();
    assert_eq!(finished.code, Some(130), "{finished:?}");
    assert!(finished.json()["outcome"]["latency"]["idle"]["count"].as_u64() > Some(10));
}

#[test]
fn a_plain_iperf3_answers_nothing_and_that_is_said() {
    let port = free_port();
    let Some(serve) = plain_iperf3(&format!("-s -B 127.0.0.1 -p {port}")) else { return };
    let _iperf3 = Running::start_listening(serve, port);
    let words = ["latency needs", "linerate serve"];
    for options in ["--only tcp -t 1s", "--only load -t 1s"] {
        let finished = run(linerate(&format!("latency 127.0.0.1 -p {port} {options}")));
        finished.assert_refusal(1, &words);
    }
}

#[test]
fn a_firewall_that_lets_only_the_servers_port_through_is_told() {
    let Some((_server, link)) = slow_link(Duration::from_millis(50), "--port 5201") else { return };
    if !shell(&link.near, "ip rule add ipproto tcp dport 32768-60999 prohibit") {
        return;
    }
    let finished = across(&link, "latency", "--only connect -t 1s");
    finished.assert_prints(&["did not answer"]);
}

#[test]
fn what_cannot_be_asked_is_refused_in_a_sentence() {
    for (options, words) in [
        ("--only udp --request 15", "the request cannot be 15 bytes"),
        ("--only tcp --response 2M", "the response cannot be"),
        ("--depth 0", "depth"),
        ("--every 10us", "choose between 100us and 5s"),
        ("--only cable", "--only"),
        ("--only load --busy", "do not apply to --only load"),
        ("--quiet --verbose", "contradict each other"),
        ("--only load --probe-every 5s", "choose between 1ms and 1s"),
        ("-t 1ms", "the time cannot be"),
    ] {
        let finished = run(linerate(&format!("latency 127.0.0.1 {options}")));
        finished.assert_refusal(2, &[words]);
    }
}

/// A server at the far end of a link of 20 Mbit/s with so much queue.
fn slow_link(queue: Duration, options: &str) -> Option<(Server, Link)> {
    link()?;
    let rate = Rate::from_bits_per_second(20_000_000)?;
    let shape = Shape { latency: queue, ..Shape::with_rate(rate) };
    let spec = LinkSpec { shape: Some(shape), ..LinkSpec::default() };
    let Ok(link) = Link::create(&spec) else { return skip("no shaped link can be made") };
    Some((Server::start_on(&link.far, options), link))
}
