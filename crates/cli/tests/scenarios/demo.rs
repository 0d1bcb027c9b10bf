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
    let validator = jsonschema::validator_for(&schema::of_record_set()).expect("a schema");
    validator.validate(&set).unwrap_or_else(|error| panic!("{error}"));
    let records = set["records"].as_array().expect("records");
    assert_eq!(records.len(), 4);
    if !is_over_a_link(&set) {
        return skip("the demo could not make a link").unwrap_or_default();
    }
    for record in records {
        let rate = record["outcome"]["directions"][0]["delivered"]["rate"].as_f64().expect("rate");
        assert!((20e6..130e6).contains(&rate), "{rate}: {}", record["plan"]);
        assert_eq!(record["tags"]["demo"], "100.0 Mbit/s");
    }
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
    Running::start(command).finish(Duration::from_secs(60))
}

fn assert_shows_four_rows(finished: &Finished) {
    assert_eq!(finished.code, Some(0), "{finished:?}");
    for row in ["TCP send", "TCP receive", "UDP send", "UDP receive"] {
        assert!(finished.stdout.contains(row), "{finished:?}");
    }
    let remark = finished.stderr.trim_end();
    assert!(remark.contains("ink of ") && remark.ends_with(':'), "{finished:?}");
}

fn is_over_a_link(set: &Value) -> bool {
    let far = lab::FAR_IPV4.to_string();
    set["records"][0]["peer"]["address"].as_str().is_some_and(|text| text.starts_with(&far))
}
