//! Rows of UDP without -b: the rate without loss is found, held and explained.

use std::ops::RangeInclusive;
use std::time::Duration;

use lab::{Access, Host, Impairment, LinkSpec, Rate, Relayed, Routed, Shape};
use serde_json::Value;

use crate::support::{Finished, Server, client, linerate_on, plain_iperf3, run, skip, test};

#[test]
fn a_shaper_of_a_router_is_found_and_named() {
    let Some(routed) = routed(100_000_000) else { return };
    let _server = Server::start_on(&routed.far, "");
    let set = within_five_percent(FITS, || records(&routed.near, &routed.far, "--send -t 4s"));
    let verdict = &set["judgement"]["verdict"];
    assert_eq!(verdict["findings"][0]["rule"], "path-rate-limit", "{verdict}");
}

#[test]
fn without_tcp_and_from_the_server_it_is_found_as_well() {
    let Some(routed) = routed(100_000_000) else { return };
    let _server = Server::start_on(&routed.far, "");
    for row in ["-u --send", "-u --receive", "-u --send -P 4"] {
        let options = format!("{row} -t 4s");
        within_five_percent(FITS, || records(&routed.near, &routed.far, &options));
    }
}

#[test]
fn a_policer_and_a_deep_queue_are_found() {
    for queue in [Duration::from_millis(1), Duration::from_millis(100)] {
        let Some(routed) = shaped(|shape| shape.latency = queue) else { return };
        let _server = Server::start_on(&routed.far, "");
        let row = within_five_percent(FITS, || records(&routed.near, &routed.far, "-u --send"));
        assert_eq!(row["rate_search"]["end"], "loss", "{}", row["rate_search"]);
    }
}

#[test]
fn what_a_large_bucket_of_tokens_lets_pass_is_not_held() {
    let Some(routed) = shaped(|shape| shape.burst_bytes = 12_000_000) else { return };
    let _server = Server::start_on(&routed.far, "");
    let held = || records(&routed.near, &routed.far, "-u --send -t 5s");
    // Between trials the bucket fills again.
    within((0.7 * FITS)..=(1.3 * FITS), held);
}

#[test]
fn loss_by_chance_does_not_end_at_zero() {
    let lossy = Impairment { loss: 0.01, ..Impairment::default() };
    let mut told = Vec::new();
    // The control connection loses too: trials may be few.
    for seed in 1..=SEEDS {
        let Some(relayed) = relayed(lossy, seed) else { return };
        let _server = Server::start_on(&relayed.far, "");
        let row = records(&relayed.near, &relayed.far, "-u --send -t 5s");
        let search = &row["rate_search"];
        assert!(search["held"].as_f64() >= Some(4.9e6), "{}", brief(search));
        match search["floor"].as_f64() {
            Some(floor) => return assert!((0.003..0.03).contains(&floor), "{}", brief(search)),
            None => told.push(brief(search)),
        }
    }
    panic!("no floor: {told:#?}");
}

#[test]
fn a_plain_iperf3_answers_the_trials_as_well() {
    let Some(routed) = routed(100_000_000) else { return };
    let Some(_) = plain_iperf3("--version") else { return };
    let mut command = routed.far.command("iperf3");
    command.args(["-s"]).stdout(std::process::Stdio::null());
    let mut server = testbed::process::Running::start(command).expect("an iperf3");
    let listens = testbed::port::await_listener(Some(&routed.far), 5201, &mut server);
    listens.expect("it listens");
    let row = within_five_percent(FITS, || records(&routed.near, &routed.far, "-u --send"));
    let trials = row["rate_search"]["trials"].as_array().map_or(0, Vec::len);
    assert!(trials <= 9, "{}", brief(&row["rate_search"]));
}

#[test]
fn a_fast_path_ends_in_time_and_the_search_is_told() {
    let server = Server::start();
    for row in ["-u --send", "-u --receive", "-u --bidir", "-u --send -P 4"] {
        let finished = test(&server, &format!("{row} -t 2s --format details"));
        finished.assert_ran_to_its_end();
        assert!(finished.took < Duration::from_secs(4), "{row}: {finished:?}");
        finished.assert_prints(&["search", "  search: UDP", "; held "]);
    }
}

#[test]
fn without_any_limit_it_floods_and_says_so() {
    let server = Server::start();
    let finished = test(&server, "-u --send -b 0 -t 300ms --json");
    finished.assert_ran_to_its_end();
    assert!(finished.stderr.starts_with("linerate: -b 0: UDP is sent as fast"), "{finished:?}");
    assert!(finished.json()["rate_search"].is_null() && finished.json()["plan"].is_object());
    let quiet = test(&server, "-u --send -b 0 -t 300ms --json --quiet");
    assert!(quiet.stderr.is_empty(), "{quiet:?}");
    let tcp = run(client(&server, "--tcp --send -b 0 -t 300ms --json"));
    assert!(tcp.stderr.is_empty(), "{tcp:?}");
}

/// The last row of a run that finds about so many bit/s. A machine that does something else in the
/// wrong moment loses datagrams, and gets another try.
fn within_five_percent(bits_per_second: f64, run: impl Fn() -> Value) -> Value {
    within(0.95 * bits_per_second..=1.02 * bits_per_second, run)
}

fn within(rates: RangeInclusive<f64>, run: impl Fn() -> Value) -> Value {
    let mut told = Vec::new();
    for _ in 0..ATTEMPTS {
        let row = run();
        let held = row["rate_search"]["held"].as_f64().expect("a search");
        if rates.contains(&held) {
            return row;
        }
        told.push(brief(&row["rate_search"]));
    }
    panic!("none is in {rates:?}: {told:#?}");
}

/// The record of the last row.
fn records(near: &Host, far: &Host, options: &str) -> Value {
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

/// A path of 100 Mbit/s with another queue or bucket of tokens.
fn shaped(change: impl Fn(&mut Shape)) -> Option<Routed> {
    let mut shape = Shape::with_rate(Rate::from_bits_per_second(100_000_000)?);
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

/// Payload of 100 Mbit/s of frames of Ethernet with their headers, as shapers count.
const FITS: f64 = 100e6 * 1472.0 / 1514.0;
const ATTEMPTS: usize = 3;
const SEEDS: u64 = 5;
