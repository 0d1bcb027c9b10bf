//! Which loads a device carries: a search in the terms of RFC 9971 (MLRsearch). It is a function of
//! its goals and of the trials so far: which trial is next, and what is known. It runs no trial.
//!
//! ```text
//!   ramp: x 4, until a load fails ---> estimate: a slight overload, whose rate of arrival is
//!                                      about the throughput
//!   for each goal: between the bounds around it, short trials first, then full-length ones at
//!   the two bounds, until RFC 9971 classifies them ---> beyond, and back below the knee
//! ```

use std::time::Duration;

use measurement::{BitRate, GoalEnd, GoalResult, SearchGoal, SearchTrial, TrialPurpose};

mod bounds;
mod classification;
mod estimate;
mod remarks;
#[cfg(test)]
mod simulation;
mod step;
#[cfg(test)]
mod tests;
mod trials;

pub(crate) use remarks::{disturbance, inversion};
pub use remarks::{limit, remarks};

use bounds::Bounds;
use estimate::Estimate;
use step::Step;
use trials::{Point, Trials};

/// Limits of a search: the loads that it may try, and the time that it may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchLimits {
    /// Load of the first trial: all streams of the direction together, payload.
    pub start: BitRate,
    /// The lowest load that is tried.
    pub min: BitRate,
    /// The highest load that is tried.
    pub max: BitRate,
    /// Time for all trials, their opening and end included.
    pub budget: Duration,
    /// Payload of a datagram in bytes; none: TCP.
    pub datagram_bytes: Option<u64>,
}

/// A search for the throughput of each goal, after some trials.
#[derive(Clone, Debug)]
pub struct ThroughputSearch<'a> {
    goals: &'a [SearchGoal],
    limits: SearchLimits,
    all: &'a [SearchTrial],
    trials: Trials,
    estimate: Option<Estimate>,
}

/// The trial that is due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NextTrial {
    /// Why it runs.
    pub purpose: TrialPurpose,
    /// Intended load of all streams of the direction together.
    pub load: BitRate,
    /// How long the sender is to send.
    pub duration: Duration,
}

impl<'a> ThroughputSearch<'a> {
    /// The search for `goals` after the trials `all`, in the order in which they ran.
    pub fn new(goals: &'a [SearchGoal], limits: SearchLimits, all: &'a [SearchTrial]) -> Self {
        let trials = Trials::new(all);
        let estimate = trials.estimate();
        Self { goals, limits, all, trials: trials.about(estimate), estimate }
    }

    /// The trial that is due; none: the search is complete, or what is due does not fit in its
    /// budget.
    pub fn next(&self) -> Option<NextTrial> {
        let due = self.due()?;
        let duration = due.duration.max(SHORTEST);
        let fits = self.trials.spent() + duration + self.trials.overhead() <= self.limits.budget;
        fits.then_some(NextTrial { duration, ..due })
    }

    /// The time that is left of the budget.
    pub fn left(&self) -> Duration {
        self.limits.budget.saturating_sub(self.trials.spent())
    }

    /// What is known for each goal, in their order.
    pub fn results(&self) -> Vec<GoalResult> {
        self.goals.iter().map(|goal| self.result(goal)).collect()
    }

    fn due(&self) -> Option<NextTrial> {
        if let Some(again) = self.trials.to_repeat() {
            return Some(again);
        }
        if let Some(ramp) = self.ramp() {
            return Some(ramp);
        }
        if let Some(estimate) = self.estimating() {
            return Some(estimate);
        }
        // A goal that loss at any load keeps out of reach is not to take the time of the others.
        let steps = self.goals.iter().map(|goal| self.step(goal));
        let (astray, usual): (Vec<_>, Vec<_>) = steps.partition(Step::is_astray);
        let bound = usual.iter().chain(&astray).find_map(Step::next);
        bound.or_else(|| self.beyond())
    }

    fn step<'s>(&'s self, goal: &'s SearchGoal) -> Step<'s> {
        let bounds = Bounds::new(goal, &self.trials, self.estimate);
        let (limits, trials, estimate) = (&self.limits, &self.trials, self.estimate);
        Step { goal, limits, trials, bounds, estimate }
    }

    /// The next load on the way up; none: a load was far too much, or the highest one passed.
    fn ramp(&self) -> Option<NextTrial> {
        let widest = self.widest()?;
        let is_end =
            |trial: &Point| trial.purpose != TrialPurpose::Ramp || trial.lacks(FAR_TOO_MUCH);
        if self.trials.any(is_end) {
            return None;
        }
        let has_failed = self.trials.any(|trial| trial.fails(&widest));
        let highest = self.trials.highest_load();
        let load = highest.map_or(self.limits.start.bits_per_second(), |load| match () {
            () if has_failed => load.saturating_add(load / 2),
            () if load >= FAST => load.saturating_mul(UP_WHEN_FAST),
            () => load.saturating_mul(UP),
        });
        let load = self.limits.within(load);
        let duration = widest.initial_trial.min(RAMP);
        (highest.is_none_or(|highest| highest < load)).then_some(NextTrial {
            purpose: TrialPurpose::Ramp,
            load: rate(load),
            duration,
        })
    }

