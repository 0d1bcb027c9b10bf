//! A case measured: with all faults, and without each of them. What its removal gains is the
//! proof of a fault.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use measurement::TestRecord;
use serde_json::{Value, json};

use super::super::expected::Expected;
use super::super::kept;
use super::super::run::{MOST_ATTEMPTS, Runner, has_failed, run_steps};
use super::super::said::Said;
use super::case::Case;
use super::class::Class;
use super::written;
use testbed::noise::{self, Noise, Reading};
use testbed::spread::median;

/// What came of a case.
pub(super) struct Trial {
    pub(super) case: Case,
    /// Bits per second with all faults.
    planted: Vec<f64>,
    /// Those without each fault.
    without: Vec<Vec<f64>>,
    pub(super) said: Vec<Said>,
    pub(super) class: Class,
    pub(super) noise: Noise,
    pub(super) attempts: u32,
    pub(super) took: Duration,
}

impl Trial {
    /// What is wrong while others use the machine is run again. None: interrupted.
    pub(super) fn settled(runner: &Runner<'_>, case: &Case, repeats: u32) -> Result<Option<Self>> {
        let most = if runner.under_test.short { 1 } else { MOST_ATTEMPTS };
        let mut without = vec![Vec::new(); case.faults.len()];
        let (mut attempts, since) = (1, Instant::now());
        loop {
            let Some(mut trial) = Self::measure(runner, case, repeats, attempts, without)? else {
                return Ok(None);
            };
            trial.took = since.elapsed();
            let is_settled = trial.class == Class::Right || trial.noise.is_quiet();
            if is_settled || !trial.is_proven() || attempts == most {
                return Ok(Some(trial));
            }
            attempts += 1;
            // What is plain stays so while the verdict is asked for again.
            without = if trial.is_plain() {
                trial.without
            } else {
                vec![Vec::new(); trial.without.len()]
            };
            noise::wait()?;
        }
    }

    /// With all faults first: what arrives then may be proof enough that no fault costs anything.
    fn measure(
        runner: &Runner<'_>,
        case: &Case,
        repeats: u32,
        attempts: u32,
        without: Vec<Vec<f64>>,
    ) -> Result<Option<Self>> {
        let before = Reading::take()?;
        let Some(records) = plant(runner, case, repeats)? else { return Ok(None) };
        let noise = Reading::take()?.noise_since(&before);
        let planted: Vec<f64> = records.iter().map(rate).collect();
        let said: Vec<Said> = records.iter().map(Said::from_record).collect();
        let mut trial = Self {
            case: case.clone(),
            planted,
            without,
            said,
            class: Class::Wrong,
            noise,
            attempts,
            took: Duration::ZERO,
        };
        if !trial.prove(runner)? {
            return Ok(None);
        }
        if trial.is_proven() {
            trial.class = trial.judged();
            keep(runner, &trial, &records)?;
        }
        Ok(Some(trial))
    }

    /// Removes each fault, as often as it takes to tell what that gains; false: interrupted.
    fn prove(&mut self, runner: &Runner<'_>) -> Result<bool> {
        if self.case.faults.is_empty() || self.is_at_ceiling() || self.is_plain() {
            return Ok(true);
        }
        for length in [self.first(), Length::Whole] {
            if !remove_each(runner, &self.case, &mut self.without, length)? {
                return Ok(false);
            }
            if self.is_plain() || (length == Length::Whole && self.is_hopeless()) {
                break;
            }
        }
        Ok(true)
    }

    /// A rate that a burst could exceed at first, that slow start holds down for long, or that
    /// linerate searches for takes its time.
    fn first(&self) -> Length {
        let scene = &self.case.scene;
        let is_searched = !scene.is_tcp() && scene.asked.is_none();
        match scene.delay_ms() {
            _ if is_searched || self.case.faults.len() > 1 => Length::Whole,
            0 => Length::Quarter,
            1..=SHORT_MS => Length::Half,
            _ => Length::Whole,
        }
    }

