//! About where the throughput is, by what arrived of an overload. It only decides which loads are
//! tried, never how a load is classified.

use std::time::Duration;

use measurement::SearchGoal;

/// What an overload tells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    /// The rate that is carried, in bit/s.
    pub(super) rate: f64,
    /// What a token bucket let pass at first beyond that rate, as the time that it takes at it.
    burst: Duration,
    /// Time from one datagram to the next, at about that rate; zero: TCP.
    apart: Duration,
    /// How long the overload lasted.
    lasted: Duration,
}

impl Estimate {
    /// By an overload of which `delivered` bit/s arrived on average, and `sustained` in the end.
    pub(super) fn new(
        delivered: f64,
        sustained: Option<f64>,
        duration: Duration,
        datagrams: Option<u64>,
    ) -> Self {
        let rate = sustained.unwrap_or(delivered);
        let more = (delivered / rate.max(1.0) - 1.0).max(0.0);
        let burst = Duration::try_from_secs_f64(more * duration.as_secs_f64());
        let burst = burst.unwrap_or_default().min(LARGEST_BURST);
        let datagrams = datagrams.map(|all| u32::try_from(all.max(1)).unwrap_or(u32::MAX));
        let apart = datagrams.map_or(Duration::ZERO, |all| duration / all);
        Self { rate: rate.max(1.0), burst, apart, lasted: duration }
    }

    /// Whether a shorter trial that passed `load` passed more than the device carries for long: by a
    /// bucket, or since it reacts late.
    pub(super) fn refutes(&self, load: u64, duration: Duration, goal: &SearchGoal) -> bool {
        let is_beyond = load as f64 > self.of_goal(goal) * FAR_BEYOND;
        is_beyond && self.is_full_length(goal) && duration * 50 < self.lasted * 49
    }

    /// What a token bucket lets pass at first, as the time that it takes at the rate.
    pub(super) const fn burst(&self) -> Duration {
        self.burst
    }

    /// About where the throughput of a goal is, in bit/s: what is above the rate is lost.
    pub(super) fn of_goal(&self, goal: &SearchGoal) -> f64 {
        self.rate / (1.0 - goal.loss_ratio.clamp(0.0, MOST_LOST))
    }

    /// After what time a load that is above the throughput of a goal shows it: a token bucket is
    /// empty, and a queue has grown by more than CPUs are late. Zero: the load is not above.
    pub(super) fn visible_after(&self, load: u64, goal: &SearchGoal) -> Duration {
        let excess = load as f64 / self.of_goal(goal) - 1.0;
        let needed = if excess > 0.0 { self.hidden() / excess } else { 0.0 };
        let most = goal.final_trial * LONGEST;
        Duration::try_from_secs_f64(needed).unwrap_or(most).min(most)
    }

    /// Whether a load is above the throughput of a goal, but by so little that the longest trial does
    /// not show it: that it passes tells nothing. Bounds so close to each other are all alike.
    pub(super) fn hides(&self, load: u64, goal: &SearchGoal) -> bool {
        let excess = load as f64 / self.of_goal(goal) - 1.0;
        let least = self.hidden() / (goal.final_trial * LONGEST).as_secs_f64();
        self.is_full_length(goal) && excess > 0.0 && excess < least.min(goal.width_ratio * SURE)
    }

    /// Part of an overload that a token bucket, late CPUs and the distance of datagrams hide, in
    /// seconds.
    fn hidden(&self) -> f64 {
        (self.burst + LATE.mul_f64(VISIBLE) + self.apart * 2).as_secs_f64()
    }

    fn is_full_length(&self, goal: &SearchGoal) -> bool {
        self.lasted * 49 >= goal.final_trial * 48
    }
}

/// Less by which the payload was late is no queue: CPUs wake up that late.
pub(super) const LATE: Duration = Duration::from_millis(3);
/// Of the delay that is no queue.
const VISIBLE: f64 = 2.5;
/// Of the final trial duration.
pub(super) const LONGEST: u32 = 4;
/// Of the rate that is carried.
const FAR_BEYOND: f64 = 1.15;
/// Share of the goal width. Bounds with the throughput in their middle are farther from it.
const SURE: f64 = 0.4;
const LARGEST_BURST: Duration = Duration::from_millis(500);
const MOST_LOST: f64 = 0.9;
