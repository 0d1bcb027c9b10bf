//! Ctrl-C and the like end a run, and what was measured is there.

use serde_json::{Value, json};

use crate::peer::ByHand;
use crate::support::{Finished, Running, Server, client, side_by_side, under_way};

#[test]
fn a_client_told_to_end_prints_what_it_has() {
    side_by_side(SIGNALS, |(name, word)| {
        let (finished, server) = interrupted("", name);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let words = format!("iperf3: interrupt - the client has terminated by signal {word}\n");
        assert_eq!(finished.stderr, words);
        assert!(finished.stdout.contains("0.00-0.") && finished.stdout.contains("sender"));
        let text = server.stop().stdout;
        assert!(text.contains("(test #2)"), "it serves on: {text}");
    });
}

#[test]
fn a_client_told_to_end_prints_one_object() {
    side_by_side(SIGNALS, |(name, word)| {
        side_by_side(["-J", "-J -R", "-J -u", "-J -u --bidir"], |options| {
            let (finished, _server) = interrupted(options, name);
            let json =
                assert_partial(&finished, &format!("client has terminated by signal {word}"));
            assert!(json["linerate"]["outcome"].is_object(), "{json:#}");
        });
    });
}

#[test]
fn a_client_told_to_end_ends_its_events() {
    let (finished, _server) = interrupted("--json-stream", "TERM");
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let lines = finished.json_lines();
    for event in ["start", "interval", "error", "end"] {
        assert!(lines.iter().any(|line| line["event"] == event), "no {event}: {lines:#?}");
    }
}

#[test]
fn a_client_told_to_end_before_its_test_has_measured_nothing() {
    let server = ByHand::listen();
    let client = Running::start(client(server.port(), "-J"));
    let (_control, _) = server.greet();
    client.signal("TERM");
    let finished = client.finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let json = finished.json();
    assert_eq!(json["end"]["streams"], json!([]), "{json:#}");
    for sum in ["sum_sent", "sum_received"] {
        assert_eq!(json["end"][sum]["seconds"], 0, "{json:#}");
    }
}

#[test]
fn a_server_told_to_end_tells_its_client() {
    side_by_side(SIGNALS, |(name, word)| {
        let (server, client) = under_way("", "-J");
        server.running.signal(name);
        let finished = server.running.finish();
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let words = format!("iperf3: interrupt - the server has terminated by signal {word}\n");
        assert_eq!(finished.stderr, words);
        finished.assert_prints(&["receiver"]);
        let finished = client.finish();
        assert_eq!(finished.code, Some(1), "{finished:?}");
        assert_eq!(finished.json()["error"], "the server has terminated");
    });
}

#[test]
fn a_server_told_to_end_prints_one_object() {
    let (server, _client) = under_way("-J", "");
    server.running.signal("INT");
    assert_partial(&server.running.finish(), "server has terminated by signal Interrupt(2)");
}

#[test]
fn an_idle_server_ends_well_when_told_to() {
    side_by_side(SIGNALS, |(name, _)| {
        let server = Server::start("");
        server.running.signal(name);
        assert_eq!(server.running.finish().code, Some(0));
    });
}

/// A client that was told to end when it had measured, and its server.
fn interrupted(options: &str, signal: &str) -> (Finished, Server) {
    let (server, client) = under_way("", options);
    client.signal(signal);
    (client.finish(), server)
}

/// One object, with the error and with what there was.
fn assert_partial(finished: &Finished, words: &str) -> Value {
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let json = finished.json();
    assert_eq!(json["error"], format!("interrupt - the {words}"), "{json:#}");
    assert!(!json["intervals"].as_array().expect("intervals").is_empty(), "{json:#}");
    assert!(!json["end"]["streams"].as_array().expect("streams").is_empty(), "{json:#}");
    json
}

const SIGNALS: [(&str, &str); 3] =
    [("INT", "Interrupt(2)"), ("TERM", "Terminated(15)"), ("HUP", "Hangup(1)")];