    /// Whether so much arrives with all faults that none can cost what a fault is to cost.
    fn is_at_ceiling(&self) -> bool {
        let ceiling = self.case.scene.ceiling().map(|mbps| mbps as f64 * 1e6);
        let planted = self.planted.iter().copied().fold(f64::INFINITY, f64::min);
        ceiling.is_some_and(|most| planted * LEAST_GAIN > most)
    }

    /// Whether a further run without the faults would change nothing: one gains so much, and any
    /// other so much less, that runs do not vary by it.
    fn is_plain(&self) -> bool {
        let Some(best) = self.best().filter(|_| self.without.iter().all(|all| !all.is_empty()))
        else {
            return false;
        };
        let most = self.gain(best);
        let mut others = (0..self.without.len()).filter(|at| *at != best);
        most >= PLAIN_GAIN && others.all(|other| self.gain(other) < most / PLAIN_GAIN)
    }

    /// Whether the removal of a fault gains what a fault is to cost: by the medians, and in each
    /// pair of runs. A control has nothing to prove.
    pub(super) fn is_proven(&self) -> bool {
        self.case.faults.is_empty()
            || self
                .best()
                .is_some_and(|best| self.gain(best) >= LEAST_GAIN && self.least_gain(best) > 1.0)
    }

    /// The other pair of runs will not prove it either.
    fn is_hopeless(&self) -> bool {
        self.best().is_some_and(|best| self.gain(best) < HOPELESS_GAIN)
    }

    /// The fault whose removal gains most; none: there is none.
    pub(super) fn best(&self) -> Option<usize> {
        let all = 0..self.without.len();
        all.max_by(|one, other| self.gain(*one).total_cmp(&self.gain(*other)))
    }

    /// 1 where so much arrives with all faults that nobody looked.
    fn gain(&self, fault: usize) -> f64 {
        let with = median(self.planted.iter().copied()).unwrap_or(0.0);
        let without = median(self.without[fault].iter().copied());
        without.map_or(1.0, |without| without / with.max(LEAST_RATE))
    }

    fn least_gain(&self, fault: usize) -> f64 {
        let with = self.planted.iter().copied().fold(0.0, f64::max);
        let without = self.without[fault].iter().copied().fold(f64::INFINITY, f64::min);
        without / with.max(LEAST_RATE)
    }

    /// Each fault that is as much the cause as the best one is a right answer.
    fn expected(&self) -> Vec<Expected> {
        let Some(best) = self.best() else { return vec![Expected::Delivered] };
        let least = self.gain(best) / ALIKE;
        let faults = self.case.faults.iter().enumerate();
        let causes = faults.filter(|(at, _)| self.gain(*at) >= least.max(LEAST_GAIN));
        causes.map(|(_, fault)| fault.expected()).collect()
    }

    /// The class of most runs; of two that are as many, the worse.
    fn judged(&self) -> Class {
        let expected = self.expected();
        let mut classes: Vec<_> = self.said.iter().map(|said| Class::of(said, &expected)).collect();
        classes.sort_unstable();
        classes.get(classes.len() / 2).copied().unwrap_or(Class::Wrong)
    }

    /// Runs whose headline is the commonest one.
    pub(super) fn alike(&self) -> usize {
        let mut counts = BTreeMap::<String, usize>::new();
        for said in &self.said {
            *counts.entry(said.blame()).or_default() += 1;
        }
        counts.into_values().max().unwrap_or(0)
    }

    pub(super) fn is_false_alarm(&self) -> bool {
        self.case.faults.is_empty() && self.said.iter().any(|said| !said.alarms().is_empty())
    }

    /// The first verdict that is of the trial's class.
    pub(super) fn shown(&self) -> &Said {
        let expected = self.expected();
        let own = |said: &&Said| Class::of(said, &expected) == self.class;
        self.said.iter().find(own).unwrap_or(&self.said[0])
    }

