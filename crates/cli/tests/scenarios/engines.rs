//! Engines that were asked for by name.

use serde_json::Value;

use crate::support::{Server, json, test};

#[test]
fn every_pair_that_is_asked_for_moves_every_byte() {
    let server = Server::start();
    let pairs = [
        ("sendfile", "msg-trunc"),
        ("vmsplice", "splice"),
        ("zerocopy", "zerocopy-receive"),
        ("write", "read"),
        ("vmsplice", "msg-trunc"),
    ];
    for (send, receive) in pairs {
        let record = json(&server, &format!("--tcp --bidir -n 8M --engine {send},{receive}"));
        for outcome in directions(&record) {
            assert_eq!(outcome["engines"]["send"]["name"], send, "{outcome}");
            assert_eq!(outcome["engines"]["receive"]["name"], receive, "{outcome}");
            assert_eq!(outcome["delivered"]["bytes"], 8 << 20, "{outcome}");
        }
    }
}

#[test]
fn loopback_copies_what_was_not_to_be_copied_and_that_is_said() {
    let server = Server::start();
    let finished = test(&server, "--tcp --send -t 1s --engine zerocopy --format details");
    finished.assert_success();
    finished.assert_prints(&["sent by zerocopy, received by read"]);
    finished.assert_prints(&["the kernel copied 100 %"]);
}

#[test]
fn datagrams_in_pieces_keep_the_rate_a_few_at_once() {
    let server = Server::start();
    let options = "--udp --send -t 1s -b 50M -l 1000 --engine gso,gro";
    let record = json(&server, options);
    let outcome = &directions(&record)[0];
    assert_eq!(outcome["engines"]["send"]["name"], "gso", "{outcome}");
    assert_eq!(outcome["engines"]["receive"]["name"], "gro", "{outcome}");
    // Four where CPUs wake soon, and never more than a millisecond of the rate; a call holds 64.
    assert!(outcome["pacing"]["batches"]["p50"].as_u64() <= Some(6), "{outcome}");
}

#[test]
fn an_engine_that_cannot_be_used_is_an_error_here_and_replaced_there() {
    let server = Server::start();
    let options = "-t 1s -b 50M -l 40000 --engine gso --format details";
    let finished = test(&server, &format!("--udp --send {options}"));
    finished.assert_refusal(
        1,
        &["cannot use engine 'gso'", "a GSO packet would hold only one such datagram"],
    );
    let finished = test(&server, &format!("--udp --receive {options}"));
    finished.assert_success();
    let note = "gso cannot be used, sendmmsg was: a GSO packet would hold only one such datagram";
    finished.assert_prints(&[note]);
}

#[test]
fn the_fastest_are_found_by_short_tests() {
    let server = Server::start();
    let record = json(&server, "--tcp --send -t 1s --fastest");
    let trials = record["trials"]["engines"].as_array().expect("trials");
    assert!(trials.len() > 10, "{trials:#?}");
    let used = &directions(&record)[0]["engines"];
    let best = trials.iter().max_by_key(|trial| trial["delivered"].as_u64()).expect("trials");
    let has = |list: &Value, name: &Value| list.as_array().is_some_and(|list| list.contains(name));
    let usual = used["send"]["name"] == "write" && used["receive"]["name"] == "read";
    // The usual ones stay where others are no better.
    assert!(usual || has(&best["engines"], &used["send"]["name"]), "{used} {trials:#?}");
}

fn directions(record: &Value) -> &[Value] {
    record["outcome"]["directions"].as_array().expect("directions")
}
