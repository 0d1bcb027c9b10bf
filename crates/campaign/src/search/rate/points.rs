//! Trials at several rates, and what they say of the highest rate without loss.

use std::time::Duration;

use measurement::outcome::Ending;
use measurement::{BitRate, RateSearchEnd, TestRecord};

use super::disturbance::{self, Disturbance};
use crate::search::Trial;

/// What a trial at one rate came to; rates in bit/s of all streams of a direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    /// Index of its trial.
    pub(super) index: usize,
    pub(super) asked: BitRate,
    pub(super) sent: BitRate,
    pub(super) arrived: BitRate,
    /// The rate that was tried: the one asked, or what got away of it.
    pub(super) rate: f64,
    /// The sender reached the rate asked, but for stalls.
    is_reached: bool,
    /// Whether single datagrams may be why the sender reached less than was asked.
    is_short_of_pieces: bool,
    /// Whether datagrams were to go many in one piece.
    in_pieces: bool,
    /// Share of the datagrams that were lost.
    pub(super) loss: f64,
    datagrams: f64,
    /// How much longer than the sender the receiver took for the datagrams that were not lost: the
    /// delay of the path, and what a queue grew by.
    delay: Duration,
    pub(super) length: Duration,
    took: Duration,
    /// How much the trial was disturbed by a lack of CPU time.
    disturbance: Disturbance,
    /// The rate at which datagrams arrived in the end, in bit/s, if that sank: a bucket of tokens,
    /// as a policer has it, ran empty.
    sank_to: Option<f64>,
}

/// All points of a search, in the order of their trials.
#[derive(Debug)]
pub(super) struct Points {
    all: Vec<Point>,
    /// Those that tell something: not what a CPU without time disturbed, if a repetition ran with
    /// more, nor what a bucket of tokens let pass that ran empty later.
    telling: Vec<Point>,
    /// The rate that earlier rows suggest, in bit/s.
    known: Option<f64>,
    /// The least delay, which is that of the path.
    delay: Duration,
    /// The least time of a trial in which nothing was sent: several round trips.
    around: Duration,
    floor: Option<f64>,
}

impl Point {
    /// The point of a trial; none: it failed, or what arrived is not known.
    pub(super) fn of_trial(index: usize, trial: &Trial) -> Option<Self> {
        let record = trial.result.as_ref().ok()?;
        let asked = record.plan.asked()?;
        if record.outcome.ending != Ending::Completed {
            return None;
        }
        let (sent, arrived) = slowest(record)?;
        let (datagrams, loss) = worst_loss(record)?;
        let kept = bits(arrived) / bits(sent).max(1.0) / (1.0 - loss).max(0.01);
        let length = record.result_span().unwrap_or_default();
        let disturbance = disturbance::of(record);
        let is_reached = bits(reached(record, &disturbance)?) * MISSED >= bits(asked);
        let tried = if is_reached { bits(asked) } else { bits(sent.min(arrived)) };
        let delay = length.mul_f64(f64::max(1.0 / kept.max(0.01) - 1.0, 0.0));
        Some(Self {
            index,
            asked,
            sent,
            arrived,
            rate: tried.max(1.0),
            is_reached,
            is_short_of_pieces: !is_reached
                && !trial.task.row.pieces
                && !disturbance::is_blocked(record),
            in_pieces: trial.task.row.pieces,
            loss,
            datagrams,
            delay,
            length,
            took: trial.took,
            sank_to: disturbance::sank_to(record, length + delay).filter(|_| loss >= LITTLE_LOSS),
            disturbance,
        })
    }

    /// Whether a trial of that length at this rate was this one.
    pub(super) fn confirms(&self, rate: f64, length: Duration) -> bool {
        (self.rate / rate - 1.0).abs() < 0.01 && self.length * 10 >= length * 9
    }

    /// Whether this trial tells at least what the other one does, of the same rate: one that was
    /// shorter says nothing of what a queue or a bucket of tokens took.
    fn repeats(&self, other: &Self) -> bool {
        self.asked == other.asked && self.is_as_long_as(other)
    }

    /// For how long datagrams arrived: a deep queue takes longer than its sender.
    fn arrived_for(&self) -> Duration {
        self.length + self.delay
    }

    fn is_as_long_as(&self, other: &Self) -> bool {
        self.length * 10 >= other.length * 9
    }

    /// To the hundredth of a second: no trial ends on the microsecond.
    const fn asked_length(&self) -> u128 {
        (self.length.as_millis() + 5) / 10
    }

