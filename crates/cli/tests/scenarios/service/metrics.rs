//! What monitoring systems read.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use super::exposition::Exposition;
use crate::support::{PATIENCE, Server, free_port, linerate, run, test, until};

#[test]
fn metrics_are_strict_openmetrics_and_count_tests() {
    let watched = Watched::start();
    let before = watched.exposition();
    assert_eq!(before.count("linerate_connections_total"), 0);
    test(&watched.server, "--tcp --send -n 1M").assert_success();
    let ended = "linerate_sessions_total{ended=\"completed\"}";
    let after = watched.await_count(ended, 1);
    assert_eq!(after.count("linerate_payload_bytes_total{direction=\"received\"}"), 1_048_576);
    assert_eq!(after.count("linerate_payload_bytes_total{direction=\"sent\"}"), 0);
    assert!(after.count("linerate_connections_total") >= 2);
    assert_eq!(after.count("linerate_sessions_running"), 0);
    assert_eq!(after.count("linerate_sessions_total{ended=\"failed\"}"), 0);
    for gauge in ["resident_memory_bytes", "open_fds", "max_fds", "threads"] {
        assert!(after.count(&format!("process_{gauge}")) >= 1);
    }
    assert!(after.value("process_cpu_seconds_total") > 0.0);
    // The first second of 2020.
    assert!(after.value("process_start_time_seconds") > 1_577_836_800.0);
}

#[test]
fn the_results_of_the_last_tests_are_gauges() {
    let watched = Watched::start();
    test(&watched.server, "--tcp --send -n 1M").assert_success();
    test(&watched.server, "-u -R -b 1M -t 200ms").assert_ran_to_its_end();
    let after = watched.await_count("linerate_sessions_total{ended=\"completed\"}", 2);
    let value =
        |name: &str, labels: &str| after.value(&format!("linerate_last_test_{name}{{{labels}}}"));
    let (tcp, udp) =
        ("direction=\"send\",transport=\"tcp\"", "direction=\"receive\",transport=\"udp\"");
    assert!(value("rate_bits_per_second", tcp) > 1e6);
    assert!((1e5..2e6).contains(&value("rate_bits_per_second", udp)));
    assert!((0.0..=1.0).contains(&value("lost_ratio", udp)));
    let ended = value("end_timestamp_seconds", udp);
    assert!(ended >= after.value("process_start_time_seconds"));
    assert!(ended >= value("end_timestamp_seconds", tcp));
}

#[test]
fn each_reason_for_a_refusal_is_there_from_the_start() {
    let exposition = Watched::start().exposition();
    for reason in ["busy", "address", "memory", "unknown_protocol", "timeout", "stopping"] {
        let sample = format!("linerate_refusals_total{{reason=\"{reason}\"}}");
        assert_eq!(exposition.count(&sample), 0);
    }
}

#[test]
fn who_takes_only_plain_text_gets_the_older_format() {
    let watched = Watched::start();
    let page = watched.ask("GET /metrics HTTP/1.1\r\nHost: a\r\nAccept: text/plain\r\n\r\n");
    let (head, body) = page.split_once("\r\n\r\n").expect("a head");
    assert!(head.contains("Content-Type: text/plain; version=0.0.4"), "{head}");
    assert!(body.contains("\n# TYPE linerate_connections_total counter\n"), "{body}");
    assert!(body.contains("# TYPE linerate_build_info gauge\n"), "{body}");
    assert!(!body.contains("# UNIT") && !body.contains("# EOF"), "{body}");
}

#[test]
fn there_are_three_pages_and_nothing_else() {
    let watched = Watched::start();
    let status = |request: &str| {
        let answer = watched.ask(&format!("{request}\r\nHost: a\r\n\r\n"));
        answer.split(' ').nth(1).expect("a status").to_owned()
    };
    assert!(watched.page("/").contains("/metrics"));
    assert!(watched.page("/healthz").ends_with("\r\n\r\nok\n"));
    for (request, expected) in [
        ("GET /metrics?x=y HTTP/1.1", "200"),
        ("GET /metric HTTP/1.1", "404"),
        ("POST /metrics HTTP/1.1", "405"),
        ("GET metrics", "400"),
        (&format!("GET / HTTP/1.1\r\nA: {}", "a".repeat(9000)), "431"),
    ] {
        assert_eq!(status(request), expected, "{request:.40}");
    }
    let head = watched.ask("HEAD /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(head.contains("Content-Length: 3\r\n") && head.ends_with("\r\n\r\n"), "{head}");
}

#[test]
fn slow_scrapers_hold_up_nobody_and_are_gone_soon() {
    let watched = Watched::start();
    let files = |watched: &Watched| watched.exposition().count("process_open_fds");
    let before = files(&watched);
    let slow: Vec<_> = (0..100)
        .map(|number| {
            let mut stream = watched.connect();
            // Some say nothing, some half of it, some do not read the answer.
            let words =
                ["", "GET /metrics HTTP/1.1\r\n", "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"];
            // Who came too early to be kept may be closed already.
            _ = stream.write_all(words[number % 3].as_bytes());
            stream
        })
        .collect();
    let begun = Instant::now();
    assert!(files(&watched) <= before + 33);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    test(&watched.server, "--tcp --send -t 50ms").assert_success();
    for mut stream in slow {
        let end = stream.read_to_end(&mut Vec::new());
        assert!(
            !matches!(&end, Err(error) if error.kind() == io::ErrorKind::WouldBlock),
            "{end:?}"
        );
    }
    assert!(begun.elapsed() < PATIENCE / 2, "{:?}", begun.elapsed());
    assert!(files(&watched) <= before + 1);
}

#[test]
fn bytes_that_drip_do_not_keep_a_connection() {
    let watched = Watched::start();
    let (mut stream, begun) = (watched.connect(), Instant::now());
    while stream.write_all(b"G").is_ok() {
        assert!(begun.elapsed() < PATIENCE / 2, "it is still there");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[test]
fn a_port_for_metrics_that_is_taken_is_an_error() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = taken.local_addr().expect("an address");
    let serve = format!("serve --bind 127.0.0.1 --port 0 --metrics {address}");
    let words = [&format!("cannot serve metrics on {address}: address"), "choose another port"];
    run(linerate(&serve)).assert_refusal(1, &words);
}

/// A server that serves metrics.
struct Watched {
    server: Server,
    metrics: SocketAddr,
}

impl Watched {
    fn start() -> Self {
        let metrics = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        let server = Server::start_with(&format!("--bind 127.0.0.1 --metrics {metrics}"));
        Self { server, metrics }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.metrics).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream
    }

    fn ask(&self, request: &str) -> String {
        let (mut stream, mut answer) = (self.connect(), String::new());
        stream.write_all(request.as_bytes()).expect("a connection");
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    fn page(&self, path: &str) -> String {
        let page = self.ask(&format!("GET {path} HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n"));
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
        page
    }

    fn exposition(&self) -> Exposition {
        let page = self.page("/metrics");
        let (head, body) = page.split_once("\r\n\r\n").expect("a head");
        let kind = "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8";
        assert!(head.lines().any(|line| line == kind), "{head}");
        assert!(
            head.lines().any(|line| line == format!("Content-Length: {}", body.len())),
            "{head}"
        );
        Exposition::read(body)
    }

    /// The client knows of the end of its test before the server has counted it.
    fn await_count(&self, sample: &str, count: u64) -> Exposition {
        until(&format!("{sample} of {count}"), || {
            Some(self.exposition()).filter(|exposition| exposition.count(sample) >= count)
        })
    }
}
