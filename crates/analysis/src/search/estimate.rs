//! About where the throughput is, by what arrived of an overload. It only decides which loads are
//! tried, never how a load is classified.

use std::time::Duration;

use measurement::SearchGoal;

use super::trials::{LATE, Point, Trials};

/// What an overload tells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    /// The rate that is carried, in bit/s.
    pub(super) rate: f64,
    /// What a token bucket let pass at first beyond that rate, as the time that it takes at it.
    burst: Duration,
    /// Time from one datagram to the next, at about that rate; zero: TCP.
    apart: Duration,
}

impl Estimate {
    /// By the longest overload, and of those as long the slightest; none: there was no overload.
    pub(super) fn of(trials: &Trials) -> Option<Self> {
        let overloads = trials.iter().filter(|trial| trial.is_overload());
        let order = |one: &&Point, other: &&Point| {
            let lengths = centiseconds(one).cmp(&centiseconds(other));
            lengths.then(other.load.cmp(&one.load))
        };
        overloads.max_by(order).map(Self::by)
    }

    fn by(trial: &Point) -> Self {
        let rate = trial.sustained.unwrap_or(trial.delivered);
        let more = (trial.delivered / rate.max(1.0) - 1.0).max(0.0);
        let burst = Duration::try_from_secs_f64(more * trial.duration.as_secs_f64());
        let burst = burst.unwrap_or_default().min(LARGEST_BURST);
        let datagrams = trial.datagrams.map(|all| u32::try_from(all.max(1)).unwrap_or(u32::MAX));
        let apart = datagrams.map_or(Duration::ZERO, |all| trial.duration / all);
        Self { rate: rate.max(1.0), burst, apart }
    }

    /// About where the throughput of a goal is, in bit/s: what is above the rate is lost.
    pub(super) fn of_goal(&self, goal: &SearchGoal) -> f64 {
        self.rate / (1.0 - goal.loss_ratio.clamp(0.0, MOST_LOST))
    }

    /// After what time a load that is above the throughput of a goal shows it: a token bucket is
    /// empty, and a queue has grown by more than CPUs are late. Zero: the load is not above.
    pub(super) fn visible_after(&self, load: u64, goal: &SearchGoal) -> Duration {
        let excess = load as f64 / self.of_goal(goal) - 1.0;
        let hidden = self.burst + LATE.mul_f64(VISIBLE) + self.apart * 2;
        let needed = if excess > 0.0 { hidden.as_secs_f64() / excess } else { 0.0 };
        let most = goal.final_trial * LONGEST;
        Duration::try_from_secs_f64(needed).unwrap_or(most).min(most)
    }
}

/// No trial ends on the microsecond.
const fn centiseconds(trial: &Point) -> u128 {
    trial.duration.as_millis() / 10
}

/// Of the delay that is no queue.
const VISIBLE: f64 = 2.5;
/// Of the final trial duration.
pub(super) const LONGEST: u32 = 4;
const LARGEST_BURST: Duration = Duration::from_millis(500);
const MOST_LOST: f64 = 0.9;
