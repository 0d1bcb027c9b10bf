//! The demonstration needs no second host and no privileges.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use measurement::schema;
use serde_json::Value;

use crate::support::{Finished, Running, children, eventually, linerate, run, skip, unprivileged};

#[test]
fn the_demo_tells_a_fault_and_proves_its_fix() {
    let finished = play(linerate("demo --link-rate 200M --time 1s --json"));
    finished.assert_ran_to_its_end();
    let set = finished.json();
    let validator = jsonschema::validator_for(&schema::record_set()).expect("a schema");
    validator.validate(&set).unwrap_or_else(|error| panic!("{error}"));
    let records = set["records"].as_array().expect("records");
    if !is_over_a_router(&set) {
        return skip("the demo could not make hosts").unwrap_or_default();
    }
    let [before, _, slow, fixed] = records.as_slice() else { panic!("four rows: {set}") };
    let rate = |record: &Value| {
        record["outcome"]["directions"][0]["delivered"]["rate_bits_per_second"].as_f64()
    };
    let rates = [before, slow, fixed].map(|record| rate(record).expect("a rate"));
    assert!((60e6..260e6).contains(&rates[0]), "{rates:?}");
    assert!(rates[1] < rates[0] / 4.0 && rates[2] > 4.0 * rates[1], "{rates:?}");
    assert_eq!(before["tags"]["demo"], "200.0 Mbit/s");
    let limit = &slow["judgement"]["verdict"]["findings"][0];
    assert_eq!(
        (&limit["rule"], &limit["host"]),
        (&"qdisc-limit".into(), &"here".into()),
        "{limit}"
    );
}

#[test]
fn the_demo_is_a_story_of_forty_lines() {
    assert_tells_the_story(&play(linerate("demo --time 500ms --quiet")));
}

#[test]
fn the_demo_needs_no_privileges() {
    let Some(command) = unprivileged("demo --time 500ms --quiet") else { return };
    assert_tells_the_story(&play(command));
}

#[test]
fn what_the_demo_prints_to_be_typed_works_while_it_waits() {
    let mut running = Running::start(linerate("demo --time 500ms --quiet --hold"));
    let is_command = |line: &str| line.ends_with(" linerate test 10.200.1.2");
    let Ok(line) = running.await_line(Duration::from_secs(40), is_command) else {
        let told = running.finish().stdout;
        assert!(told.contains("over loopback"), "{told}");
        return;
    };
    let enter = line.text.trim().trim_end_matches(" linerate test 10.200.1.2").to_owned();
    let mut words = enter.split_whitespace();
    let mut command = Command::new(words.next().expect("nsenter"));
    command.args(words).arg(env!("CARGO_BIN_EXE_linerate"));
    command.args(["test", "10.200.1.2", "--tcp", "--send", "-t", "300ms"]);
    run(command).assert_ran_to_its_end();
    running.signal("INT");
    assert_eq!(running.finish_within(Duration::from_secs(20)).code, Some(0));
}

#[test]
fn a_demo_that_is_killed_leaves_no_server() {
    let mut running = Running::start(linerate("demo --time 500ms --quiet --hold"));
    let is_command = |line: &str| line.ends_with(" linerate test 10.200.1.2");
    if running.await_line(Duration::from_secs(40), is_command).is_err() {
        let told = running.finish().stdout;
        assert!(told.contains("over loopback"), "{told}");
        return;
    }
    let servers = children(running.id());
    assert_eq!(servers.len(), 2, "one on each host");
    running.signal("KILL");
    running.finish();
    let is_there = |server: &u32| Path::new(&format!("/proc/{server}")).exists();
    eventually("end of the servers", || !servers.iter().any(is_there));
}

fn play(command: Command) -> Finished {
    Running::start(command).finish_within(Duration::from_secs(60))
}

fn assert_tells_the_story(finished: &Finished) {
    finished.assert_ran_to_its_end();
    let steps = ["1. Measure", "2. Plant a fault", "3. ", "and test again:", "4. Gain: ", "LIMIT"];
    finished.assert_prints(&steps);
    finished.assert_prints(&["linerate serve on one, linerate test HOST on the other"]);
    assert!(finished.stdout.lines().count() <= 40, "{finished:?}");
}

fn is_over_a_router(set: &Value) -> bool {
    let address = set["records"][0]["peer"]["address"].as_str();
    address.is_some_and(|text| text.starts_with("10.200.1."))
}
