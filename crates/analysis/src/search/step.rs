//! The next trial for one goal: which load narrows its bounds, and how long a trial must be to tell.

use std::time::Duration;

use measurement::{SearchGoal, TrialPurpose};

use super::bounds::Bounds;
use super::classification::Class;
use super::estimate::{Estimate, LONGEST};
use super::trials::Trials;
use super::{NextTrial, SearchLimits, rate, whole};

/// What is known when the next trial for a goal is chosen.
#[derive(Clone, Debug)]
pub(super) struct Step<'a> {
    pub(super) goal: &'a SearchGoal,
    pub(super) limits: &'a SearchLimits,
    pub(super) trials: &'a Trials,
    pub(super) bounds: Bounds<'a>,
    pub(super) estimate: Option<Estimate>,
}

impl Step<'_> {
    /// The next trial for the goal; none: its bounds are shown and close, or cannot be closer.
    pub(super) fn next(&self) -> Option<NextTrial> {
        let (lower, upper) = (self.bounds.lower(), self.bounds.upper());
        if let Some(again) = upper.and_then(|upper| self.doubted(upper)) {
            return Some(again);
        }
        let due = match (lower, upper) {
            (lower, Some(upper)) if upper <= self.limits.min.bits_per_second() => {
                debug_assert!(lower.is_none(), "nothing is below the lowest load");
                self.verify(None, Some(upper))
            }
            (Some(lower), None) if lower >= self.limits.max.bits_per_second() => {
                self.verify(Some(lower), None)
            }
            (Some(lower), Some(upper)) if self.are_close(lower, upper) => {
                self.verify(Some(lower), Some(upper))
            }
            _ if self.is_late() => self.verify(lower, upper),
            _ => self.narrow(lower, upper),
        };
        due.filter(|due| !self.is_in_vain(due))
    }

    /// An upper bound once more, if a load above it passed: something else than the load may have made
    /// it fail.
    fn doubted(&self, upper: u64) -> Option<NextTrial> {
        self.bounds.passes_above(upper)?;
        self.may_doubt(upper).then(|| trial(upper, self.full_length(upper)))
    }

    /// Whether a load was not tried for long enough yet to leave it at a doubt.
    fn may_doubt(&self, load: u64) -> bool {
        let tried = self.trials.at(load).map(|trial| trial.duration).sum::<Duration>();
        tried < self.goal.duration_sum * DOUBTED
    }

    /// Whether full-length trials at the relevant lower bound, or at the lowest load, have too few
    /// datagrams to see the goal loss ratio.
    pub(super) fn has_few_datagrams(&self) -> bool {
        let is_blind = |load: u64| {
            let full = self.trials.at(load).filter(|one| one.is_as_long_as(self.goal.final_trial));
            let full: Vec<_> = full.collect();
            !full.is_empty() && full.iter().all(|trial| !trial.has_enough_datagrams(self.goal))
        };
        self.bounds.lower().is_some_and(is_blind)
    }

    /// Whether loads far below the estimate fail, too: loss at any load leaves the goal to chance.
    pub(super) fn is_astray(&self) -> bool {
        self.about().is_some_and(|about| self.bounds.surprises(about).1 >= ASTRAY)
    }

    /// About where the throughput of the goal is, in bit/s.
    fn about(&self) -> Option<f64> {
        self.estimate.map(|estimate| estimate.of_goal(self.goal))
    }

    fn are_close(&self, lower: u64, upper: u64) -> bool {
        upper as f64 <= lower as f64 * (1.0 + self.goal.width_ratio) || upper <= lower + 1
    }

    /// A full-length trial at a bound that is not yet classified, or that only disturbed trials show.
    fn verify(&self, lower: Option<u64>, upper: Option<u64>) -> Option<NextTrial> {
        let lower = lower.filter(|load| self.bounds.class(*load) != Class::Lower);
        let upper = upper.filter(|load| {
            let is_doubtful = self.trials.is_doubtful(*load, self.goal) && self.may_doubt(*load);
            is_doubtful || self.bounds.class(*load) != Class::Upper
        });
        let load = lower.or(upper)?;
        Some(trial(load, self.full_length(load)))
    }

    /// A load between the bounds, or beyond the one that there is.
    fn narrow(&self, lower: Option<u64>, upper: Option<u64>) -> Option<NextTrial> {
        if let Some(upper) = upper.filter(|upper| self.is_surprise(*upper)) {
            return Some(trial(upper, self.full_length(upper)));
        }
        let load = self.limits.within(whole(self.between(lower, upper)?));
        let is_known = lower == Some(load) || upper == Some(load);
        if is_known {
            return self.verify(lower, upper);
        }
        let is_last = lower.is_some_and(|lower| self.are_close(lower, load))
            || upper.is_some_and(|upper| self.are_close(load, upper))
            || self
                .about()
                .is_some_and(|about| (load as f64 / about - 1.0).abs() <= self.goal.width_ratio)
            || self.bounds.needs_full_length();
        let length = if is_last { self.full_length(load) } else { self.length(lower, upper) };
        Some(trial(load, length))
    }

    /// Whether a load failed that should have passed by far, and no full-length trial showed it.
    fn is_surprise(&self, load: u64) -> bool {
        let is_below = |about| (load as f64) < about / (1.0 + self.goal.width_ratio);
        let is_full = || self.trials.at(load).any(|trial| trial.is_full(self.goal));
        self.about().is_some_and(is_below) && !is_full()
    }

    fn between(&self, lower: Option<u64>, upper: Option<u64>) -> Option<f64> {
        let width = self.goal.width_ratio * INSIDE;
        let (low, high) = (lower.map(|load| load as f64), upper.map(|load| load as f64));
        let Some(about) = self.about() else { return Some(halfway(low?, high?)) };
        let (above, below) = self.bounds.surprises(about);
        let wider = |count: u32| 1.0 + width * f64::from(1_u32 << (2 * count.min(MOST_STEPS)));
        match (low, high) {
            (Some(low), _) if low >= about => {
                let up = low * wider(above.saturating_sub(1));
                Some(high.map_or(up, |high| {
                    if up * (1.0 + width) < high { up } else { halfway(low, high) }
                }))
            }
            (_, Some(high)) if high <= about => {
                let down = high / wider(below.saturating_sub(1));
                Some(low.map_or(down, |low| {
                    if down > low * (1.0 + width) { down } else { halfway(low, high) }
                }))
            }
            // The throughput is to lie in the middle of the last two loads.
            (Some(low), _) if low >= about / (1.0 + width * NEAR) => Some(low * (1.0 + width)),
            (_, Some(high)) if high <= about * (1.0 + width * NEAR) => Some(high / (1.0 + width)),
            _ => Some(about / (1.0 + width / 2.0)),
        }
    }

    /// The length of a trial that counts in full: longer where a little too much shows late, or
    /// where few datagrams pass.
    fn full_length(&self, load: u64) -> Duration {
        let least = self.goal.final_trial;
        let visible = self.estimate.map(|about| about.visible_after(load, self.goal));
        let bytes = self.limits.datagram_bytes.filter(|_| self.goal.loss_ratio > 0.0);
        let seconds = bytes.map_or(0.0, |bytes| {
            bytes as f64 * 8.0 / self.goal.loss_ratio / load.max(1) as f64 * MORE_THAN_ENOUGH
        });
        let by_datagrams = Duration::try_from_secs_f64(seconds).unwrap_or(least);
        visible.unwrap_or_default().max(by_datagrams).clamp(least, least * LONGEST)
    }

    /// The length of a trial by how far the bounds are apart.
    fn length(&self, lower: Option<u64>, upper: Option<u64>) -> Duration {
        let (first, last) = (self.goal.initial_trial, self.goal.final_trial);
        let (Some(lower), Some(upper)) = (lower, upper) else { return first };
        let widths = (upper as f64 / lower.max(1) as f64 - 1.0) / self.goal.width_ratio;
        // Half as far apart, so much nearer to the final length.
        let share = 1.0 - (widths.max(1.0).log2() / GROWS_FROM).min(1.0);
        let ratio = last.as_secs_f64() / first.as_secs_f64().max(f64::MIN_POSITIVE);
        first.mul_f64(ratio.max(1.0).powf(share))
    }

    /// Whether the rest of the budget is what it takes to classify two bounds.
    fn is_late(&self) -> bool {
        let each = self.goal.final_trial + self.trials.overhead();
        let left = self.limits.budget.saturating_sub(self.trials.spent());
        left < each * FOR_TWO_BOUNDS
    }

    /// Whether as many trials of a load as decide for any outcome did not decide: they are too
    /// short, or see too little.
    fn is_in_vain(&self, due: &NextTrial) -> bool {
        let seconds = self.trials.at(due.load.bits_per_second()).map(|trial| trial.duration);
        seconds.sum::<Duration>() > self.goal.duration_sum * IN_VAIN + self.goal.final_trial
    }
}

fn trial(load: u64, duration: Duration) -> NextTrial {
    NextTrial { purpose: TrialPurpose::Bound, load: rate(load), duration }
}

/// The load whose ratio to both is the same.
fn halfway(low: f64, high: f64) -> f64 {
    (low * high).sqrt()
}

/// Of the goal width, so that rounding does not make it wider.
const INSIDE: f64 = 0.95;
/// Of the width: a bound that is as near to the estimate is one of the two last.
const NEAR: f64 = 0.8;
/// Each step away from an estimate that was wrong is four times as wide, up to 64 widths.
const MOST_STEPS: u32 = 3;
/// Loads that failed below the estimate, after which loss does not depend on the load.
const ASTRAY: u32 = 4;
/// Bounds that are apart by two to the power of this many widths get the shortest trials.
const GROWS_FROM: f64 = 4.0;
const MORE_THAN_ENOUGH: f64 = 1.1;
/// Full-length trials: one at the lower bound, two at the upper one.
const FOR_TWO_BOUNDS: u32 = 3;
/// Multiple of the goal duration sum for which an upper bound is tried that a higher load or a
/// disturbance makes doubtful.
const DOUBTED: u32 = 2;
/// Of the goal duration sum.
const IN_VAIN: u32 = 4;
