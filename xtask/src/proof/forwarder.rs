//! A forwarder behind fast hosts that passes a rate of its own: every row names the path, and its
//! rate.

use std::time::Duration;

use anyhow::{Context, Result};
use lab::LinkSpec;
use measurement::verdict::Finding;
use measurement::{Certainty, RecordSet, RuleId, TestRecord, Transport};
use testbed::process::Running;
use testbed::topology::Topology;

use super::Outcome;
use crate::hosts::{Testbed, UnderTest};

/// What keeps the rate: a token bucket filter (tc-tbf(8)) at the router, in each direction. How long
/// its queue is decides what it looks like.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// A usual shaper.
    Shaper,
    /// A shaper whose queue is far too long (bufferbloat).
    Queue,
    /// As good as no queue: what is above the rate is dropped.
    Policer,
}

impl Kind {
    /// How long a packet may wait, as tc has it.
    const fn latency(self) -> &'static str {
        match self {
            Self::Shaper => "20ms",
            Self::Queue => "200ms",
            Self::Policer => "1ms",
        }
    }
}

/// Each kind at each rate in Mbit/s, several times; all rows of a run that has no option but its
/// length. The short form has one rate.
pub(super) fn run(under_test: &UnderTest, rates: &[u64]) -> Result<Vec<Outcome>> {
    let (rates, times) = if under_test.short { (&[181][..], 1) } else { (rates, TIMES) };
    let mut cases = Vec::new();
    for _ in 0..times {
        for mbps in rates {
            for kind in [Kind::Shaper, Kind::Queue, Kind::Policer] {
                cases.extend(rows(under_test, kind, *mbps)?);
            }
        }
    }
    Ok(cases)
}

fn rows(under_test: &UnderTest, kind: Kind, mbps: u64) -> Result<Vec<Outcome>> {
    let bed = Testbed::on(under_test, topology(kind, mbps)?);
    let _server = bed.serve("")?;
    let ended = Running::captured(bed.client("-t 2s"))?.finish(LONGEST)?;
    let set: RecordSet = serde_json::from_str(&ended.stdout)
        .with_context(|| format!("no records: {}", ended.complaint()))?;
    Ok(set.records.iter().map(|record| outcome(record, kind, mbps)).collect())
}

/// A router whose two interfaces are shaped.
fn topology(kind: Kind, mbps: u64) -> Result<Topology> {
    let topology = Topology::router(&LinkSpec::default())?;
    let (near, far) = topology.router_ends()?;
    for end in [near, far] {
        let words = format!("tbf rate {mbps}mbit burst 128kb latency {}", kind.latency());
        let mut command = end.command("tc");
        command.args(["qdisc", "replace", "dev", end.interface(), "root"]);
        crate::command::output(command.args(words.split_whitespace()))?;
    }
    Ok(topology)
}

/// Whether a row names the path as what limits, and its rate within a few hundredths.
fn outcome(record: &TestRecord, kind: Kind, mbps: u64) -> Outcome {
    let verdict = record.judgement.as_ref().and_then(|judgement| judgement.verdict.as_ref());
    let headline = verdict.and_then(|verdict| verdict.findings.first());
    let name = format!("{kind:?} of {mbps} Mbit/s, {}", record.plan.title());
    let rate = headline.and_then(|finding| rate_on_wire(record, finding)).unwrap_or(0.0);
    let is_near = (rate / (mbps as f64 * 1e6) - 1.0).abs() <= TOLERANCE;
    let names_the_path = headline.is_some_and(|finding| {
        finding.certainty == Certainty::Limit
            && finding.host.is_none()
            && finding.rule == RuleId::PathRateLimit
    });
    let sentence = verdict.map_or("no verdict", |verdict| verdict.sentence.as_str());
    let seen = format!("{:.1} Mbit/s; {sentence}", rate / 1e6);
    Outcome::show(name, seen, names_the_path && is_near)
}

/// The rate that a finding allows, with headers as far as Ethernet's.
fn rate_on_wire(record: &TestRecord, finding: &Finding) -> Option<f64> {
    let stream = record.streams.first()?;
    let (payload, headers) = match record.plan.transport {
        Transport::Tcp => (f64::from(stream.mss?), 66.0),
        Transport::Udp => (stream.block.bytes() as f64, 42.0),
    };
    let bound = finding.effect.bound()?.to.bits_per_second() as f64;
    Some(bound * (payload + headers) / payload)
}

const TIMES: u32 = 3;
/// Of the rate that was planted.
const TOLERANCE: f64 = 0.03;
const LONGEST: Duration = Duration::from_secs(120);
