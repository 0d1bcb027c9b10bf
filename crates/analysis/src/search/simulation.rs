//! Devices of known properties, for tests: trials of a search on them need no time.

use std::fmt::Write;
use std::time::Duration;

use fastrand::Rng;
use measurement::{BitRate, GoalResult, SearchGoal, SearchTrial, Stamp};

use super::{NextTrial, SearchLimits, ThroughputSearch};

/// A device, and a sender in front of it; rates in bit/s of payload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Device {
    /// What it forwards at most.
    pub(super) rate: f64,
    /// Seconds that its queue holds.
    pub(super) queue: f64,
    /// What its token bucket holds, as seconds at its rate.
    pub(super) burst: f64,
    /// Seconds for which it forwards all, before it limits.
    pub(super) reaction: f64,
    /// Share that is lost at any load.
    pub(super) loss: f64,
    /// Most seconds by which the last datagram is late, for no fault of its own.
    pub(super) late: f64,
    /// Share of its rate that an overload by half gets.
    pub(super) overloaded: f64,
    /// What the sender can send.
    pub(super) sender: f64,
}

pub(super) const DEVICE: Device = Device {
    rate: 100e6,
    queue: 0.005,
    burst: 0.0,
    reaction: 0.0,
    loss: 0.0,
    late: 0.0,
    overloaded: 1.0,
    sender: 1e13,
};

impl Device {
    /// The load above which more than the loss ratio of a goal is lost; none: there is none.
    pub(super) fn truth(&self, goal: &SearchGoal) -> Option<f64> {
        (self.loss <= goal.loss_ratio)
            .then(|| (self.rate * (1.0 - self.loss) / (1.0 - goal.loss_ratio)).min(self.sender))
    }

    /// A trial of the device.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    pub(super) fn trial(&self, next: &NextTrial, rng: &mut Rng) -> SearchTrial {
        let seconds = next.duration.as_secs_f64();
        let offered = (next.load.bits_per_second() as f64).min(self.sender);
        let rate = if offered > self.rate * 1.5 { self.rate * self.overloaded } else { self.rate };
        let (sent, carried) = (offered * seconds, rate * seconds);
        let passed = (offered - rate).max(0.0) * self.reaction.min(seconds);
        let excess = (sent - carried - passed - self.burst * rate).max(0.0);
        let queued = excess.min(self.queue * rate);
        let count = (sent / DATAGRAM_BITS).max(1.0);
        let mut lost = (excess - queued) / DATAGRAM_BITS;
        // Chance, about as a Poisson process has it.
        let expected = (count - lost) * self.loss;
        let chance = (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
        lost += (expected + chance * expected.sqrt()).max(0.0).round();
        let lost = if lost < 1.0 { 0.0 } else { lost };
        let delay = queued / rate + self.late * rng.f64();
        let arrived = (count - lost) * DATAGRAM_BITS;
        let bits = |bits: f64| BitRate::from_bits_per_second(bits as u64);
        SearchTrial {
            purpose: next.purpose,
            intended: next.load,
            offered: bits(offered),
            delivered: bits(arrived / (seconds + delay)),
            sustained: (excess > 0.0).then(|| bits(rate * (1.0 - self.loss))),
            duration: next.duration,
            took: next.duration + OVERHEAD,
            datagrams: Some(count as u64),
            lost_ratio: lost / count,
            delay: Duration::from_secs_f64(delay) + PATH,
            stamp: Stamp::Valid,
            disturbed: false,
        }
    }

    /// A search on the device to its end.
    pub(super) fn search(
        &self,
        goals: &[SearchGoal],
        limits: SearchLimits,
        seed: u64,
    ) -> FoundLoads {
        self.search_with(goals, limits, seed, |trial, _| trial)
    }

    /// The same, with something done to each trial.
    pub(super) fn search_with(
        &self,
        goals: &[SearchGoal],
        limits: SearchLimits,
        seed: u64,
        mut disturb: impl FnMut(SearchTrial, &mut Rng) -> SearchTrial,
    ) -> FoundLoads {
        let mut rng = Rng::with_seed(seed);
        let mut trials = Vec::new();
        while let Some(next) = ThroughputSearch::new(goals, limits, &trials).next() {
            assert!(trials.len() < 500, "it does not end: {trials:#?}");
            let trial = self.trial(&next, &mut rng);
            trials.push(disturb(trial, &mut rng));
        }
        let results = ThroughputSearch::new(goals, limits, &trials).results();
        FoundLoads { trials, results }
    }
}

/// What a search found.
pub(super) struct FoundLoads {
    pub(super) trials: Vec<SearchTrial>,
    pub(super) results: Vec<GoalResult>,
}

impl FoundLoads {
    pub(super) fn took(&self) -> Duration {
        self.trials.iter().map(|trial| trial.took).sum()
    }

    /// The trials and bounds in short.
    pub(super) fn told(&self) -> String {
        let mut text = String::new();
        for one in &self.trials {
            _ = writeln!(
                text,
                "{} {} {:.3} s: {} arrive, {:.4} lost, {:.4} s late",
                one.purpose,
                one.intended,
                one.duration.as_secs_f64(),
                one.delivered,
                one.lost_ratio,
                one.delay.as_secs_f64()
            );
        }
        for one in &self.results {
            let (lower, upper) = (one.lower, one.upper);
            _ = writeln!(text, "{} {lower:?}..{upper:?} {:?}", one.goal.loss_ratio, one.end);
        }
        text
    }
}

pub(super) const DATAGRAM_BITS: f64 = 11_776.0;
/// What a trial takes beside its traffic.
const OVERHEAD: Duration = Duration::from_millis(40);
/// Delay of the path.
const PATH: Duration = Duration::from_micros(300);
