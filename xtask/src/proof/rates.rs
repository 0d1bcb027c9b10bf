//! Rates that linerate finds behind a shaper: that of UDP without `-b`, and the knee of a sweep; and
//! what a diagnosis says of one.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use lab::{Impairment, LinkSpec, Rate, Shape};
use measurement::{BitRate, Direction, RecordSet, RuleId, TestRecord};
use testbed::process;
use testbed::topology::{Path, Topology, limited};

use super::Outcome;
use crate::hosts::{self, Testbed, UnderTest};

/// Every row behind each kind of queue, a path that loses at any rate, and a sweep.
pub(super) fn run(under_test: &UnderTest) -> Result<Vec<Outcome>> {
    let shape = Shape::with_rate(rate(SHAPER_MBPS)?);
    let millis = Duration::from_millis;
    let mut cases = Vec::new();
    for (name, words, shape, near) in [
        ("to the server", "-u --send", shape, NEAR),
        ("from the server", "-u --receive", shape, NEAR),
        ("of four streams", "-u --send -P 4", shape, NEAR),
        ("through a policer", "-u --send", Shape { latency: millis(1), ..shape }, NEAR),
        ("through a deep queue", "-u --send", Shape { latency: millis(100), ..shape }, NEAR),
        // Between trials the bucket fills again.
        ("after a large bucket", "-u --send", Shape { burst_bytes: LARGE, ..shape }, (0.7, 1.3)),
    ] {
        cases.push(held(under_test, name, words, shape, near)?);
    }
    cases.push(floor(under_test)?);
    cases.push(knee(under_test)?);
    cases.push(diagnosis(under_test)?);
    Ok(cases)
}

fn held(
    under_test: &UnderTest,
    name: &str,
    words: &str,
    shape: Shape,
    (least, most): (f64, f64),
) -> Result<Outcome> {
    let spec = LinkSpec { shape: Some(shape), ..LinkSpec::default() };
    let bed = Testbed::on(under_test, Topology::router(&spec)?);
    let record = measured(&bed, &format!("{words} -t 4s"))?;
    let held = search(&record)?.held.bits_per_second() as f64;
    // As tc-tbf(8) counts frames.
    let part = held / (SHAPER_MBPS as f64 * 1e6 * 1_472.0 / 1_514.0);
    let seen = format!("{part:.3} of what fits");
    Ok(Outcome::show(format!("rate {name}"), seen, (least..=most).contains(&part)))
}

/// A path that loses a hundredth at any rate: the search says so, and does not end at zero.
fn floor(under_test: &UnderTest) -> Result<Outcome> {
    let lossy = Impairment { loss: 0.01, ..Impairment::default() };
    let topology = Topology::relay(&LinkSpec::default(), lossy, Impairment::default())?;
    let bed = Testbed::on(under_test, topology);
    let record = measured(&bed, "-u --send -t 5s")?;
    let search = search(&record)?;
    let is_right = search.floor.is_some_and(|floor| (0.003..0.03).contains(&floor))
        && search.held >= BitRate::from_bits_per_second(4_900_000);
    let seen = format!("held {}, loss at any rate {:?}", search.held, search.floor);
    Ok(Outcome::show("loss by chance", seen, is_right))
}

fn knee(under_test: &UnderTest) -> Result<Outcome> {
    let bed = Testbed::on(under_test, Topology::cable(Path::Veth, &limited(50)?)?);
    let _server = bed.serve("")?;
    let set = records(bed.linerate("sweep", "--over rate=10M..80M -t 1s"))?;
    let point = |record: &TestRecord| Some((record.plan.asked()?, record.outcome.rate()?));
    let curve: Vec<_> = set.records.iter().filter_map(point).collect();
    let knee = analysis::knee(&curve).map(|at| curve[at].0);
    let is_right = knee == Some(BitRate::from_bits_per_second(40_000_000));
    Ok(Outcome::show("knee of a sweep", format!("{knee:?}"), is_right))
}

/// The rows that send more than a router lets through name it, after a slower run.
fn diagnosis(under_test: &UnderTest) -> Result<Outcome> {
    let bed = Testbed::on(under_test, Topology::router(&limited(50)?)?);
    let _server = bed.serve("")?;
    let set = records(bed.linerate("diagnose", "-t 2s -b 70M"))?;
    let rows = set
        .records
        .iter()
        .filter(|record| record.plan.direction == Direction::Send && record.question.is_none());
    let rules: Vec<_> = rows.map(first_rule).collect();
    let is_right =
        rules.len() == 2 && rules.iter().all(|rule| *rule == Some(RuleId::PathRateLimit));
    Ok(Outcome::show("diagnosis", format!("{rules:?}"), is_right))
}

fn measured(bed: &Testbed<'_>, words: &str) -> Result<TestRecord> {
    let _server = bed.serve("")?;
    hosts::record_of(bed.client(words))
}

fn first_rule(record: &TestRecord) -> Option<RuleId> {
    Some(record.judgement.as_ref()?.verdict.as_ref()?.findings.first()?.rule)
}

fn records(command: Command) -> Result<RecordSet> {
    let ended = process::finish(command, LONGEST)?;
    serde_json::from_str(&ended.stdout)
        .with_context(|| format!("no records: {}", ended.complaint()))
}

fn search(record: &TestRecord) -> Result<&measurement::RateSearch> {
    record.trials.rate.as_ref().context("no search for a rate")
}

fn rate(mbps: u64) -> Result<Rate> {
    Rate::from_bits_per_second(mbps * 1_000_000).context("a rate above zero")
}

const SHAPER_MBPS: u64 = 100;
/// Of what fits.
const NEAR: (f64, f64) = (0.95, 1.02);
/// A second of the rate.
const LARGE: u32 = 12_000_000;
const LONGEST: Duration = Duration::from_secs(60);
