//! The demonstration needs no second host and no privileges.

use std::process::Command;
use std::time::Duration;

use measurement::schema;
use serde_json::Value;

use crate::support::{Finished, Running, linerate, skip, unprivileged};

#[test]
fn the_demo_measures_the_link_that_it_made() {
    let finished = play(linerate("demo --link-rate 100M --time 500ms --json"));
    finished.assert_success();
    let set = finished.json();
    let validator = jsonschema::validator_for(&schema::record_set()).expect("a schema");
    validator.validate(&set).unwrap_or_else(|error| panic!("{error}"));
    let records = set["records"].as_array().expect("records");
    if !is_over_a_link(&set) {
        return skip("the demo could not make a link").unwrap_or_default();
    }
    assert_eq!(records.len(), 7);
    for record in &records[..4] {
        let rate = record["outcome"]["directions"][0]["delivered"]["rate_bits_per_second"]
            .as_f64()
            .expect("rate");
        assert!((20e6..130e6).contains(&rate), "{rate}: {}", record["plan"]);
        assert_eq!(record["tags"]["demo"], "100.0 Mbit/s");
    }
}

#[test]
fn the_demo_names_the_faults_that_it_plants() {
    let set = play(linerate("demo --link-rate 100M --time 1s --json")).json();
    if !is_over_a_link(&set) {
        return skip("the demo could not make a link").unwrap_or_default();
    }
    let [crowded, small, hasty] = &set["records"].as_array().expect("records")[4..] else {
        panic!("three faults are planted: {set}")
    };
    for (record, place) in [(crowded, "sender_queue"), (small, "receiver_socket")] {
        let ledger = &record["judgement"]["directions"][0]["ledger"];
        let drops = ledger["drops"].as_array().expect("drops").iter();
        let greatest = drops.max_by_key(|drop| drop["datagrams"].as_u64()).expect("some were lost");
        assert_eq!(greatest["place"], place, "{ledger}");
        assert!(greatest["datagrams"].as_u64() > Some(0), "{ledger}");
    }
    let judgement = &hasty["judgement"];
    assert_eq!(judgement["stamp"], "INVALID", "{judgement}");
    assert_eq!(judgement["reasons"][0]["rule"], "sender-below-rate", "{judgement}");
}

#[test]
fn the_demo_shows_four_rows() {
    let finished = play(linerate("demo --time 300ms"));
    assert_shows_four_rows(&finished);
}

#[test]
fn the_demo_needs_no_privileges() {
    let Some(command) = unprivileged("demo --time 300ms") else { return };
    assert_shows_four_rows(&play(command));
}

fn play(command: Command) -> Finished {
    Running::start(command).finish_within(Duration::from_secs(60))
}

fn assert_shows_four_rows(finished: &Finished) {
    finished.assert_ran_to_its_end();
    finished.assert_prints(&["TCP send", "TCP receive", "UDP send", "UDP receive"]);
    let remark = finished.stderr.trim_end();
    assert!(remark.contains("ink of ") && remark.ends_with(':'), "{finished:?}");
}

fn is_over_a_link(set: &Value) -> bool {
    let far = lab::FAR_IPV4.to_string();
    set["records"][0]["peer"]["address"].as_str().is_some_and(|text| text.starts_with(&far))
}
