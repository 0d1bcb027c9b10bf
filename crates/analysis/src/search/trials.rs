//! Trials as a search sees them: whether each keeps a goal, and which of them count.

use std::time::Duration;

use measurement::{BitRate, Order, SearchGoal, SearchTrial, TrialPurpose};

use super::NextTrial;
use super::estimate::{Estimate, LATE};

/// A trial, with what it lacks of its intended load.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) purpose: TrialPurpose,
    /// Intended load in bit/s.
    pub(super) load: u64,
    /// Rate that arrived until the last of it did, in bit/s.
    pub(super) delivered: f64,
    /// Rate that arrived in the end, in bit/s.
    pub(super) sustained: Option<f64>,
    pub(super) duration: Duration,
    pub(super) took: Duration,
    pub(super) datagrams: Option<u64>,
    /// Share of the datagrams that were lost.
    lost: f64,
    /// Share of the payload by which a queue grew: it would be lost once that is full.
    queued: f64,
    /// Share of the intended load that the sender did not offer.
    unoffered: f64,
    is_disturbed: bool,
    /// What overloads tell of the device.
    about: Option<Estimate>,
}

/// The trials of a search.
#[derive(Clone, Debug)]
pub(super) struct Trials {
    all: Vec<Point>,
    /// Those that count, in their order.
    counted: Vec<Point>,
    /// The last trial, if it is to be repeated.
    again: Option<Point>,
}

impl Point {
    fn new(trial: &SearchTrial, path: Duration) -> Self {
        let bits = |rate: BitRate| rate.bits_per_second() as f64;
        let seconds = trial.duration.as_secs_f64().max(f64::MIN_POSITIVE);
        let growth = trial.delay.saturating_sub(path);
        // A sender ends between two datagrams.
        let apart = trial.datagrams.map_or(0.0, |all| seconds / all.max(1) as f64);
        let unsure = LATE.as_secs_f64() + FEW_DATAGRAMS * apart;
        let growth = growth.as_secs_f64();
        let queued = if growth > unsure { growth / seconds } else { 0.0 };
        Self {
            purpose: trial.purpose,
            load: trial.intended.bits_per_second(),
            delivered: bits(trial.delivered),
            sustained: trial.sustained.map(bits),
            duration: trial.duration,
            took: trial.took,
            datagrams: trial.datagrams,
            lost: trial.lost_ratio,
            queued: queued.min(1.0),
            unoffered: (1.0 - bits(trial.offered) / bits(trial.intended).max(1.0)).max(0.0),
            is_disturbed: trial.disturbed,
            about: None,
        }
    }

    /// The trial loss ratio: what of the intended load was lost, or queued up, or not offered by
    /// more than a little.
    pub(super) fn loss(&self, goal: &SearchGoal) -> f64 {
        // A datagram more or less, and a sender that ends late, tell nothing in a short trial.
        let seconds = self.duration.as_secs_f64().max(f64::MIN_POSITIVE);
        let bytes = self.load as f64 / 8.0 * seconds;
        let block = || BLOCK_OF_TCP + SEGMENTS_OF_TCP / bytes.max(1.0);
        let piece = self.datagrams.map_or_else(block, |all| 1.0 / all.max(1) as f64);
        let unsure = OFFERED_LATE.as_secs_f64() / seconds + FEW_DATAGRAMS * piece;
        let is_short = self.unoffered > unsure.max(goal.width_ratio * OFFERED);
        let unoffered = if is_short { self.unoffered } else { 0.0 };
        let queued = self.queued + self.spared_by_burst(seconds);
        1.0 - (1.0 - self.lost.min(1.0)) / (1.0 + queued) * (1.0 - unoffered)
    }

    /// Share of the payload that a token bucket let pass before a queue grew: the bucket was full
    /// when the trial began, and a longer trial gains nothing more by it.
    fn spared_by_burst(&self, seconds: f64) -> f64 {
        let burst = self.about.filter(|_| self.queued > 0.0).map(|about| about.burst());
        burst.unwrap_or_default().as_secs_f64() / seconds
    }

    /// Whether it has high loss for a goal.
    pub(super) fn fails(&self, goal: &SearchGoal) -> bool {
        self.loss(goal) > goal.loss_ratio + f64::EPSILON
    }

    /// Whether it had as many datagrams as it takes to see the loss ratio of a goal.
    pub(super) fn has_enough_datagrams(&self, goal: &SearchGoal) -> bool {
        let one = |all: u64| all as f64 * goal.loss_ratio >= 1.0;
        goal.loss_ratio <= 0.0 || self.datagrams.is_none_or(one)
    }

    /// Whether it is full-length for a goal, and could have failed. No sender stops at the
    /// microsecond.
    pub(super) fn is_full(&self, goal: &SearchGoal) -> bool {
        self.is_as_long_as(goal.final_trial) && (self.fails(goal) || self.could_fail(goal))
    }