    pub(super) fn expected_shown(&self) -> String {
        self.expected().iter().map(Expected::shown).collect::<Vec<_>>().join(" or ")
    }

    pub(super) fn gains(&self) -> Vec<f64> {
        (0..self.without.len()).map(|fault| self.gain(fault)).collect()
    }

    pub(super) fn as_json(&self) -> Value {
        json!({
            "case": self.case.id,
            "family": self.case.family,
            "planted": self.case.planted(),
            "test": self.case.scene.words(),
            "peer": self.case.peer,
            "expected": self.expected_shown(),
            "class": self.class.word(),
            "proven": self.is_proven(),
            "rates_planted": self.planted,
            "rates_without": self.without,
            "gains": self.gains(),
            "attempts": self.attempts,
            "seconds": self.took.as_secs_f64(),
            "others_cpu": self.noise.others,
            "stolen": self.noise.stolen,
            "alike": self.alike(),
            "said": self.said.iter().map(Said::as_json).collect::<Vec<_>>(),
        })
    }
}

/// How long a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Whole,
    Half,
    Quarter,
}

impl Length {
    const fn part(self) -> u32 {
        match self {
            Self::Whole => 1,
            Self::Half => 2,
            Self::Quarter => 4,
        }
    }
}

/// Adds one rate without each fault; false: interrupted.
fn remove_each(
    runner: &Runner<'_>,
    case: &Case,
    rates: &mut [Vec<f64>],
    length: Length,
) -> Result<bool> {
    for (fault, rates) in rates.iter_mut().enumerate() {
        rates.push(rate(&record(runner, case, Some(fault), length)?));
        if (runner.is_stopped)() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// None: interrupted.
fn plant(runner: &Runner<'_>, case: &Case, repeats: u32) -> Result<Option<Vec<TestRecord>>> {
    let mut records = Vec::new();
    for _ in 0..repeats {
        records.push(record(runner, case, None, Length::Whole)?);
        if (runner.is_stopped)() {
            return Ok(None);
        }
    }
    Ok(Some(records))
}

fn record(
    runner: &Runner<'_>,
    case: &Case,
    without: Option<usize>,
    length: Length,
) -> Result<TestRecord> {
    let steps = case.steps(without);
    let steps: Vec<_> = steps.iter().collect();
    let mut scenario = case.scenario(0);
    scenario.test = case.scene.words_for(case.scene.time() / length.part());
    Ok(run_steps(runner.under_test, &scenario, &steps)?.record()?.clone())
}

/// Bits per second that the receiver reports. A test that fails delivers nothing.
fn rate(record: &TestRecord) -> f64 {
    let delivered = record.outcome.directions.iter().filter_map(|one| one.delivered);
    if has_failed(record) {
        0.0
    } else {
        delivered.map(|one| one.rate.bits_per_second() as f64).sum()
    }
}

/// The records, and the scenario by which they can be judged again.
fn keep(runner: &Runner<'_>, trial: &Trial, records: &[TestRecord]) -> Result<()> {
    let Some(folder) = runner.keep else { return Ok(()) };
    let scenario = trial.case.scenario(trial.best().unwrap_or(0));
    for record in records {
        kept::keep(folder, &scenario, record)?;
    }
    written::write(folder, &scenario)
}

/// Of the rate with a fault, to that without it.
const LEAST_GAIN: f64 = 1.1;
const HOPELESS_GAIN: f64 = 1.02;
/// One pair of runs is enough for it.
const PLAIN_GAIN: f64 = 1.5;
/// One-way delay of a relay.
const SHORT_MS: u64 = 5;
/// Two gains whose ratio is less than this are the same.
const ALIKE: f64 = 1.1;
/// Bits per second: less is nothing.
const LEAST_RATE: f64 = 1.0;
