//! `linerate search` on hosts whose limit is known: the rate of a shaper on the way lies between the
//! bounds, and a receiver, a sender, an overload that collapses and a board are told from it.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use lab::{Delivery, DeliveryCurve, Host, Impairment, LinkSpec, Rate};
use measurement::{GoalResult, Role, SearchLimit, SearchRecord};
use testbed::process::Running;
use testbed::topology::{Path, Topology};
use testbed::workload::PORT;

mod board;

use super::Outcome;
use crate::hosts::plant::Group;
use crate::hosts::{Testbed, UnderTest, clean};

/// What is offered, and how deep the queue before the limit is.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Udp,
    /// UDP before a queue of 200 ms, which hides loss in a short trial.
    UdpBeforeQueue,
    /// Paced TCP.
    Tcp,
}

/// Each kind at each rate, so many times, then the other limits.
pub(super) fn run(under_test: &UnderTest, runs: u32, only: Option<&str>) -> Result<Vec<Outcome>> {
    let rates: &[u64] = if under_test.short { &[181] } else { &RATES };
    let is_wanted = |name: &str| only.is_none_or(|only| name.contains(only));
    let mut cases = Vec::new();
    for _ in 0..runs {
        for kind in [Kind::Udp, Kind::UdpBeforeQueue, Kind::Tcp] {
            for mbps in rates {
                let name = format!("{} at {mbps} Mbit/s", kind.name());
                if is_wanted(&name) {
                    cases.push(shaper(under_test, kind, *mbps, name)?);
                }
            }
        }
        for (name, case) in LIMITS {
            if is_wanted(name) {
                cases.push(case(under_test, name)?);
            }
        }
    }
    Ok(cases)
}

type Limit = fn(&UnderTest, &'static str) -> Result<Outcome>;

/// Limits that are no shaper on the way.
const LIMITS: [(&str, Limit); 5] = [
    ("receiver with little CPU", receiver),
    ("shaper of the sender", sender),
    ("overload that collapses", collapse),
    ("board that receives", board::receives),
    ("board that sends", board::sends),
];

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Udp => "udp",
            Self::UdpBeforeQueue => "udp, queue of 200 ms",
            Self::Tcp => "tcp",
        }
    }

    /// How long a packet may wait, as tc has it.
    const fn latency(self) -> &'static str {
        match self {
            Self::Udp | Self::Tcp => "20ms",
            Self::UdpBeforeQueue => "200ms",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Udp | Self::UdpBeforeQueue => "",
            Self::Tcp => "--tcp",
        }
    }

    /// The payload of a frame as tc-tbf(8) counts it, with headers as far as Ethernet's.
    const fn payload_of_frame(self) -> f64 {
        match self {
            Self::Udp | Self::UdpBeforeQueue => 1_472.0 / 1_514.0,
            // With time stamps (RFC 7323).
            Self::Tcp => 1_448.0 / 1_514.0,
        }
    }
}

fn shaper(under_test: &UnderTest, kind: Kind, mbps: u64, name: String) -> Result<Outcome> {
    let topology = Topology::router(&LinkSpec::default())?;
    let (near, far) = topology.router_ends()?;
    for end in [near, far] {
        shape(end, mbps, kind.latency())?;
    }
    let bed = Testbed::on(under_test, topology);
    let _server = bed.serve("")?;
    let record = search(&bed, kind.words())?;
    let truth = mbps as f64 * 1e6 * kind.payload_of_frame();
    let most_width = if mbps <= NARROW_UP_TO { 0.01 } else { 0.02 };
    let told: Vec<_> = record.goals.iter().map(|goal| told(goal, truth)).collect();
    let is_right = record.goals.iter().all(|goal| holds(goal, truth, most_width))
        && record.took <= LONGEST_SEARCH;
    let seen = format!("{:.1} s; {}", record.took.as_secs_f64(), told.join("; "));
    Ok(Outcome::show(name, seen, is_right))
}

/// Whether the bounds of a goal hold the truth, and are close.
fn holds(goal: &GoalResult, rate: f64, most_width: f64) -> bool {
    let truth = rate / (1.0 - goal.goal.loss_ratio);
    let (Some(lower), Some(upper), Some(width)) = (goal.lower, goal.upper, goal.width()) else {
        return false;
    };
    let bounds = lower.bits_per_second() as f64..=upper.bits_per_second() as f64;
    bounds.contains(&truth) && width <= most_width + ROUNDING
}

/// The bounds as shares of the truth: `0 %: 0.9950..1.0043`.
fn told(goal: &GoalResult, rate: f64) -> String {
    let truth = rate / (1.0 - goal.goal.loss_ratio);
    let share = |bound: Option<measurement::BitRate>| {
        bound.map_or("-".to_owned(), |rate| format!("{:.4}", rate.bits_per_second() as f64 / truth))
    };
    let loss = goal.goal.loss_ratio * 100.0;
    format!("{loss} %: {}..{} of the truth", share(goal.lower), share(goal.upper))
}