    /// Whether it was long enough, and had datagrams enough, to show that its load is too much.
    pub(super) fn could_fail(&self, goal: &SearchGoal) -> bool {
        let needed = self.about.map(|about| about.visible_after(self.load, goal));
        self.is_as_long_as(needed.unwrap_or_default()) && self.has_enough_datagrams(goal)
    }

    pub(super) fn is_as_long_as(&self, span: Duration) -> bool {
        self.duration * 50 >= span * 49
    }

    /// Whether more was offered than arrived, by more than a CPU that is late explains.
    pub(super) fn is_overload(&self) -> bool {
        self.lacks(CLEAR)
    }

    /// Whether the rate that arrived is the device's: it was an overload, or a queue grew, or kept the
    /// sender from sending, by more than any CPU is late, which loss at any load does not do. Other
    /// work may keep a sender as well.
    pub(super) fn tells_the_rate(&self) -> bool {
        let is_kept_up = self.is_clear(self.queued) || self.is_clear(self.unoffered);
        self.loses(CLEAR) || (is_kept_up && !self.is_disturbed)
    }

    /// Whether a disturbance may explain all that it lacks.
    pub(super) fn is_doubtful(&self) -> bool {
        self.is_disturbed && self.lost < EXPLAINED
    }

    /// The rate that arrived in the end, or on average, in bit/s.
    fn carried(&self) -> f64 {
        self.sustained.unwrap_or(self.delivered)
    }

    /// Whether a share of its load at least was lost or queued, or as much was not offered.
    pub(super) fn lacks(&self, share: f64) -> bool {
        self.loses(share) || (self.is_clear(self.unoffered) && self.unoffered >= share)
    }

    /// Whether a share of what was offered at least was lost or queued.
    fn loses(&self, share: f64) -> bool {
        let queued = if self.is_clear(self.queued) { self.queued } else { 0.0 };
        1.0 - (1.0 - self.lost.min(1.0)) / (1.0 + queued) >= share
    }

    /// Whether a share of the trial is more than a CPU that is late once explains.
    fn is_clear(&self, share: f64) -> bool {
        self.duration.mul_f64(share) >= LATE * CLEARLY_LATE
    }

    /// Whether it fails by so little that a CPU of the receiver, or of a sender that could not make up
    /// for it, may have been late: one such trial does not decide.
    pub(super) fn is_marginal(&self, goal: &SearchGoal) -> bool {
        let seconds = self.duration.as_secs_f64();
        let excess = (self.loss(goal) - goal.loss_ratio) * seconds;
        let burst = self.spared_by_burst(seconds) * seconds;
        self.lost <= 0.0 && excess - burst < (LATE * MARGINALLY_LATE).as_secs_f64()
    }

    /// Whether most of what it lacks was not offered.
    pub(super) fn is_short_of_its_load(&self) -> bool {
        self.unoffered > self.lost + self.queued
    }
}

impl Trials {
    /// Sorts out trials that a disturbance made fail: they are repeated, a bounded number of times.
    pub(super) fn new(trials: &[SearchTrial]) -> Self {
        let path = trials.iter().map(|trial| trial.delay).min().unwrap_or_default();
        let all: Vec<_> = trials.iter().map(|trial| Point::new(trial, path)).collect();
        let (mut counted, mut spared, mut again) = (Vec::<Point>::new(), Vec::<Point>::new(), None);
        for point in &all {
            let of_load = spared.iter().filter(|one| one.load == point.load).count();
            let may = spared.len() < MOST_SPARED && of_load < MOST_SPARED_OF_A_LOAD;
            let is_spared = may && point.is_spared();
            if is_spared {
                spared.push(*point);
            } else {
                counted.push(*point);
            }
            again = is_spared.then_some(*point);
        }
        Self { all, counted, again }
    }

    /// What the longest overload tells, and of those as long the slightest; none: there was none.
    pub(super) fn estimate(&self) -> Option<Estimate> {
        // No trial ends on the microsecond.
        let centiseconds = |point: &Point| point.duration.as_millis() / 10;
        let order = |one: &&Point, other: &&Point| {
            centiseconds(one).cmp(&centiseconds(other)).then(other.load.cmp(&one.load))
        };
        // Where more passed, or arrived, in as long a trial, a CPU was late.
        let is_refuted = |point: &Point| {
            self.iter().any(|other| {
                let passed = other.load > point.load && !other.tells_the_rate();
                let is_more = passed || other.carried() > point.load as f64;
                is_more && other.is_as_long_as(point.duration)
            })
        };
        let overloads = self.iter().filter(|point| point.tells_the_rate() && !is_refuted(point));
        let overload = overloads.max_by(order)?;
        let Point { delivered, sustained, duration, datagrams, .. } = *overload;
        Some(Estimate::new(delivered, sustained, duration, datagrams))
    }

