//! Which rate is the highest that a path passes without loss: short trials before a row of UDP.
//!
//! ```text
//!   start: what TCP got ------> up, until a rate fails ------> between: near what arrived of the
//!          else 10 Mbit/s                                      rate that failed, then just above
//!                                                              ------> longer, at the rate found
//! ```
//!
//! As the throughput of RFC 2544 (26.1), but with a little loss allowed, with loss at any rate set
//! apart, and with what arrived of an overload taken as the next rate (ETSI TST 009 and RFC 8337
//! search for rates and capacities likewise).

use std::time::Duration;

use measurement::{BitRate, Direction, End, RateSearch, RateTrial, TestPlan, Transport};
use session::client::Watching;

use super::{Next, PlannedRow, Purpose, RowRate, Task, Trial};

mod disturbance;
mod points;

use self::points::{Point, Points};

/// Finds the highest rate without loss for one plan. It is a function of the trials so far.
#[derive(Debug)]
pub(super) struct RateChoice<'a> {
    plan: &'a TestPlan,
    /// The rate that earlier rows suggest, in bit/s of all streams of a direction.
    known: Option<f64>,
    trials: &'a [Trial],
    points: Points,
}

/// A trial that is due.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// In bit/s of all streams of a direction.
    rate: f64,
    length: Duration,
}

impl<'a> RateChoice<'a> {
    /// The choice for `plan` after its `trials`; `before` are all tests that ran earlier.
    pub(super) fn new(plan: &'a TestPlan, before: &[Trial], trials: &'a [Trial]) -> Self {
        let all = trials.iter().enumerate();
        let points = all.filter_map(|(index, trial)| Point::of_trial(index, trial)).collect();
        let known = known_rate(plan, before);
        Self { plan, known, trials, points: Points::new(points, known) }
    }

    /// The next trial, or [`Next::Done`]: then [`Self::row`] is to run.
    pub(super) fn next(&self) -> Next {
        if self.trials.last().is_some_and(|trial| trial.result.is_err()) {
            return Next::Stop;
        }
        // A test that failed, or a peer that did not tell what arrived: the row itself shows it.
        if self.points.len() < self.trials.len() {
            return Next::Done;
        }
        self.step().and_then(|step| self.task(step)).map_or(Next::Done, Next::Run)
    }

    /// `row` at the rate that was found, for the rest of its time.
    pub(super) fn row(&self, row: &PlannedRow) -> PlannedRow {
        let mut draft = (**self.plan).clone();
        draft.options.rate = Some(self.each(self.points.held().unwrap_or_else(|| self.start())));
        draft.end = match draft.end {
            End::Time(time) => End::Time(rest(time, self.spent())),
            amount => amount,
        };
        let plan = draft.check().unwrap_or_else(|_| self.plan.clone());
        let found = self.found(&plan);
        let pieces = self.points.need_pieces(found.held.bits_per_second() as f64);
        PlannedRow { plan, pieces, rate: RowRate::Found(Box::new(found)), ..row.clone() }
    }

    fn found(&self, plan: &TestPlan) -> RateSearch {
        let above = self.points.above().and_then(|point| {
            let mut record = self.trials.get(point.index)?.result.as_ref().ok()?.clone();
            // Nobody requested this rate.
            record.outcome.directions.iter_mut().for_each(|direction| direction.asked = None);
            Some(Box::new(record))
        });
        RateSearch {
            held: plan.asked().unwrap_or(BitRate::from_bits_per_second(0)),
            end: self.points.end(),
            floor: self.points.floor(),
            trials: self.points.iter().map(Point::as_trial).collect(),
            above,
        }
    }

    /// The trial that is due; none: the rate is found, or the time for trials is used up.
    fn step(&self) -> Option<Step> {
        if self.points.len() == 0 {
            let (rate, length) = (self.start(), self.usual_length());
            return Some(Step { rate, length });
        }
        let around = self.points.around();
        let left = self.budget().saturating_sub(self.spent() + around).max(self.least_left());
        let fitting = |step: Step, left: Duration| {
            let length = step.length.max(around.min(LONGEST));
            let fits =
                length <= left || (step.length >= self.confirms() && left >= self.usual_length());
            fits.then_some(Step { length: length.min(left), ..step })
        };
        let confirmation = self.confirmation();
        // Without it a rate that is found would be one that passed for a moment.
        let kept = confirmation.map_or(Duration::ZERO, |step| step.length / 2 + around);
        let narrower = self.rate_step().and_then(|step| fitting(step, left.saturating_sub(kept)));
        narrower.or_else(|| fitting(confirmation?, left))
    }

