//! Rows of UDP without -b: the rate without loss is found, held and explained.

use std::time::Duration;

use lab::{Access, Host, Impairment, LinkSpec, Rate, Relayed, Routed, Shape};
use measurement::BitRate;
use serde_json::Value;

use crate::support::{
    Finished, Server, client, linerate_on, list, plain_iperf3, run, skip, test, typed,
};

#[test]
fn a_shaper_of_a_router_is_found_after_tcp_without_it_and_from_the_server() {
    let Some(routed) = routed(RATE) else { return };
    let _server = Server::start_on(&routed.far, "");
    for row in ["--send", "-u --send", "-u --receive", "-u --send -P 4"] {
        assert_found(&record(&routed.near, &routed.far, &format!("{row} -t 2s")));
    }
}

#[test]
fn a_policer_and_a_deep_queue_are_found() {
    for queue in [Duration::from_millis(1), Duration::from_millis(100)] {
        let Some(routed) = shaped(|shape| shape.latency = queue) else { return };
        let _server = Server::start_on(&routed.far, "");
        assert_found(&record(&routed.near, &routed.far, "-u --send"));
    }
}

#[test]
fn loss_by_chance_does_not_end_at_zero() {
    let lossy = Impairment { loss: 0.01, ..Impairment::default() };
    let Some(relayed) = relayed(lossy, 1) else { return };
    let _server = Server::start_on(&relayed.far, "");
    assert_found(&record(&relayed.near, &relayed.far, "-u --send -t 3s"));
}

#[test]
fn a_plain_iperf3_answers_the_trials_as_well() {
    let Some(routed) = routed(RATE) else { return };
    let Some(_) = plain_iperf3("--version") else { return };
    let mut command = routed.far.command("iperf3");
    command.args(["-s"]).stdout(std::process::Stdio::null());
    let mut server = testbed::process::Running::start(command).expect("an iperf3");
    let listens = testbed::port::await_listener(Some(&routed.far), 5201, &mut server);
    listens.expect("it listens");
    assert_found(&record(&routed.near, &routed.far, "-u --send"));
}

#[test]
fn the_search_on_a_fast_path_is_told() {
    let server = Server::start();
    for row in ["-u --send", "-u --receive", "-u --bidir", "-u --send -P 4"] {
        let finished = test(&server, &format!("{row} -t 1s --format details"));
        finished.assert_ran_to_its_end();
        finished.assert_prints(&["search", "  search: UDP", "; held "]);
    }
}

#[test]
fn without_any_limit_it_floods_and_says_so() {
    let server = Server::start();
    let finished = test(&server, "-u --send -b 0 -t 300ms --json");
    finished.assert_ran_to_its_end();
    assert!(finished.stderr.starts_with("linerate: -b 0: UDP is sent as fast"), "{finished:?}");
    assert!(finished.json()["trials"]["rate"].is_null() && finished.json()["plan"].is_object());
    let quiet = test(&server, "-u --send -b 0 -t 300ms --json --quiet");
    assert!(quiet.stderr.is_empty(), "{quiet:?}");
    let tcp = run(client(&server, "--tcp --send -b 0 -t 300ms --json"));
    assert!(tcp.stderr.is_empty(), "{tcp:?}");
}

/// Trials chose the rate of the test. How close to the limit it is on a quiet machine is a matter of
/// `cargo xtask proof rates`.
fn assert_found(row: &Value) {
    let search = &row["trials"]["rate"];
    assert!(search["held"].as_u64() > Some(0), "{}", brief(search));
    assert!(!list(&search["trials"]).is_empty(), "{}", brief(search));
    let row = typed(row);
    let held = row.trials.rate.as_ref().map(|search| search.held);
    assert_eq!(row.plan.asked(), held, "{:?}", row.plan);
    assert!(row.outcome.rate() > Some(BitRate::from_bits_per_second(0)), "{:?}", row.outcome);
}

/// The record of the last row.
fn record(near: &Host, far: &Host, options: &str) -> Value {
    let options = format!("test {} {options} --json", far.ipv4());
    let finished: Finished = run(linerate_on(near, &options));
    finished.assert_ran_to_its_end();
    let json = finished.json();
    json["records"].as_array().and_then(|rows| rows.last().cloned()).unwrap_or(json)
}

/// A search without the record of its trial.
fn brief(search: &Value) -> String {
    let mut search = search.clone();
    search["above"] = Value::Null;
    search.to_string()
}

fn routed(bits_per_second: u64) -> Option<Routed> {
    behind(Rate::from_bits_per_second(bits_per_second).map(Shape::with_rate))
}

/// The same path with another queue or bucket of tokens.
fn shaped(change: impl Fn(&mut Shape)) -> Option<Routed> {
    let mut shape = Shape::with_rate(Rate::from_bits_per_second(RATE)?);
    change(&mut shape);
    behind(Some(shape))
}

fn behind(shape: Option<Shape>) -> Option<Routed> {
    if let Access::Forbidden { reason } = lab::prepare() {
        return skip(&format!("no link can be made: {reason}"));
    }
    Some(Routed::create(&LinkSpec { shape, ..LinkSpec::default() }).expect("a router"))
}

fn relayed(impairment: Impairment, seed: u64) -> Option<Relayed> {
    if let Access::Forbidden { reason } = lab::prepare() {
        return skip(&format!("no link can be made: {reason}"));
    }
    let relayed = Relayed::create(&LinkSpec::default(), impairment, Impairment::default(), seed);
    Some(relayed.expect("a relay"))
}

const RATE: u64 = 10_000_000;