    /// The same trials, of a device of which an overload tells something.
    #[must_use]
    pub(super) fn about(mut self, about: Option<Estimate>) -> Self {
        self.counted.iter_mut().for_each(|point| point.about = about);
        self
    }

    /// The last trial once more, as a disturbance may be why it failed.
    pub(super) fn to_repeat(&self) -> Option<NextTrial> {
        let Point { purpose, load, duration, .. } = self.again?;
        Some(NextTrial { purpose, load: super::rate(load), duration })
    }

    /// Whether a trial that counts is such a one.
    pub(super) fn any(&self, is_one: impl Fn(&Point) -> bool) -> bool {
        self.counted.iter().any(is_one)
    }

    /// The trials that count for bounds. Those after an overload show its effect, too.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Point> {
        self.counted.iter().filter(|point| point.purpose != TrialPurpose::Return)
    }

    /// The trials of a load that count.
    pub(super) fn at(&self, load: u64) -> impl Iterator<Item = &Point> {
        self.iter().filter(move |point| point.load == load)
    }

    /// Whether a load failed, and a disturbance may be why each time.
    pub(super) fn is_doubtful(&self, load: u64, goal: &SearchGoal) -> bool {
        let failed = self.all.iter().filter(|point| point.load == load && point.fails(goal));
        let mut failed = failed.peekable();
        failed.peek().is_some() && failed.all(Point::is_doubtful)
    }

    /// The loads that were tried, the lowest first.
    pub(super) fn loads(&self) -> Vec<u64> {
        let mut loads: Vec<_> = self.iter().map(|point| point.load).collect();
        loads.order();
        loads.dedup();
        loads
    }

    pub(super) fn highest_load(&self) -> Option<u64> {
        self.counted.iter().map(|point| point.load).max()
    }

    /// The time of all trials.
    pub(super) fn spent(&self) -> Duration {
        self.all.iter().map(|point| point.took).sum()
    }

    /// What a trial takes beside its traffic: the most of the last few.
    pub(super) fn overhead(&self) -> Duration {
        let last = self.all.iter().rev().take(FEW);
        last.map(|point| point.took.saturating_sub(point.duration)).max().unwrap_or_default()
    }

    /// The trials at two bounds, between them and within a width of them.
    pub(super) fn near(
        &self,
        bounds: (Option<BitRate>, Option<BitRate>),
        width: f64,
    ) -> Vec<Point> {
        let (lower, upper) = (bounds.0.or(bounds.1), bounds.1.or(bounds.0));
        let (Some(lower), Some(upper)) = (lower, upper) else { return Vec::new() };
        let least = lower.bits_per_second() as f64 / (1.0 + width);
        let most = upper.bits_per_second() as f64 * (1.0 + width);
        let is_near = |point: &&Point| (least..=most).contains(&(point.load as f64));
        self.all.iter().filter(is_near).copied().collect()
    }
}

impl Point {
    /// Whether it failed, and a disturbance may be why. Away from the bounds only a sender that was
    /// kept from sending matters.
    fn is_spared(&self) -> bool {
        let was_kept = self.unoffered > NOT_OFFERED;
        let lacks = match self.purpose {
            TrialPurpose::Bound | TrialPurpose::Return => {
                self.lost > 0.0 || self.queued > 0.0 || was_kept
            }
            TrialPurpose::Ramp | TrialPurpose::Estimate => {
                self.unoffered >= CLEAR && self.is_short_of_its_load()
            }
            TrialPurpose::Beyond => false,
        };
        self.is_disturbed && lacks
    }
}

/// Of the goal width: so much of the intended load may not be offered.
const OFFERED: f64 = 0.25;
/// A sender may end as much later than it was to.
const OFFERED_LATE: Duration = Duration::from_millis(2);
const FEW_DATAGRAMS: f64 = 2.0;
/// A block of TCP, as a share of a trial, and the bytes of the segments of two streams, which no block
/// is shorter than.
const BLOCK_OF_TCP: f64 = 1.0 / 400.0;
const SEGMENTS_OF_TCP: f64 = 2.0 * 1_448.0;
/// Of the intended load: not offered.
const NOT_OFFERED: f64 = 0.001;
/// Of what was offered: an overload loses, or queues, at least that.
const CLEAR: f64 = 0.02;
/// Largest share of the datagrams that is lost since a host had no CPU time.
const EXPLAINED: f64 = 0.05;
/// Disturbed trials that are repeated.
const MOST_SPARED: usize = 8;
const MOST_SPARED_OF_A_LOAD: usize = 2;
/// Of the delay that is no queue: surely one, and perhaps none.
const CLEARLY_LATE: u32 = 4;
const MARGINALLY_LATE: u32 = 2;
/// Trials whose overhead tells that of the next.
const FEW: usize = 4;
