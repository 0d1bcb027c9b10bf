//! Tests that cannot be, or that break off.

use std::net::{Ipv4Addr, Shutdown};

use serde_json::{Value, json};

use crate::peer::{
    COOKIE, CREATE_STREAMS, Control, PARAM_EXCHANGE, SERVER_ERROR, TEST_RUNNING, TEST_START, ask,
    open_stream, plain_test,
};
use crate::support::{
    Finished, Running, Server, await_words, client, free_port, iperf3, run, side_by_side, under_way,
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
        let (server, client) = under_way("", &format!("-J {options}"));
        server.running.signal("KILL");
        let finished = client.finish();
        let json = assert_failed(&finished, "control socket has closed unexpectedly");
        assert!(!json["intervals"].as_array().expect("intervals").is_empty(), "{json:#}");
        assert_eq!(json["end"], json!({}), "{json:#}");
        assert!(json["linerate"]["outcome"].is_object(), "{json:#}");
    });
}

/// What a 3.21 server answers, too.
#[test]
fn a_client_that_breaks_the_test_off_is_told_why() {
    let unknown = "received an unknown control message (ensure other side is iperf3 and not iperf)";
    let closed = "the client has unexpectedly closed the connection";
    let cases: [(&[u8], u8, &str); 3] =
        [(&[99], 110, unknown), (&[12], 119, "the client has terminated"), (&[], 109, closed)];
    side_by_side(cases, |(last_word, code, words)| {
        let server = Server::start("-1");
        let (mut control, answer) = ask(server.port, &plain_test());
        assert_eq!(answer, Some(CREATE_STREAMS));
        let _stream = open_stream(server.port);
        assert_eq!([control.state(), control.state()], [TEST_START, TEST_RUNNING].map(Some));
        control.write(last_word);
        control.0.shutdown(Shutdown::Write).expect("a connection");
        assert_eq!(control.read(9), [SERVER_ERROR, 0, 0, 0, code, 0, 0, 0, 0], "{last_word:?}");
        drop(control);
        let said = server.running.finish();
        assert!(said.stderr.contains(words), "no '{words}': {said:?}");
    });
}

#[test]
fn a_server_has_no_more_of_a_client_that_it_refuses_than_its_reason() {
    let server = Server::start("-J -1 --server-max-duration 1");
    run(client(server.port, "-t 5")).assert_relayed("maximum permitted limit");
    let json = server.running.finish().json();
    let start: Vec<_> = json["start"].as_object().expect("an object").keys().collect();
    assert_eq!(start, ["connected", "version", "system_info"]);
    assert_eq!((&json["intervals"], &json["end"]), (&json!([]), &json!({})), "{json:#}");
    assert!(json["error"].as_str().is_some_and(|why| why.starts_with("error - client's")));
}

#[test]
fn a_cookie_is_any_text() {
    let server = Server::start("");
    let mut control = Control::connect((Ipv4Addr::LOCALHOST, server.port).into());
    control.write(&[b'x'; COOKIE.len()]);
    assert_eq!(control.state(), Some(PARAM_EXCHANGE));
}

#[test]
fn datagrams_of_a_client_that_does_not_say_how_long_they_are_have_room() {
    let server = Server::start("");
    assert_eq!(ask(server.port, &json!({"udp": true})).1, Some(CREATE_STREAMS));
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