    /// A slight overload for as long as a full-length trial, once a load failed. If it was none,
    /// since an overload gets less, another one as soon as the bounds of a goal are near each other.
    fn estimating(&self) -> Option<NextTrial> {
        let is_one = |trial: &&Point| trial.purpose == TrialPurpose::Estimate;
        let estimates: Vec<_> = self.trials.iter().filter(is_one).collect();
        let load = match estimates.as_slice() {
            [] => self.estimate?.rate * OVERLOAD,
            [one] if !one.is_overload() => self.goals.iter().find_map(|goal| {
                let bounds = Bounds::new(goal, &self.trials, self.estimate);
                let (lower, upper) = (bounds.lower()? as f64, bounds.upper()? as f64);
                (upper <= lower * AROUND).then_some(upper * SLIGHTLY_MORE)
            })?,
            _ => return None,
        };
        let load = self.limits.within(whole(load));
        let duration = self.widest()?.final_trial;
        Some(NextTrial { purpose: TrialPurpose::Estimate, load: rate(load), duration })
    }

    /// The goal with the highest loss ratio.
    fn widest(&self) -> Option<SearchGoal> {
        self.goals.iter().copied().max_by(|one, other| one.loss_ratio.total_cmp(&other.loss_ratio))
    }

    /// Overloads, to see what they do to the rate, and then a load that passed, to see whether it
    /// still does; only if a load failed.
    fn beyond(&self) -> Option<NextTrial> {
        let results = self.results();
        let upper = results.iter().filter_map(|result| result.upper).max()?.bits_per_second();
        let lower = results.iter().filter_map(|result| result.lower).min()?;
        let tried = |load: u64| {
            self.all.iter().any(|trial| {
                trial.purpose == TrialPurpose::Beyond && trial.intended.bits_per_second() == load
            })
        };
        let loads = BEYOND.map(|factor| self.limits.within(whole(upper as f64 * factor)));
        let due = loads.into_iter().find(|load| *load > upper && !tried(*load));
        let duration = self.widest()?.initial_trial * 2;
        if let Some(load) = due {
            return Some(NextTrial { purpose: TrialPurpose::Beyond, load: rate(load), duration });
        }
        let returned = self.all.iter().any(|trial| trial.purpose == TrialPurpose::Return);
        let next = NextTrial { purpose: TrialPurpose::Return, load: lower, duration };
        (!returned).then_some(next)
    }

    fn result(&self, goal: &SearchGoal) -> GoalResult {
        let step = self.step(goal);
        let (lower, upper) = step.bounds.relevant();
        let rates = (lower.map(rate), upper.map(rate));
        let near = self.trials.near(rates, goal.width_ratio);
        let mut result = GoalResult {
            goal: *goal,
            lower: rates.0,
            upper: rates.1,
            throughput: lower.map(|load| step.bounds.conditional_throughput(load)),
            trials: u32::try_from(near.len()).unwrap_or(u32::MAX),
            took: near.iter().map(|trial| trial.took).sum(),
            end: GoalEnd::Budget,
        };
        let is_narrow = result.width().is_some_and(|width| width <= goal.width_ratio * ROUNDING);
        result.end = match () {
            () if is_narrow => GoalEnd::Width,
            () if lower.is_some_and(|load| load >= self.limits.max.bits_per_second()) => {
                GoalEnd::MaxLoad
            }
            () if upper.is_some_and(|load| load <= self.limits.min.bits_per_second()) => {
                GoalEnd::MinLoad
            }
            () if step.has_few_datagrams() => GoalEnd::FewDatagrams,
            () => GoalEnd::Budget,
        };
        result
    }
}

impl SearchLimits {
    /// The load, no lower and no higher than is allowed.
    fn within(&self, load: u64) -> u64 {
        let least = self.min.bits_per_second();
        load.clamp(least, self.max.bits_per_second().max(least))
    }
}

const fn rate(bits: u64) -> BitRate {
    BitRate::from_bits_per_second(bits)
}

/// A load to the next bit/s.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
fn whole(load: f64) -> u64 {
    load.round() as u64
}

/// From one load to the next on the way up.
const UP: u64 = 4;
/// At 1 Gbit/s and more a step of four would be a flood.
const UP_WHEN_FAST: u64 = 2;
const FAST: u64 = 1_000_000_000;
/// Share of a load: where it is lost or queued, the throughput lies below.
const FAR_TOO_MUCH: f64 = 0.1;
/// The longest trial on the way up.
const RAMP: Duration = Duration::from_millis(100);
/// Of the rate that arrived in the first overload.
const OVERLOAD: f64 = 1.1;
/// Bounds that are as close tell which overload is slight.
const AROUND: f64 = 1.15;
const SLIGHTLY_MORE: f64 = 1.05;
/// Of the highest upper bound.
const BEYOND: [f64; 2] = [1.2, 2.0];
/// The shortest trial that a plan allows is 10 ms; CPUs are late for as long.
const SHORTEST: Duration = Duration::from_millis(50);
/// Loads are whole numbers of bit/s.
const ROUNDING: f64 = 1.001;
