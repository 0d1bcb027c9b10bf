//! One scenario: the link without the cause and with it, in turns.

use anyhow::{Context, Result, ensure};
use measurement::outcome::Ending;
use measurement::{BitRate, TestRecord};
use serde_json::{Value, json};
use std::path::Path;

use super::expected::Judged;
use super::kept;
use super::scenario::{Metric, Scenario};
use super::seen::Seen;
use super::setting::Setting;
use super::step::Step;
use crate::hosts::UnderTest;
use testbed::noise::{self, Noise, Reading};
use testbed::spread::median;

/// What runs scenarios, and how.
pub(crate) struct Runner<'a> {
    pub(crate) under_test: &'a UnderTest,
    /// Folder for the records of runs with a cause.
    pub(crate) keep: Option<&'a Path>,
    /// Asked between two runs.
    pub(crate) is_stopped: &'a dyn Fn() -> bool,
}

/// What came of a scenario.
pub(crate) struct Outcome {
    pub(super) scenario: String,
    pub(crate) expected: String,
    pub(super) is_control: bool,
    pub(crate) rounds: Vec<Round>,
    /// How much less the link came to with the cause, from 0 to 1; none: nothing is planted.
    pub(super) cost: Option<f64>,
}

/// One round of it.
pub(crate) struct Round {
    /// Without the cause; none: there is none.
    clean: Option<f64>,
    /// With it. None if the rate does not matter.
    planted: Option<f64>,
    pub(crate) judged: Judged,
    /// What others on this machine did meanwhile.
    pub(crate) noise: Noise,
    /// How often it was run until it was right or nobody disturbed it.
    pub(crate) attempts: u32,
}

impl Round {
    /// Others on this machine can hide a cause, or be one: what is wrong while a witness sees
    /// them at work is run again, both without the cause and with it. None: interrupted.
    fn settled(runner: &Runner<'_>, scenario: &Scenario) -> Result<Option<Self>> {
        let most = if runner.under_test.short { 1 } else { MOST_ATTEMPTS };
        let mut attempts = 1;
        loop {
            let Some(round) = Self::measure(runner, scenario, attempts)? else {
                return Ok(None);
            };
            if round.judged.is_settled(round.noise) || attempts == most {
                return Ok(Some(round));
            }
            attempts += 1;
            noise::wait()?;
        }
    }

    fn measure(runner: &Runner<'_>, scenario: &Scenario, attempts: u32) -> Result<Option<Self>> {
        let (under_test, is_stopped) = (runner.under_test, runner.is_stopped);
        let value = |seen: &Seen| value(seen.record()?, scenario.metric);
        let clean = if scenario.is_compared() {
            Some(value(&run(under_test, scenario, Planting::Absent)?)?)
        } else {
            None
        };
        if is_stopped() {
            return Ok(None);
        }
        let before = Reading::take()?;
        let seen = run(under_test, scenario, Planting::Present)?;
        let noise = Reading::take()?.noise_since(&before);
        if let Some(folder) = runner.keep {
            kept::keep(folder, scenario, seen.record()?)?;
        }
        let is_measured = clean.is_some() || scenario.is_control();
        let planted = is_measured.then(|| value(&seen)).transpose()?;
        let judged = scenario.expect.judge(&seen);
        let round = Self { clean, planted, judged, noise, attempts };
        Ok((!is_stopped()).then_some(round))
    }
}

impl Outcome {
    /// Runs it so many times.
    pub(crate) fn measure(
        runner: &Runner<'_>,
        scenario: &Scenario,
        times: u32,
    ) -> Result<Option<Self>> {
        let mut rounds = Vec::new();
        for _ in 0..times {
            let Some(round) = Round::settled(runner, scenario)? else {
                return Ok(None);
            };
            rounds.push(round);
        }
        Ok(Some(Self {
            scenario: scenario.name.clone(),
            expected: scenario.expect.shown(),
            is_control: scenario.is_control(),
            cost: cost(&rounds),
            rounds,
        }))
    }

    /// Whether the cause costs what a cause is to cost.
    pub(super) fn is_proven(&self) -> bool {
        self.cost.is_none_or(|cost| cost >= LEAST_COST)
    }

    pub(super) fn is_right(&self) -> bool {
        self.rounds.iter().all(|round| round.judged.is_right)
    }

    pub(super) fn as_json(&self) -> Value {
        let rounds = self.rounds.iter().map(|round| {
            json!({
                "clean": round.clean,
                "planted": round.planted,
                "right": round.judged.is_right,
                "attempts": round.attempts,
                "said": round.judged.json,
            })
        });
        json!({
            "scenario": self.scenario,
            "expected": self.expected,
            "cost": self.cost,
            "proven": self.is_proven(),
            "right": self.is_right(),
            "rounds": rounds.collect::<Vec<_>>(),
        })
    }
}

/// Whether the cause is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Planting {
    Absent,
    Present,
}

fn run(under_test: &UnderTest, scenario: &Scenario, planting: Planting) -> Result<Seen> {
    let mut steps: Vec<&Step> = scenario.base.iter().collect();
    if planting == Planting::Present {
        steps.extend(&scenario.plant);
    }
    let seen = run_steps(under_test, scenario, &steps).with_context(|| format!("{planting:?}"))?;
    // An INVALID result is one too, and a failed test: the cause may be why it is.
    let is_result = matches!(seen.code, 0 | 3) || planting == Planting::Present;
    ensure!(is_result, "the client ended with {}", seen.code);
    Ok(seen)
}

/// One command over a link of these steps; a test that failed has a record as well.
pub(super) fn run_steps(
    under_test: &UnderTest,
    scenario: &Scenario,
    steps: &[&Step],
) -> Result<Seen> {
    Setting::create(under_test, scenario, steps)?.run(scenario, steps)
}

/// What a run came to: bits per second, or a share of them.
pub(super) fn value(record: &TestRecord, metric: Metric) -> Result<f64> {
    if has_failed(record) {
        return Ok(0.0);
    }
    let rate = record.outcome.rate().context("no rate")?.bits_per_second() as f64;
    if metric == Metric::Delivered {
        return Ok(rate);
    }
    let asked = record.outcome.directions.iter().map(|one| one.asked);
    let asked = asked.map(|asked| asked.map(BitRate::bits_per_second)).sum::<Option<u64>>();
    let asked = asked.context("no rate was asked")? as f64;
    Ok(rate / asked.max(1.0))
}

/// Whether the test came to no end of its own: what was sent did not count as delivered.
pub(super) const fn has_failed(record: &TestRecord) -> bool {
    matches!(record.outcome.ending, Ending::Failed { .. })
}

/// By the median of the rounds with the cause and of those without.
fn cost(rounds: &[Round]) -> Option<f64> {
    let clean = rounds.iter().map(|round| round.clean).collect::<Option<Vec<_>>>()?;
    let planted = rounds.iter().map(|round| round.planted).collect::<Option<Vec<_>>>()?;
    let planted = median(planted)?;
    Some(1.0 - planted / median(clean)?.max(f64::MIN_POSITIVE))
}

/// Of what the link comes to without the cause: less is within what machines vary by.
const LEAST_COST: f64 = 0.1;
/// Of a round on a machine that is not quiet.
pub(super) const MOST_ATTEMPTS: u32 = 3;
