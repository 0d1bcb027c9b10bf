//! The load classification of RFC 9971: whether the trials of one load make it a lower or an upper
//! bound for a goal, and its conditional throughput.

use std::time::Duration;

use measurement::{Order, SearchGoal};

use super::trials::Point;

/// What the trials of a load say for a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// The load is a lower bound, whatever further trials bring.
    Lower,
    /// It is an upper bound, whatever they bring.
    Upper,
    /// Further trials decide.
    Undecided,
}

/// Durations of the trials of a load, in seconds, by length and loss.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    full_low: f64,
    full_high: f64,
    short_low: f64,
    short_high: f64,
}

impl Class {
    /// Classifies a load by its trials: it is a lower bound if at most the exceed ratio of the
    /// duration sum has high loss, both if all further trials have low loss (optimistic) and if
    /// all have high loss (pessimistic), and an upper bound if it is a lower one in neither case.
    pub(super) fn of<'a>(trials: impl Iterator<Item = &'a Point>, goal: &SearchGoal) -> Self {
        let sums = Sums::of(trials, goal);
        let exceed = goal.exceed_ratio.clamp(0.0, MOST_EXCEEDED);
        // Short trials with high loss count only beyond what those with low loss balance.
        let balanced = sums.short_low * exceed / (1.0 - exceed);
        let high = sums.full_high + (sums.short_high - balanced).max(0.0);
        let whole = (sums.full_low + high).max(goal.duration_sum.as_secs_f64());
        let allowed = whole * exceed + ROUNDING;
        let is_lower = (high <= allowed, whole - sums.full_low <= allowed);
        match is_lower {
            (true, true) => Self::Lower,
            (false, false) => Self::Upper,
            _ => Self::Undecided,
        }
    }
}

impl Sums {
    fn of<'a>(trials: impl Iterator<Item = &'a Point>, goal: &SearchGoal) -> Self {
        let mut sums = Self::default();
        for trial in trials {
            let sum = match (trial.is_full(goal), trial.fails(goal)) {
                (true, false) => &mut sums.full_low,
                (true, true) => &mut sums.full_high,
                (false, false) => &mut sums.short_low,
                (false, true) => &mut sums.short_high,
            };
            let most = if trial.is_marginal(goal) { goal.final_trial } else { Duration::MAX };
            *sum += trial.duration.min(most).as_secs_f64();
        }
        sums
    }
}

/// The share of a load that is forwarded: one less the loss ratio that full-length trials do not
/// exceed for all but the exceed ratio of their time.
pub(super) fn forwarded<'a>(trials: impl Iterator<Item = &'a Point>, goal: &SearchGoal) -> f64 {
    let full = trials.filter(|trial| trial.is_full(goal));
    let mut losses: Vec<_> =
        full.map(|trial| (trial.loss(goal), trial.duration.as_secs_f64())).collect();
    losses.order_by(|(one, _), (other, _)| one.total_cmp(other));
    let whole: f64 = losses.iter().map(|(_, seconds)| seconds).sum();
    let whole = whole.max(goal.duration_sum.as_secs_f64());
    let mut left = whole * (1.0 - goal.exceed_ratio.clamp(0.0, MOST_EXCEEDED)) - ROUNDING;
    for (loss, seconds) in losses {
        left -= seconds;
        if left <= 0.0 {
            return 1.0 - loss;
        }
    }
    0.0
}

/// An exceed ratio of one would let every load pass.
const MOST_EXCEEDED: f64 = 0.99;
/// Seconds: a trial of a second may take a little less.
const ROUNDING: f64 = 0.05;
