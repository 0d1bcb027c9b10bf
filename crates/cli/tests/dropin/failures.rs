//! Tests that cannot be, or that break off.

use serde_json::Value;

use crate::support::{
    Finished, Running, Server, await_words, client, free_port, iperf3, run, side_by_side,
};

#[test]
fn nobody_listens() {
    let port = free_port();
    run(client(port, "")).assert_error("unable to connect to server");
    assert_failed(&run(client(port, "-J")), "unable to connect to server");
    let finished = run(client(port, "--json-stream"));
    let errors = finished.json_lines();
    let error = errors.iter().find(|line| line["event"] == "error").expect("an event");
    assert!(error["data"].as_str().is_some_and(|why| why.contains("refused")), "{error}");
}

#[test]
fn nobody_has_that_name() {
    run(iperf3("-c nowhere.invalid")).assert_error("unable to connect to server");
    assert_failed(&run(iperf3("-c nowhere.invalid -J")), "unable to connect to server");
}

#[test]
fn a_server_tests_with_one_client_at_a_time() {
    let server = Server::start("");
    let mut first = Running::start(client(server.port, "-t 20 -b 10M -i 0.2"));
    await_words(&first, "0.00-0.");
    run(client(server.port, "-n 1M")).assert_error("the server is busy running a test");
    assert_failed(&run(client(server.port, "-n 1M -J")), "the server is busy running a test");
    assert!(first.is_running());
}

#[test]
fn a_server_that_was_killed_fails_the_test() {
    side_by_side(["", "-R", "-u", "-u -R"], |options| {
        let server = Server::start("");
        let options = format!("-J -i 0.2 -t 20 -b 10M {options}");
        let client = Running::start(client(server.port, &options));
        std::thread::sleep(std::time::Duration::from_millis(900));
        server.running.signal("KILL");
        let finished = client.finish();
        let json = assert_failed(&finished, "control socket has closed unexpectedly");
        assert!(!json["intervals"].as_array().expect("intervals").is_empty(), "{json:#}");
    });
}

#[test]
fn a_port_in_use_is_told_of() {
    let server = Server::start("");
    let finished = run(iperf3(&format!("-s -p {}", server.port)));
    finished.assert_error("Address already in use");
}

/// One object, with this error in it, and exit code 1.
fn assert_failed(finished: &Finished, words: &str) -> Value {
    assert_eq!(finished.code, Some(1), "{finished:?}");
    let json = finished.json();
    let error = json["error"].as_str().unwrap_or_default();
    assert!(error.contains(words), "no '{words}': {json:#}");
    json
}