    /// The next rate that narrows the search; none: it is narrow enough.
    fn rate_step(&self) -> Option<Step> {
        let usual = |rate| Some(Step { rate, length: self.usual_length() });
        if let Some(rate) = self.points.short_of_pieces() {
            return usual(rate);
        }
        if let Some(point) = self.points.disturbed() {
            let rate = point.asked.bits_per_second() as f64;
            let length = (self.usual_length() * 2).max(point.length).min(CONFIRMS);
            return Some(Step { rate, length });
        }
        if let Some((rate, datagrams)) = self.points.doubtful() {
            let bits = datagrams * self.datagram_bits();
            let length = Duration::try_from_secs_f64(bits / rate).unwrap_or(CONFIRMS);
            return Some(Step { rate, length: length.clamp(self.usual_length(), CONFIRMS) });
        }
        if let Some(rate) = self.points.unsure() {
            let rate = rate.bits_per_second() as f64;
            return Some(Step { rate, length: (self.usual_length() * 2).min(CONFIRMS) });
        }
        match (self.points.low(), self.points.high()) {
            (Some(_), None) if self.points.is_sender_at_its_limit() => None,
            (Some(low), None) if self.known.is_some() && self.points.len() == 1 => {
                usual(low.rate * LITTLE)
            }
            // What earlier rows got may be far from it.
            (Some(low), None) if self.known.is_some() && self.points.len() <= FEW => {
                usual(low.rate * TWICE)
            }
            (Some(low), None) => usual(low.rate * UP),
            (None, Some(high)) if self.points.len() >= MOST_FAILED || high.rate <= LEAST => None,
            (None, Some(high)) => usual(high.lower()),
            (Some(low), Some(high)) => self.points.between(&low, &high).and_then(usual),
            (None, None) => None,
        }
    }

    /// The rate that was found, for longer: a bucket of tokens or a queue may have taken what was
    /// too much for a short time.
    fn confirmation(&self) -> Option<Step> {
        let length = self.confirms();
        let rate = self.points.low().and(self.points.held())?;
        let is_tried = self.points.iter().any(|point| point.confirms(rate, length));
        (!is_tried).then_some(Step { rate, length })
    }

    fn task(&self, step: Step) -> Option<Task> {
        let mut draft = (**self.plan).clone();
        (draft.end, draft.omit) = (End::Time(step.length), Duration::ZERO);
        draft.options.rate = Some(self.each(step.rate));
        let purpose = Purpose::Trial { what: WHAT, watching: Watching::Hosts };
        let pieces = self.points.need_pieces(step.rate);
        Some(Task {
            row: PlannedRow { pieces, ..PlannedRow::of_plan(draft.check().ok()?) },
            purpose,
        })
    }

    /// The rate of each stream, to three significant digits.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    fn each(&self, rate: f64) -> BitRate {
        let each = (rate / f64::from(self.plan.streams)).max(LEAST_OF_A_STREAM);
        let step = 10_f64.powf(each.log10().floor() - 2.0);
        BitRate::from_bits_per_second(((each / step).round() * step).round() as u64)
    }

    fn start(&self) -> f64 {
        self.known.unwrap_or(START)
    }

    fn datagram_bits(&self) -> f64 {
        let record = self.trials.iter().find_map(|trial| trial.result.as_ref().ok());
        let block = record.and_then(|record| record.streams.first());
        8.0 * block.map_or(ETHERNET, |stream| stream.block.bytes() as f64)
    }

    fn spent(&self) -> Duration {
        self.trials.iter().map(|trial| trial.took).sum()
    }

    /// The time for trials.
    fn budget(&self) -> Duration {
        match self.plan.end {
            End::Time(time) => (time / 2).clamp(LEAST_BUDGET, BUDGET),
            End::Bytes(_) | End::Blocks(_) | End::Open => BUDGET / 2,
        }
    }

    /// What is left for the next trial at least. On a host whose CPUs others take, the set-up of the
    /// first trials uses up the time, and the rate with which the search begins would be the result.
    fn least_left(&self) -> Duration {
        let is_begun = self.points.len() < FEWEST && self.points.high().is_none();
        let is_on_the_way_up = self.known.is_none() && self.points.disturbed().is_none();
        if is_begun && is_on_the_way_up && self.spent() < SLOW_BUDGET {
            self.usual_length().max(self.points.around().min(LONGEST))
        } else {
            Duration::ZERO
        }
    }

    /// The length of a trial that confirms.
    fn confirms(&self) -> Duration {
        CONFIRMS.min(self.budget() / 2)
    }

    fn usual_length(&self) -> Duration {
        let is_on_the_way_up = self.known.is_none() && self.points.high().is_none();
        let length = if is_on_the_way_up { ON_THE_WAY_UP } else { USUAL };
        length.min(self.budget() / 4)
    }
}

