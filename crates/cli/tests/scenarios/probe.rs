//! `linerate probe`: what monitoring systems ask for by HTTP, and what they cannot make it do.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::service::exposition::Exposition;
use crate::support::{PATIENCE, Running, Server, free_port, linerate, run, test, until};

#[test]
fn a_probe_answers_with_the_result_of_a_test() {
    let server = Server::start();
    let probe = Probe::start(&server.address.to_string(), "");
    let name = "linerate_test_rate_bits_per_second{row=\"TCP receive\",peer=\"127.0.0.1\"}";
    let answer = probe.measure(&format!("target={}&row=tcp-receive&time=200ms", server.address));
    assert!(answer.value(name) > 1e6);
    assert_eq!(answer.count("linerate_run_success"), 1);
    assert!(answer.value("linerate_probe_duration_seconds") >= 0.2);
    let answer = probe.measure(&format!("target={}&time=200ms", server.address));
    let labels = "row=\"TCP request/response\",peer=\"127.0.0.1\",quantile=\"0.5\"";
    let median = answer.value(&format!("linerate_test_round_trip_seconds{{{labels}}}"));
    assert!((1e-6..0.1).contains(&median), "{median}");
    let own = Exposition::read(&probe.page("/metrics", "200"));
    assert_eq!(own.count("linerate_probes_total{result=\"success\"}"), 2);
    assert_eq!(own.count("linerate_probes_running"), 0);
}

#[test]
fn a_host_that_does_not_answer_is_no_success_and_has_no_other_sample() {
    let target = format!("127.0.0.1:{}", free_port());
    let probe = Probe::start(&target, "");
    let answer = probe.measure(&format!("target={target}"));
    assert_eq!(answer.count("linerate_run_success"), 0);
    let text = probe.page(&format!("/probe?target={target}"), "200");
    assert!(!text.contains("linerate_test_"), "{text}");
    let own = Exposition::read(&probe.page("/metrics", "200"));
    assert_eq!(own.count("linerate_probes_total{result=\"failure\"}"), 2);
}

#[test]
fn no_other_host_and_no_longer_test_than_allowed() {
    let server = Server::start();
    let probe = Probe::start(&server.address.to_string(), "--max-time 1s");
    let target = server.address;
    for (query, status) in [
        (String::new(), "400"),
        ("target=127.0.0.1:1".to_owned(), "403"),
        ("target=localhost".to_owned(), "403"),
        (format!("target={target}&time=2s"), "400"),
        (format!("target={target}&row=everything"), "400"),
        (format!("target={target}&streams=1000"), "400"),
        (format!("target={target}&target={target}"), "400"),
        ("target=%zz".to_owned(), "400"),
    ] {
        let text = probe.page(&format!("/probe?{query}"), status);
        assert!(text.len() < 200 && text.ends_with('\n'), "{query}: {text}");
    }
    let head = probe.ask(&format!("HEAD /probe?target={target} HTTP/1.1\r\nHost: a\r\n\r\n"));
    assert!(head.starts_with("HTTP/1.1 405 "), "{head}");
    let own = Exposition::read(&probe.page("/metrics", "200"));
    assert_eq!(own.count("linerate_probes_refused_total{reason=\"forbidden\"}"), 2);
    assert_eq!(own.count("linerate_probes_refused_total{reason=\"invalid\"}"), 6);
    assert_eq!(own.count("linerate_probes_total{result=\"success\"}"), 0);
    run(linerate("probe")).assert_refusal(2, &["--allow"]);
}

#[test]
fn tests_of_one_host_follow_each_other_and_too_many_are_refused() {
    let server = Server::start_with("--bind 127.0.0.1 --one-at-a-time");
    let probe = Probe::start(&server.address.to_string(), "--max-tests 4");
    let path = format!("/probe?target={}&time=300ms", server.address);
    let begun = Instant::now();
    let answers: Vec<_> = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..24).map(|_| scope.spawn(|| probe.get(&path))).collect();
        asked.into_iter().map(|one| one.join().expect("an answer")).collect()
    });
    let with = |words: &str| answers.iter().filter(|answer| answer.contains(words)).count();
    let succeeded = with("\nlinerate_run_success 1\n");
    assert_eq!(succeeded + with("HTTP/1.1 503 "), 24, "{answers:?}");
    assert!((2..=15).contains(&succeeded), "{succeeded}");
    assert!(begun.elapsed() >= Duration::from_millis(300) * u32::try_from(succeeded).expect("few"));
    // None of them met another one.
    assert_eq!(with("\nlinerate_run_success 0\n"), 0, "{answers:?}");
}

