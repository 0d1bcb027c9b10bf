//! The search for throughput on simulated devices, beside MLRsearch, the reference implementation on
//! PyPI: trials, seconds and bounds that hold the truth, at equal goals.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use analysis::search::{NextTrial, SearchLimits, ThroughputSearch};
use anyhow::{Context, Result, ensure};
use clap::Args;
use fastrand::Rng;
use measurement::{BitRate, SearchGoal, SearchTrial, Stamp};
use serde::{Deserialize, Serialize};

use crate::output::say;
use crate::workspace::Workspace;
use crate::{command, python};

/// Compares the search for throughput with MLRsearch of PyPI, on simulated devices
#[derive(Debug, Args)]
pub(crate) struct Search {
    /// Devices of each kind
    #[arg(long, default_value_t = 1_000)]
    devices: u32,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A Python that has the package MLRsearch [default: one in an environment below target]
    #[arg(long, value_name = "FILE")]
    python: Option<PathBuf>,
}

/// What both programs are given.
#[derive(Debug, Serialize)]
struct Given<'a> {
    law: &'a Law,
    devices: &'a [Device],
}

/// What holds for all devices.
#[derive(Debug, Serialize)]
struct Law {
    goals: Vec<SearchGoal>,
    /// In bit/s.
    min_load: f64,
    max_load: f64,
    datagram_bits: f64,
    /// Standard deviation of the rate from trial to trial, as a share of it.
    jitter: f64,
    /// What a trial takes beside its traffic.
    overhead_seconds: f64,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Device {
    /// What it forwards, in bit/s.
    rate: f64,
    /// What its queue holds, at its rate.
    queue_seconds: f64,
    seed: u64,
}

/// What a search found on a device.
#[derive(Clone, Debug, Deserialize)]
struct Found {
    /// Lower and upper bound of each goal, in bit/s.
    bounds: Vec<[Option<f64>; 2]>,
    trials: u32,
    seconds: f64,
}

impl Search {
    pub(crate) fn run(self) -> Result<String> {
        let python = match self.python {
            Some(python) => python,
            None => environment(&Workspace::find()?)?,
        };
        let law = law();
        for (kind, queue) in QUEUES {
            let mut rng = Rng::with_seed(self.seed);
            let device = |_| Device {
                rate: 10_f64.powf(7.0 + 3.0 * rng.f64()),
                queue_seconds: queue,
                seed: u64::from(rng.u32(..)),
            };
            let devices: Vec<_> = (0..self.devices).map(device).collect();
            say(format!("{} devices {kind}:", devices.len()));
            let own: Vec<_> = devices.iter().map(|device| search(&law, device)).collect();
            show("linerate", &law, &devices, &own);
            let theirs = reference(&python, &Given { law: &law, devices: &devices })?;
            show("MLRsearch", &law, &devices, &theirs);
        }
        Ok("bench search: done".to_owned())
    }
}

fn law() -> Law {
    Law {
        goals: [0.0, 0.001, 0.01].map(SearchGoal::of_loss).to_vec(),
        min_load: 100e3,
        max_load: 100e9,
        datagram_bits: 11_776.0,
        jitter: 0.000_5,
        overhead_seconds: 0.04,
    }
}

/// Whether the bounds of a goal on a device are as they should be.
type Check = fn(&Device, &SearchGoal, [Option<f64>; 2]) -> bool;

/// A line of what came of all devices.
fn show(name: &str, law: &Law, devices: &[Device], found: &[Found]) {
    let count = found.len().max(1) as f64;
    let mean = |of: &dyn Fn(&Found) -> f64| found.iter().map(of).sum::<f64>() / count;
    let longest = found.iter().map(|one| one.seconds).fold(0.0, f64::max);
    let share = |is_one: Check| {
        let all = devices.iter().zip(found).flat_map(|(device, found)| {
            law.goals.iter().zip(&found.bounds).map(move |(goal, bounds)| (device, goal, *bounds))
        });
        let (right, all) = all.fold((0_u32, 0_u32), |(right, all), (device, goal, bounds)| {
            (right + u32::from(is_one(device, goal, bounds)), all + 1)
        });
        100.0 * f64::from(right) / f64::from(all.max(1))
    };
    say(format!(
        "  {name:<10} {:5.1} trials, {:5.1} s (at most {longest:.1} s), bounds hold the truth {:.1} %, \
         within the width {:.1} %",
        mean(&|one| f64::from(one.trials)),
        mean(&|one| one.seconds),
        share(holds),
        share(is_narrow),
    ));
}

/// Whether the bounds hold the truth, but for the jitter.
fn holds(device: &Device, goal: &SearchGoal, [lower, upper]: [Option<f64>; 2]) -> bool {
    let truth = device.rate / (1.0 - goal.loss_ratio);
    let lower = lower.is_some_and(|lower| lower <= truth * (1.0 + TOLERANCE));
    lower && upper.is_some_and(|upper| upper >= truth * (1.0 - TOLERANCE))
}

/// Whether they are as close as was asked; MLRsearch takes shares of the upper bound.
fn is_narrow(_: &Device, goal: &SearchGoal, [lower, upper]: [Option<f64>; 2]) -> bool {
    let width = lower.zip(upper).map(|(lower, upper)| upper / lower - 1.0);
    width.is_some_and(|width| width <= goal.width_ratio * 1.02)
}

fn search(law: &Law, device: &Device) -> Found {
    let mut rng = Rng::with_seed(device.seed);
    let bits = |bits: f64| BitRate::from_bits_per_second(whole(bits));
    let limits = SearchLimits {
        start: bits(10e6),
        min: bits(law.min_load),
        max: bits(law.max_load),
        budget: BUDGET,
        datagram_bytes: Some(whole(law.datagram_bits / 8.0)),
    };
    let mut trials = Vec::new();
    while let Some(next) = ThroughputSearch::new(&law.goals, limits, &trials).next() {
        trials.push(device.trial(law, &next, &mut rng));
    }
    let results = ThroughputSearch::new(&law.goals, limits, &trials).results();
    let bound = |rate: Option<BitRate>| rate.map(|rate| rate.bits_per_second() as f64);
    Found {
        bounds: results.iter().map(|one| [bound(one.lower), bound(one.upper)]).collect(),
        trials: u32::try_from(trials.len()).unwrap_or(u32::MAX),
        seconds: trials.iter().map(|trial| trial.took.as_secs_f64()).sum(),
    }
}

impl Device {
    /// A trial, by the law that the reference's script has, too; with what a queue delays.
    fn trial(&self, law: &Law, next: &NextTrial, rng: &mut Rng) -> SearchTrial {
        // About a normal distribution (Irwin-Hall).
        let normal = (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
        let rate = self.rate * (1.0 + law.jitter * normal);
        let seconds = next.duration.as_secs_f64();
        let load = next.load.bits_per_second() as f64;
        let sent = (load * seconds / law.datagram_bits).floor().max(1.0);
        let excess = ((load - rate) * seconds).max(0.0);
        let queued = excess.min(self.queue_seconds * rate);
        let lost = ((excess - queued) / law.datagram_bits).floor().min(sent);
        let delay = queued / rate;
        let bits = |bits: f64| BitRate::from_bits_per_second(whole(bits));
        SearchTrial {
            purpose: next.purpose,
            intended: next.load,
            offered: next.load,
            delivered: bits((sent - lost) * law.datagram_bits / (seconds + delay)),
            sustained: None,
            duration: next.duration,
            took: next.duration + Duration::from_secs_f64(law.overhead_seconds),
            datagrams: Some(whole(sent)),
            lost_ratio: lost / sent,
            delay: Duration::from_secs_f64(delay),
            stamp: Stamp::Valid,
            disturbed: false,
        }
    }
}

/// What MLRsearch finds.
fn reference(python: &Path, given: &Given<'_>) -> Result<Vec<Found>> {
    let mut command = Command::new(python);
    command.args(["-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().context("cannot run Python")?;
    let text = serde_json::to_vec(given)?;
    child.stdin.take().context("no standard input")?.write_all(&text)?;
    let ended = child.wait_with_output()?;
    ensure!(ended.status.success(), "MLRsearch ended with {}", ended.status);
    Ok(serde_json::from_slice(&ended.stdout)?)
}

/// An environment with the package below `target`.
fn environment(workspace: &Workspace) -> Result<PathBuf> {
    let python = python::environment(&workspace.target.join("mlrsearch"))?;
    command::run(python::pip(&python, "install").arg(PACKAGE))?;
    Ok(python)
}

/// To the next whole number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

const SCRIPT: &str = include_str!("search/reference.py");
const PACKAGE: &str = "MLRsearch==1.2.1";
/// Seconds that the queue of a device holds.
const QUEUES: [(&str, f64); 2] = [("without a queue", 0.0), ("with a queue of 50 ms", 0.05)];
/// Of the truth: three times the jitter.
const TOLERANCE: f64 = 0.001_5;
const BUDGET: Duration = Duration::from_secs(60);