impl Point {
    fn as_trial(&self) -> RateTrial {
        RateTrial { asked: self.asked, sent: self.sent, arrived: self.arrived, loss: self.loss }
    }
}

/// The rate that earlier tests in the same directions suggest: that of TCP, or what an earlier run
/// of the row found.
fn known_rate(plan: &TestPlan, before: &[Trial]) -> Option<f64> {
    let tests = before.iter().rev().filter(|trial| trial.task.purpose.is_result());
    let records = || tests.clone().filter_map(|trial| trial.result.as_ref().ok());
    let rate = |way: Direction| {
        records().find_map(|record| {
            let is_tcp = record.plan.transport == Transport::Tcp;
            let mut directions = record.outcome.directions.iter();
            let outcome = directions.find(|outcome| outcome.direction == way)?;
            let is_known = (is_tcp && outcome.asked.is_none()) || record.trials.rate.is_some();
            Some(outcome.headline().filter(|_| is_known)?.rate.bits_per_second() as f64)
        })
    };
    let ways = [Direction::Send, Direction::Receive].into_iter();
    let ways = ways.filter(|way| match way {
        Direction::Send => plan.direction.sends(),
        Direction::Receive | Direction::Both => plan.direction.receives(),
    });
    let rates = ways.map(rate).collect::<Option<Vec<_>>>()?;
    let least = rates.into_iter().reduce(f64::min)?;
    (least >= LEAST).then_some(least)
}

/// What trials leave of the time of a row, at least half.
fn rest(time: Duration, spent: Duration) -> Duration {
    let rest = time.saturating_sub(spent).max(time / 2);
    let tenths = rest.as_millis() / 100 * 100;
    if tenths >= 1_000 {
        Duration::from_millis(u64::try_from(tenths).unwrap_or(u64::MAX))
    } else {
        rest
    }
}

const WHAT: &str = "finding the rate without loss";
/// In bit/s, where nothing is known.
const START: f64 = 10e6;
/// In bit/s; what is slower is held without a search.
const LEAST: f64 = 100e3;
const LEAST_OF_A_STREAM: f64 = 10e3;
/// A first look above a rate that is known.
const LITTLE: f64 = 1.1;
/// From one rate to the next as long as none fails.
const TWICE: f64 = 2.0;
/// Where nothing is known: twice would leave no time for paths of 10 Gbit/s.
const UP: f64 = 4.0;
/// Trials above a known rate, after which it is as if none were known.
const FEW: usize = 3;
/// Trials without any success before the search gives up.
const MOST_FAILED: usize = 5;
/// Of a trial. Several times as long as a CPU may be late.
const USUAL: Duration = Duration::from_millis(250);
/// Far from the limit less will do.
const ON_THE_WAY_UP: Duration = Duration::from_millis(100);
/// Of a trial that confirms.
const CONFIRMS: Duration = Duration::from_millis(700);
/// Of a trial on a path where a few round trips take that long.
const LONGEST: Duration = Duration::from_secs(1);
const BUDGET: Duration = Duration::from_secs(2);
const LEAST_BUDGET: Duration = Duration::from_millis(400);
/// Trials upwards from an unknown rate for which there is time on a slow host too: up to 2.5 Gbit/s.
const FEWEST: usize = 5;
/// For them.
const SLOW_BUDGET: Duration = Duration::from_secs(4);
/// Payload of a datagram in a frame of Ethernet, in bytes.
const ETHERNET: f64 = 1_472.0;

#[cfg(test)]
mod tests;