#[test]
fn a_host_that_does_not_answer_holds_up_no_test_of_another() {
    let server = Server::start();
    let silent = free_port();
    let allowed = format!("{} --allow 127.0.0.1:{silent}", server.address);
    let probe = Probe::start(&allowed, "--max-tests 1");
    let path = |port: u16| format!("/probe?target=127.0.0.1:{port}&time=200ms");
    assert!(probe.get(&path(silent)).contains("\nlinerate_run_success 0\n"), "it is closed");
    // The kernel takes connections, and nobody answers.
    let _listener = TcpListener::bind(("127.0.0.1", silent)).expect("it is free");
    let mut waits = probe.connect();
    write!(waits, "GET {} HTTP/1.1\r\nHost: a\r\n\r\n", path(silent)).expect("a connection");
    let running = || Exposition::read(&probe.page("/metrics", "200"));
    until("a test of it", || (running().count("linerate_probes_running") == 1).then_some(()));
    assert!(probe.get(&path(server.address.port())).contains("\nlinerate_run_success 1\n"));
    assert_eq!(running().count("linerate_probes_running"), 1, "the silent host is waited for");
}

#[test]
fn garbage_and_silence_keep_nobody_from_a_test() {
    let server = Server::start();
    let probe = Probe::start(&server.address.to_string(), "");
    let garbage =
        [&b"\x16\x03\x01\x02\x00"[..], b"GET /probe?target=", b"", b"POST / HTTP/1.1\r\n\r\n"];
    let silent: Vec<_> = (0..100)
        .map(|number| {
            let mut stream = probe.connect();
            // Who came too early to be kept may be closed already.
            _ = stream.write_all(garbage[number % 4]);
            stream
        })
        .collect();
    let path = format!("/probe?target={}&time=200ms", server.address);
    assert!(probe.get(&path).contains("\nlinerate_run_success 1\n"));
    // A client that goes away in the middle of its test.
    let mut gone = probe.connect();
    write!(gone, "GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").expect("a connection");
    drop(gone);
    assert!(probe.get(&path).contains("\nlinerate_run_success 1\n"));
    drop(silent);
    until("no connection left", || {
        let own = Exposition::read(&probe.page("/metrics", "200"));
        (own.count("process_open_fds") < 40 && own.count("linerate_probes_running") == 0)
            .then_some(())
    });
}

#[test]
fn every_metric_of_the_dashboard_is_exported() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/grafana/linerate.json");
    let dashboard: Value =
        serde_json::from_slice(&std::fs::read(file).expect("a dashboard")).expect("JSON");
    let mut named = BTreeSet::new();
    expressions(&dashboard, &mut |expression| named.extend(metrics(expression)));
    assert!(named.len() > 10, "{named:?}");
    let watched = free_port();
    let server = Server::start_with(&format!("--bind 127.0.0.1 --metrics 127.0.0.1:{watched}"));
    let probe = Probe::start(&server.address.to_string(), "");
    test(&server, "--tcp --send -t 200ms").assert_success();
    test(&server, "-u -b 1M -t 200ms").assert_ran_to_its_end();
    let metrics_of_server = Probe { running: None, address: ([127, 0, 0, 1], watched).into() };
    let path = |row: &str| format!("/probe?target={}&time=200ms&row={row}", server.address);
    let pages = [
        metrics_of_server.get("/metrics"),
        probe.get(&path("tcp-send")),
        probe.get(&path("udp-send")),
        probe.get(&path("tcp-latency")),
        probe.get("/metrics"),
    ];
    let exported: BTreeSet<_> = pages
        .iter()
        .flat_map(|page| page.lines())
        .filter_map(|line| line.split(['{', ' ']).next().map(str::to_owned))
        .collect();
    let missing: Vec<_> = named.difference(&exported).collect();
    assert!(missing.is_empty(), "{missing:?} of {exported:?}");
}

/// Hands all queries of a dashboard to `take`.
fn expressions(value: &Value, take: &mut dyn FnMut(&str)) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                match value.as_str().filter(|_| key == "expr" || key == "query") {
                    Some(expression) => take(expression),
                    None => expressions(value, take),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| expressions(value, take)),
        _ => {}
    }
}

/// The names of metrics in a query: of linerate and of its process.
fn metrics(expression: &str) -> impl Iterator<Item = String> {
    let words = expression.split(|one: char| !(one.is_ascii_alphanumeric() || one == '_'));
    let is_metric = |word: &&str| word.starts_with("linerate_") || word.starts_with("process_");
    words.filter(is_metric).map(str::to_owned)
}

/// A `linerate probe`, or another program that speaks HTTP.
struct Probe {
    #[expect(dead_code, reason = "it ends with this value")]
    running: Option<Running>,
    address: SocketAddr,
}

impl Probe {
    fn start(allow: &str, options: &str) -> Self {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        let command = format!("probe --allow {allow} --listen {address} {options}");
        let running = Some(Running::start(linerate(&command)));
        until("a listening probe", || TcpStream::connect(address).ok());
        Self { running, address }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream
    }

    fn ask(&self, request: &str) -> String {
        let (mut stream, mut answer) = (self.connect(), String::new());
        stream.write_all(request.as_bytes()).expect("a connection");
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    fn get(&self, path: &str) -> String {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"))
    }

    /// The body of an answer with this status.
    fn page(&self, path: &str, status: &str) -> String {
        let answer = self.get(path);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {answer}");
        answer.split_once("\r\n\r\n").expect("a head").1.to_owned()
    }

    fn measure(&self, query: &str) -> Exposition {
        Exposition::read(&self.page(&format!("/probe?{query}"), "200"))
    }
}
