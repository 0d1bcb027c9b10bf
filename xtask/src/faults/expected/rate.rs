//! What a search says of a rate that is known.

use measurement::{BitRate, GoalResult, SearchLimit, SearchRecord};
use serde::{Deserialize, Serialize};

use super::super::seen::Seen;
use super::{Judged, frame_per_payload};

/// A rate of frames, and how close a statement comes to it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Near {
    mbps: f64,
    /// As a share of it.
    within: f64,
}

/// What a search says; what is absent may be anything.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Rates {
    /// What keeps the load from being higher.
    limit: Option<SearchLimit>,
    /// Mbit/s of frames that lie between the bounds.
    mbps: Option<f64>,
    /// Of the bounds at most, as a share of the lower one.
    width: Option<f64>,
    /// The loss ratio of the goal whose bounds these are. `None`: the bounds of each goal.
    loss: Option<f64>,
    /// Mbit/s of payload between which the lower bound is, and the upper one.
    lower: Option<[f64; 2]>,
    upper: Option<[f64; 2]>,
    /// A word of a remark.
    remark: Option<String>,
    /// How long it took at most.
    seconds: Option<f64>,
}

impl Near {
    pub(super) fn admits(&self, mbps: f64) -> bool {
        (mbps / self.mbps - 1.0).abs() <= self.within
    }
}

impl Rates {
    pub(super) fn shown(&self) -> String {
        let limit = self.limit.map(|limit| format!("{limit:?}"));
        let rate = self.mbps.map(|mbps| format!("{mbps} Mbit/s of frames"));
        limit.into_iter().chain(rate).collect::<Vec<_>>().join(" at ")
    }

    pub(super) fn judge(&self, seen: &Seen) -> Judged {
        let Some(search) = &seen.search else {
            return Judged::new(false, "nothing", "no record of a search".to_owned());
        };
        let share = search.evidence.as_deref().and_then(frame_per_payload);
        let payload = self.mbps.map(|mbps| share.map_or(0.0, |share| mbps / share));
        let is_asked = |goal: &&GoalResult| self.loss.is_none_or(|loss| is_same(goal, loss));
        let goals: Vec<_> = search.goals.iter().filter(is_asked).collect();
        let has_remark = |word: &String| search.remarks.iter().any(|one| one.contains(word));
        let is_right = matches!(seen.code, 0 | 3)
            && self.limit.is_none_or(|limit| limit == search.limit)
            && !goals.is_empty()
            && goals.iter().all(|goal| self.is_held_by(goal, payload))
            && self.remark.as_ref().is_none_or(has_remark)
            && self.seconds.is_none_or(|most| search.took.as_secs_f64() <= most);
        Judged::new(is_right, format!("{:?}", search.limit), told(search, payload))
    }

    fn is_held_by(&self, goal: &GoalResult, payload: Option<f64>) -> bool {
        let is_free = self.width.is_none() && self.lower.is_none() && self.upper.is_none();
        let Some((lower, upper)) = goal.lower.zip(goal.upper) else {
            return payload.is_none() && is_free;
        };
        let (lower, upper) = (mbps(lower), mbps(upper));
        let is_in = |range: Option<[f64; 2]>, bound: f64| {
            range.is_none_or(|[least, most]| (least..=most).contains(&bound))
        };
        payload.is_none_or(|rate| (lower..=upper).contains(&offered(goal, rate)))
            && self.width.is_none_or(|most| goal.width().is_some_and(|it| it <= most + ROUNDING))
            && is_in(self.lower, lower)
            && is_in(self.upper, upper)
    }
}

fn is_same(goal: &GoalResult, loss: f64) -> bool {
    (goal.goal.loss_ratio - loss).abs() < f64::EPSILON
}

/// The load of which the share that a goal allows is lost where so much arrives.
fn offered(goal: &GoalResult, arrives: f64) -> f64 {
    arrives / (1.0 - goal.goal.loss_ratio)
}

fn mbps(rate: BitRate) -> f64 {
    rate.bits_per_second() as f64 / 1e6
}

/// The limit, the bounds, and what is said of them.
fn told(search: &SearchRecord, payload: Option<f64>) -> String {
    let shown = |bound: Option<BitRate>| {
        bound.map_or_else(|| "-".to_owned(), |rate| format!("{:.2}", mbps(rate)))
    };
    let goals = search.goals.iter().map(|goal| {
        let truth = payload.map(|rate| format!(", {:.2} expected", offered(goal, rate)));
        let (loss, truth) = (goal.goal.loss_ratio * 100.0, truth.unwrap_or_default());
        format!("{loss} %: {}..{} Mbit/s{truth}", shown(goal.lower), shown(goal.upper))
    });
    let head = format!("{:?} after {:.1} s", search.limit, search.took.as_secs_f64());
    let said = search.verdict.iter().chain(&search.remarks).cloned();
    [head].into_iter().chain(goals).chain(said).collect::<Vec<_>>().join("; ")
}

/// Of a width.
const ROUNDING: f64 = 0.000_1;