    /// A rate that may pass where this one failed.
    pub(super) fn lower(&self) -> f64 {
        let arrived = bits(self.arrived);
        if arrived < self.rate / 4.0 || self.loss < LITTLE_LOSS {
            self.rate / 2.0
        } else {
            arrived * BELOW
        }
    }

    /// The rate at which it arrived, without what a bucket of tokens added at first; in bit/s.
    fn arrived_in_the_end(&self) -> f64 {
        let arrived = bits(self.arrived);
        self.sank_to.map_or(arrived, |rate| rate.min(arrived))
    }

    /// The sender reached clearly less than was asked.
    const fn is_limited_by_its_sender(&self) -> bool {
        !self.is_reached
    }

    /// How late the last datagrams may be because a CPU was late.
    fn tolerated_delay(&self) -> Duration {
        let usual = if self.length < SHORT { LATE * 2 } else { LATE };
        usual + self.disturbance.late
    }
}

impl Points {
    /// The points of a search that starts from a rate that may be `known`.
    pub(super) fn new(points: Vec<Point>, known: Option<f64>) -> Self {
        let least = |of: fn(&Point) -> Duration| points.iter().map(of).min().unwrap_or_default();
        let delay = least(|point| point.delay);
        let around = least(|point| point.took.saturating_sub(point.length));
        let telling: Vec<_> =
            points.iter().filter(|point| is_telling(point, &points)).copied().collect();
        let floor = floor(&telling);
        Self { all: points, telling, known, delay, around, floor }
    }

    /// The last trial, if a CPU had no time for it and another may run better.
    pub(super) fn disturbed(&self) -> Option<Point> {
        let last = self.all.last().filter(|last| last.disturbance.is_grave())?;
        let again = |point: &Point| point.index != last.index && point.repeats(last);
        let in_vain = self.all.iter().filter(|point| point.disturbance.is_grave()).count();
        (in_vain <= MOST_DISTURBED && !self.all.iter().any(again)).then_some(*last)
    }

    /// The rate of the last trial, if its sender fell short with single datagrams.
    pub(super) fn short_of_pieces(&self) -> Option<f64> {
        let last = self.all.last().filter(|last| last.is_short_of_pieces)?;
        Some(bits(last.asked))
    }

    /// Whether datagrams of a rate are to go many in one piece: a sender fell short with single ones, and
    /// no trial reached this rate with them.
    pub(super) fn need_pieces(&self, rate: f64) -> bool {
        let reached = |point: &Point| !point.in_pieces && point.is_reached && point.rate >= rate;
        self.all.iter().any(|point| point.is_short_of_pieces) && !self.all.iter().any(reached)
    }