/// A server that has little CPU time: the verdict names its host.
fn receiver(under_test: &UnderTest, name: &'static str) -> Result<Outcome> {
    let Some(group) = Group::with_percent(RECEIVER_PERCENT)? else {
        return Ok(Outcome::show(name, "not run: no controller of CPU time here", true));
    };
    let bed = Testbed::new(under_test, Path::Veth)?;
    let mut serve = bed.far().command("sh");
    serve.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(group.door());
    serve.arg(&under_test.program).args(["serve", "--quiet"]);
    clean(&mut serve);
    let _server = bed.started(serve, SocketAddr::from((bed.address(), PORT)))?;
    let record = search(&bed, "--loss 0 --width 5%")?;
    let finding = record.evidence.as_ref().and_then(|record| record.judgement.as_ref());
    let finding = finding.and_then(|judgement| judgement.verdict.as_ref()?.findings.first());
    let names = finding.is_some_and(|finding| finding.host == Some(Role::Peer));
    Ok(Outcome::show(name, record.verdict.unwrap_or_default(), names))
}

/// A shaper at the interface of the sender takes no more than its rate: a ceiling.
fn sender(under_test: &UnderTest, name: &'static str) -> Result<Outcome> {
    let bed = Testbed::new(under_test, Path::Veth)?;
    shape(bed.near(), OTHERS_MBPS, "20ms")?;
    let _server = bed.serve("")?;
    let record = search(&bed, "--loss 0")?;
    let truth = OTHERS_MBPS as f64 * 1e6 * Kind::Udp.payload_of_frame();
    let told = record.goals.first().map(|goal| told(goal, truth)).unwrap_or_default();
    let seen = format!("{:?}; {told}; {}", record.limit, record.verdict.unwrap_or_default());
    Ok(Outcome::show(name, seen, record.limit == SearchLimit::Ceiling))
}

/// A device that passes 60 Mbit/s, and a third of that as soon as more arrives: a knee, and a
/// collapse beyond it.
fn collapse(under_test: &UnderTest, name: &'static str) -> Result<Outcome> {
    let rate = |mbps: u64| Rate::from_bits_per_second(mbps * 1_000_000).context("a rate");
    let point = |offered, delivered| {
        anyhow::Ok(Delivery { offered: rate(offered)?, delivered: rate(delivered)? })
    };
    let curve = DeliveryCurve::new(&[point(KNEE_MBPS, KNEE_MBPS)?, point(66, 20)?]);
    let there = Impairment { delivery: curve, queue_limit: QUEUE, ..Impairment::default() };
    let topology = Topology::relay(&LinkSpec::default(), there, Impairment::default())?;
    let bed = Testbed::on(under_test, topology);
    let _server = bed.serve("")?;
    let record = search(&bed, "--loss 0,1% --width 5%")?;
    let collapses = record.remarks.iter().any(|remark| remark.contains("collapses"));
    let truth = KNEE_MBPS as f64 * 1e6 * Kind::Udp.payload_of_frame();
    let holds_it = record.goals.first().is_some_and(|goal| holds(goal, truth, 0.05));
    let is_knee = record.limit == SearchLimit::Knee && holds_it;
    let told: Vec<_> = record.goals.iter().map(|goal| told(goal, truth)).collect();
    let seen = format!("{:?}; {}; {}", record.limit, told.join("; "), record.remarks.join("; "));
    Ok(Outcome::show(name, seen, collapses && is_knee))
}

/// Limits what leaves an interface to so many Mbit/s.
fn shape(end: &Host, mbps: u64, latency: &str) -> Result<()> {
    shape_to(end, mbps * 1_000_000, latency)
}

/// Limits what leaves an interface to so many bit/s: a burst of 4 ms, and a queue.
fn shape_to(end: &Host, rate: u64, latency: &str) -> Result<()> {
    let burst = rate / 8 * BURST_MILLIS / 1_000;
    let words = format!("tbf rate {rate}bit burst {burst} latency {latency}");
    let mut command = end.command("tc");
    command.args(["qdisc", "replace", "dev", end.interface(), "root"]);
    crate::command::output(command.args(words.split_whitespace())).map(drop)
}

fn search(bed: &Testbed<'_>, words: &str) -> Result<SearchRecord> {
    let ended = Running::captured(bed.search(words))?.finish(LONGEST)?;
    let code = ended.code().unwrap_or(-1);
    ensure!(matches!(code, 0 | 3), "the search ended with {code}: {}", ended.complaint());
    serde_json::from_str(&ended.stdout)
        .with_context(|| format!("no record of a search: {}", ended.complaint()))
}

const RATES: [u64; 4] = [37, 181, 600, 940];
/// In Mbit/s; the bounds of what is slower are within 1 %, else 2 %.
const NARROW_UP_TO: u64 = 181;
/// Of a width.
const ROUNDING: f64 = 0.000_1;
/// Promised of a search.
const LONGEST_SEARCH: Duration = Duration::from_secs(20);
const LONGEST: Duration = Duration::from_secs(60);
/// Of a token bucket, at its rate.
const BURST_MILLIS: u64 = 4;
/// What waits for a device at most, as long as for the shapers.
const QUEUE: Duration = Duration::from_millis(20);
/// Of a CPU.
const RECEIVER_PERCENT: u32 = 20;
const OTHERS_MBPS: u64 = 181;
/// Of the overload that collapses.
const KNEE_MBPS: u64 = 60;
