//! Tests that do not end as planned still tell what was measured.

use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

use crate::support::{Finished, Running, Server, json, linerate, test, under_way};

#[test]
fn a_server_that_is_killed_leaves_partial_numbers() {
    for row in ["--tcp --send -b 80M", "--tcp --receive -b 80M", "--udp --bidir -b 50M"] {
        let server = Server::start();
        let running = under_way(&server, &format!("{row} -t 60s --format details"));
        server.running.signal("KILL");
        let finished = soon(running);
        finished.assert_complaint(1, &["failed", "closed the control connection"]);
        finished.assert_prints(&["the numbers are partial"]);
    }
}

#[test]
fn datagrams_whose_fate_is_unknown_are_not_called_arrived() {
    let server = Server::start();
    let running = under_way(&server, "--udp --send -b 50M -t 60s --json");
    server.running.signal("KILL");
    let set = soon(running).json();
    assert_eq!(set["error"]["kind"], "failed");
    let outcome = &set["records"][0]["outcome"];
    assert_eq!(outcome["ending"]["state"], "failed");
    let direction = &outcome["directions"][0];
    assert!(direction["offered"]["bytes"].as_u64() > Some(0), "{direction}");
    assert!(direction["delivered"].is_null() && direction["datagrams"].is_null(), "{direction}");
}

#[test]
fn a_server_that_is_told_to_stop_lets_its_tests_end() {
    let server = Server::start();
    let running = under_way(&server, "--tcp --send -b 80M -t 60s --format details");
    server.running.signal("TERM");
    server.line_with("stops when 1 test has ended");
    let late = test(&server, "--tcp --send -t 100ms");
    late.assert_refusal(5, &["the server is busy"]);
    running.signal("INT");
    let finished = soon(running);
    assert_eq!(finished.code, Some(130), "{finished:?}");
    assert_partial(&finished);
    server.line_with("the client ended it");
    server.finish();
}

#[test]
fn a_server_waits_for_its_tests_no_longer_than_it_may() {
    let server = Server::start_with("--bind 127.0.0.1 --stop-timeout 500ms");
    let running = under_way(&server, "--tcp --send -b 80M -t 60s --format details");
    server.running.signal("TERM");
    soon(running).assert_complaint(1, &["the server was stopped; start it again"]);
    server.finish();
}

#[test]
fn a_server_that_is_stopped_ends_the_test_in_order() {
    let server = Server::start();
    let running = under_way(&server, "--tcp --send -b 80M -t 60s --format details");
    server.running.signal("TERM");
    server.line_with("a second signal ends it now");
    server.running.signal("TERM");
    let finished = soon(running);
    finished.assert_complaint(1, &["the server was stopped; start it again"]);
    finished.assert_prints(&["the numbers are partial"]);
    server.finish();
}

#[test]
fn ctrl_c_ends_the_test_and_shows_what_was_measured() {
    let server = Server::start();
    for row in ["--tcp --send -b 80M", "--udp --receive -b 50M", "--tcp --bidir -P 2 -b 20M"] {
        let finished = interrupted(&server, &format!("{row} -t 60s --format details"));
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(130), ""), "{finished:?}");
        assert_partial(&finished);
        // The receiver's word came too.
        assert!(!finished.stdout.contains("unknown"), "{finished:?}");
        server.line_with("the client ended it");
    }
    json(&server, "--tcp --send -t 100ms");
}

#[test]
fn ctrl_c_names_the_rows_that_were_not_run() {
    let server = Server::start();
    let finished = interrupted(&server, "--tcp -t 60s --repeat 3 --format details");
    let rows = "TCP receive 1/3, TCP send 2/3, TCP receive 2/3, TCP send 3/3 and 1 more";
    finished.assert_complaint(130, &["ended early, not run: ", rows]);
    assert_partial(&finished);
}

#[test]
fn ctrl_c_leaves_valid_json() {
    let server = Server::start();
    let finished = interrupted(&server, "-t 60s --json");
    assert_eq!(finished.code, Some(130), "{finished:?}");
    let record = finished.json();
    assert_eq!(record["schema"], "linerate/record/1");
    assert_eq!(record["outcome"]["ending"]["state"], "interrupted");
    assert!(record["outcome"]["directions"][0]["delivered"]["bytes"].as_u64() > Some(0));
}

#[test]
fn a_second_ctrl_c_does_not_wait_for_the_server() {
    let server = Server::start();
    let mut running = under_way(&server, "--tcp --send -b 80M -t 60s --format details");
    server.running.signal("STOP");
    running.signal("INT");
    // Long enough for one that waits for nothing to end.
    std::thread::sleep(Duration::from_millis(500));
    assert!(running.is_running(), "it waits for the server's numbers");
    running.signal("INT");
    let finished = soon(running);
    assert_eq!(finished.code, Some(130), "{finished:?}");
    assert_partial(&finished);
}

#[test]
fn ctrl_c_before_the_test_leaves_nothing_to_show() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let running = Running::start(linerate(&format!("test 127.0.0.1 --port {port}")));
    let _connection = listener.accept().expect("a connection");
    running.signal("INT");
    soon(running).assert_refusal(130, &["interrupted before the test began"]);
}

/// What is left of a test that was interrupted when it had begun.
fn interrupted(server: &Server, options: &str) -> Finished {
    let running = under_way(server, options);
    running.signal("INT");
    soon(running)
}

fn assert_partial(finished: &Finished) {
    let words = "the numbers are partial: the run was interrupted";
    finished.assert_prints(&[words]);
}

/// Nobody waits long for a program that is told to end.
fn soon(running: Running) -> Finished {
    let asked = Instant::now();
    let finished = running.finish_within(Duration::from_secs(50));
    assert!(asked.elapsed() < Duration::from_secs(30), "{:?}: {finished:?}", asked.elapsed());
    finished
}