    /// The least time of a trial in which nothing was sent: several round trips.
    pub(super) const fn around(&self) -> Duration {
        self.around
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Point> {
        self.all.iter()
    }

    /// The loss at any rate.
    pub(super) const fn floor(&self) -> Option<f64> {
        self.floor
    }

    /// The lowest rate that failed, unless a trial as long passed at no lower rate.
    pub(super) fn high(&self) -> Option<Point> {
        let failed = self.telling.iter().filter(|point| self.fails(point));
        let failed = failed.filter(|one| {
            !self.telling.iter().any(|other| {
                let is_later = other.index > one.index;
                is_later && !self.fails(other) && other.rate >= one.rate && other.is_as_long_as(one)
            })
        });
        failed.min_by(|one, other| one.rate.total_cmp(&other.rate)).copied()
    }

    /// The highest rate that passed below all that failed.
    pub(super) fn low(&self) -> Option<Point> {
        let high = self.high().map_or(f64::MAX, |high| high.rate);
        let passed = self.telling.iter().filter(|point| !self.fails(point) && point.rate < high);
        passed.max_by(|one, other| one.rate.total_cmp(&other.rate)).copied()
    }

    /// The rate to hold; none: nothing was tried.
    pub(super) fn held(&self) -> Option<f64> {
        let rate = match (self.low(), self.high()) {
            // What arrived of a long trial is what the path passes.
            (Some(low), Some(high)) if high.arrived_for() >= SURE => {
                low.rate.max(BELOW * self.passed_at(&high))
            }
            (Some(low), _) => low.rate,
            (None, Some(high)) if self.passed_at(&high) > 0.0 => BELOW * self.passed_at(&high),
            (None, high) => high?.rate,
        };
        Some(rate.min(self.ceiling()).min(self.ceiling_of_disturbed(rate)))
    }

    /// The trial that shows why the search found no higher rate. `None`: each rate that failed passed
    /// later, or a higher one did.
    pub(super) fn above(&self) -> Option<Point> {
        let passed = |limited: &&Point| {
            let later = self.telling.iter().filter(|point| point.index > limited.index);
            later
                .filter(|point| !point.is_limited_by_its_sender())
                .any(|point| !self.fails(point) && point.asked >= limited.asked)
        };
        let mut limited = self.telling.iter().filter(|point| point.is_limited_by_its_sender());
        self.high().or_else(|| limited.rfind(|point| !passed(point)).copied())
    }

    pub(super) fn end(&self) -> RateSearchEnd {
        match (self.high(), self.is_sender_at_its_limit()) {
            (Some(_), _) => RateSearchEnd::Loss,
            (None, true) => RateSearchEnd::Sender,
            (None, false) => RateSearchEnd::Time,
        }
    }

    /// The sender reached far less than was asked, or the same of two rates. A CPU that is late now
    /// and then is no limit.
    pub(super) fn is_sender_at_its_limit(&self) -> bool {
        let limited = || self.telling.iter().filter(|point| point.is_limited_by_its_sender());
        let is_far = |point: &Point| point.rate * FAR < bits(point.asked);
        let is_same = |one: &Point, other: &Point| {
            bits(other.asked) >= DIFFERENT * bits(one.asked) && other.rate <= ALIKE * one.rate
        };
        limited().any(|one| is_far(one) || limited().any(|other| is_same(one, other)))
    }

    /// What the path, or the sender, was seen to pass at most: a short trial of more may pass since
    /// a queue, or a bucket of tokens, took what was too much.
    fn ceiling(&self) -> f64 {
        let failed = |point: &&Point| self.fails(point);
        let limited = self.telling.iter().filter(|point| point.is_limited_by_its_sender());
        let reached = limited.map(|point| point.rate).fold(f64::MAX, f64::min);
        let near = |point: &&Point| bits(point.asked) >= NEAR * reached;
        match self.end() {
            RateSearchEnd::Loss => self.longest(failed).map_or(f64::MAX, |longest| {
                let passed = BELOW * self.passed_at(&longest);
                let passed = self.passed_in(longest.arrived_for()).max(passed);
                if passed > 0.0 { passed } else { f64::MAX }
            }),
            RateSearchEnd::Sender => self
                .longest(near)
                .map_or(f64::MAX, |longest| longest.rate.min(self.passed_at(&longest))),
            RateSearchEnd::Time => f64::MAX,
        }
    }

    /// The highest rate that trials of `rate` showed, if each of the longest lacked CPU time: what
    /// arrived of them on average, what passed in a trial as long that nothing disturbed, and what
    /// earlier rows got. A shorter one at `rate` itself does not show that it passes for long.
    fn ceiling_of_disturbed(&self, rate: f64) -> f64 {
        let shown = || self.telling.iter().filter(|point| bits(point.asked) >= NEAR * rate);
        let Some(longest) = shown().max_by_key(|point| point.length) else { return f64::MAX };
        let confirming = shown().filter(|point| point.is_as_long_as(longest));
        if !confirming.clone().all(|point| point.disturbance.is_grave()) {
            return f64::MAX;
        }
        let arrived = confirming.map(|point| bits(point.sent.min(point.arrived)));
        let is_sure = |point: &&Point| !point.disturbance.is_grave() && !self.fails(point);
        let sure = self.telling.iter().filter(is_sure).filter(|one| one.is_as_long_as(longest));
        arrived.chain(sure.map(|point| point.rate)).fold(self.known.unwrap_or(0.0), f64::max)
    }

    /// The longest of some trials; of those as long that in which least arrived.
    fn longest(&self, is_one: impl Fn(&&Point) -> bool) -> Option<Point> {
        let arrived = |one: &Point, other: &Point| other.arrived.cmp(&one.arrived);
        let order = |one: &&Point, other: &&Point| {
            one.asked_length().cmp(&other.asked_length()).then(arrived(one, other))
        };
        self.telling.iter().filter(is_one).max_by(order).copied()
    }

    /// The most that passed without loss in a trial as long: an overload may well get less.
    fn passed_in(&self, length: Duration) -> f64 {
        let passed = self.telling.iter().filter(|point| !self.fails(point));
        let passed = passed.filter(|point| point.length * 10 >= length * 9);
        passed.map(|point| BELOW * self.passed_at(point)).fold(0.0, f64::max)
    }

    /// A rate between one that passed and one that failed; none: they are close.
    pub(super) fn between(&self, low: &Point, high: &Point) -> Option<f64> {
        let ratio = high.rate / low.rate;
        let passed = self.passed_at(high);
        let estimate = BELOW * passed;
        let is_about = low.rate >= NEAR * passed && self.passed_at(low) <= passed / NEAR;
        if ratio <= CLOSE || (ratio <= RATHER_CLOSE && is_about) {
            return None;
        }
        if estimate > low.rate * DIFFERS && estimate * DIFFERS < high.rate {
            return Some(estimate);
        }
        // What arrived is about what passes: show it by a trial just above.
        if is_about && low.rate * JUST_ABOVE < high.rate {
            return Some(low.rate * JUST_ABOVE);
        }
        Some((low.rate * high.rate).sqrt())
    }

    /// Another rate, and how many datagrams of it tell whether the little loss of the lowest rate
    /// that failed is by chance; none: a lower rate tells it already.
    pub(super) fn doubtful(&self) -> Option<(f64, f64)> {
        let high =
            self.high().filter(|high| high.loss > self.tolerance(high) && self.floor.is_none())?;
        let needed = EXPECTED / high.loss;
        let tells = |point: &&Point| point.rate < high.rate && point.datagrams >= needed / 2.0;
        let is_told = high.loss >= LITTLE_LOSS || self.telling.iter().any(|point| tells(&point));
        // Twice the rate tells it sooner, and loses far more if it is a limit.
        let rate = if self.all.len() == 1 { high.rate * 2.0 } else { high.rate / 2.0 };
        (!is_told).then_some((rate, needed))
    }

    /// The lowest rate that failed, where all of it arrived, but late, and nothing else shows that a
    /// queue grew rather than that a CPU was late.
    pub(super) fn unsure(&self) -> Option<BitRate> {
        let high = self.high().filter(|high| !self.loses(high))?;
        let again = self.all.iter().filter(|point| point.asked == high.asked);
        (again.count() == 1).then_some(high.asked)
    }

    /// The rate that the path passed in a trial: what arrived from when its first datagram did.
    fn passed_at(&self, point: &Point) -> f64 {
        let length = point.length.max(Duration::from_millis(1));
        let by_delay = self.delay.as_secs_f64() / length.as_secs_f64();
        // The path passed as much while the sender ran.
        let ran =
            if point.disturbance.is_of_the_sender() { 1.0 - point.disturbance.share } else { 1.0 };
        point.arrived_in_the_end() * (1.0 + by_delay.min(1.0)) / ran.max(LEAST_RAN)
    }

    fn loses(&self, point: &Point) -> bool {
        let most = (point.datagrams * self.tolerance(point)).max(1.0);
        point.loss * point.datagrams > most + 0.5
    }

    fn fails(&self, point: &Point) -> bool {
        let late = point.delay.saturating_sub(self.delay);
        let is_late = late > point.tolerated_delay() && late > point.length.mul_f64(LATE_SHARE);
        self.loses(point) || is_late
    }

    /// The share of datagrams that may be lost. Where some are by chance, so may be more (two
    /// standard deviations of a Poisson process).
    fn tolerance(&self, point: &Point) -> f64 {
        let Some(floor) = self.floor else { return TOLERATED };
        let chance = 2.0 * (floor / point.datagrams.max(1.0)).sqrt();
        TOLERATED.max(1.5 * floor + chance)
    }
}

/// Whether a point is not superseded: by a repetition that was disturbed less, by one with datagrams in
/// pieces, or by a later one that shows that a bucket of tokens had let it pass.
fn is_telling(point: &Point, all: &[Point]) -> bool {
    let better = |other: &Point| {
        let (one, two) = (point.disturbance.share, other.disturbance.share);
        let is_same = other.index != point.index && other.repeats(point);
        let is_less = two < one || (two <= one && other.index > point.index);
        is_same && point.disturbance.is_grave() && is_less
    };
    // An overload may get less as well: then a later trial shows it.
    let emptied = |other: &Point| {
        let is_overload = other.loss >= LITTLE_LOSS && !other.disturbance.is_grave();
        let is_above = point.rate > DIFFERENT * other.arrived_in_the_end();
        other.index > point.index && is_overload && point.loss < LITTLE_LOSS && is_above
    };
    let in_pieces = |other: &Point| point.is_short_of_pieces && other.in_pieces;
    !all.iter().any(|other| better(other) || emptied(other) || in_pieces(other))
}

/// The loss of rates that are far below what arrived at another; none: they lost nothing.
fn floor(points: &[Point]) -> Option<f64> {
    let fast = points.iter().max_by_key(|point| point.arrived)?;
    let slow = points.iter().filter(|point| point.rate <= SLOW * bits(fast.arrived));
    let (lost, all) = slow.clone().fold((0.0, 0.0), |(lost, all), point| {
        (lost + point.loss * point.datagrams, all + point.datagrams)
    });
    let mean = lost / f64::max(all, 1.0);
    // Chance does not spare one of them.
    let telling = slow.filter(|point| point.datagrams * mean >= TELLING);
    let least = telling.map(|point| point.loss).fold(mean, f64::min);
    let is_alike = mean >= PART * fast.loss && fast.loss * fast.datagrams >= LEAST_LOST;
    let is_seen = lost >= if is_alike { FEW_LOST } else { LEAST_LOST } - 0.5;
    (is_seen && least > TOLERATED && least < MOST_BY_CHANCE).then_some(least)
}

fn bits(rate: BitRate) -> f64 {
    rate.bits_per_second() as f64
}

/// What was sent and what arrived, of the direction where less arrived.
fn slowest(record: &TestRecord) -> Option<(BitRate, BitRate)> {
    let directions = record.outcome.directions.iter();
    let rates = directions.map(|one| Some((one.offered?.rate, one.delivered?.rate)));
    let rates = rates.collect::<Option<Vec<_>>>()?;
    rates.into_iter().min_by_key(|(_, arrived)| *arrived)
}

/// The rate that senders reached, without stalls for which a busy CPU is enough; of the direction
/// whose sender reached less. None: not known.
fn reached(record: &TestRecord, disturbance: &Disturbance) -> Option<BitRate> {
    let directions = record.outcome.directions.iter().map(|one| {
        let sent = one.offered?.rate;
        let is_accident = disturbance.is_of_the_sender();
        let pacing = one.pacing.as_ref();
        let pacing =
            pacing.filter(|report| is_accident || report.stalled * STALLS < report.sending);
        Some(pacing.map_or(sent, |report| report.achieved_outside_stalls.max(sent)))
    });
    directions.collect::<Option<Vec<_>>>()?.into_iter().min()
}

/// Datagrams that were sent, and the share that was lost, of the direction that lost more.
fn worst_loss(record: &TestRecord) -> Option<(f64, f64)> {
    let directions = record.outcome.directions.iter();
    let losses = directions.map(|one| one.datagrams.map(|all| (all.sent as f64, all.loss())));
    let losses = losses.collect::<Option<Vec<_>>>()?;
    losses.into_iter().max_by(|(_, one), (_, other)| one.total_cmp(other))
}

/// Share of the datagrams that may be lost: what is free of loss for most purposes, and above what
/// a bit error rate of 1e-8 brings.
const TOLERATED: f64 = 0.001;
/// Of the time of a trial, by which the last datagrams are late: a queue grows.
const LATE_SHARE: f64 = 0.05;
/// A CPU may be late as well.
const LATE: Duration = Duration::from_millis(20);
/// Far from the limit, where much more is late if anything.
const SHORT: Duration = Duration::from_millis(200);
/// So much more was asked than a sender reached that is at its limit.
const MISSED: f64 = 1.04;
/// Trials that a CPU without time disturbed, after which another brings nothing.
const MOST_DISTURBED: usize = 2;
/// The least share of the time in which a sender ran.
const LEAST_RAN: f64 = 0.05;
/// Stalls of more than one part in so many are no accident.
const STALLS: u32 = 4;
const FAR: f64 = 2.0;
/// Rates that are not the same.
const DIFFERENT: f64 = 1.3;
/// Rates that a sender reaches at its limit.
const ALIKE: f64 = 1.15;
/// Of what arrived in a short time, with what a bucket of tokens adds to that.
const BELOW: f64 = 0.97;
/// The lowest rate that failed against the highest that passed.
const CLOSE: f64 = 1.05;
const RATHER_CLOSE: f64 = 1.12;
const JUST_ABOVE: f64 = 1.08;
const DIFFERS: f64 = 1.02;
/// Of what arrived.
const NEAR: f64 = 0.95;
/// Loss that may be by chance.
const LITTLE_LOSS: f64 = 0.05;
/// Lost datagrams that are expected in a trial that tells whether loss is by chance.
const EXPECTED: f64 = 8.0;
/// Lost datagrams that are expected where none would be no chance.
const TELLING: f64 = 4.0;
/// More is no chance: an overload that gets through in part.
const MOST_BY_CHANCE: f64 = 0.1;
/// Lost datagrams that are no accident; and where a faster trial lost about the same share.
const LEAST_LOST: f64 = 3.0;
const FEW_LOST: f64 = 2.0;
/// Of the share that a faster trial lost.
const PART: f64 = 0.4;
/// Of what arrived at another rate: a path that passes more loses here by chance.
const SLOW: f64 = 0.6;
/// A trial whose arrival rate is that of the path, without what a bucket of tokens adds.
const SURE: Duration = Duration::from_millis(500);
