//! Record of a search for throughput ([`SearchRecord`]) in the terms of RFC 9971 (MLRsearch): its
//! goals, its trials, and the relevant bounds of each goal. How a search goes is a matter of
//! `analysis` (which load is next) and `campaign` (which runs the trials).

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::heading::Heading;
use crate::judgement::Stamp;
use crate::plan::TestPlan;
use crate::record::{RunError, TestRecord};
use crate::units::BitRate;

/// A search goal of RFC 9971: what a load must keep to count as a lower bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SearchGoal {
    /// Goal loss ratio: the highest trial loss ratio, 0 to 1, that is low loss.
    pub loss_ratio: f64,
    /// Goal width: the upper bound may exceed the lower one by this share of it.
    pub width_ratio: f64,
    /// Goal initial trial duration in seconds: that of trials far from the bounds.
    #[serde(rename = "initial_trial_seconds", with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub initial_trial: Duration,
    /// Goal final trial duration in seconds: a trial as long, or longer, is full-length.
    #[serde(rename = "final_trial_seconds", with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub final_trial: Duration,
    /// Goal duration sum in seconds: so much of full-length trials decides for any outcome.
    #[serde(rename = "duration_sum_seconds", with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub duration_sum: Duration,
    /// Goal exceed ratio: the share of the duration sum, 0 to 1, that may have high loss.
    pub exceed_ratio: f64,
}

impl SearchGoal {
    /// The goal of a loss ratio, with the default width, durations and exceed ratio: 1 %, trials of
    /// 0.25 s to 1 s, a sum of two full-length trials of which one may have high loss.
    pub const fn of_loss(loss_ratio: f64) -> Self {
        Self {
            loss_ratio,
            width_ratio: 0.01,
            initial_trial: Duration::from_millis(250),
            final_trial: Duration::from_secs(1),
            duration_sum: Duration::from_secs(2),
            exceed_ratio: 0.5,
        }
    }
}

/// Why a trial of a search ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TrialPurpose {
    /// On the way up, until a load fails.
    Ramp,
    /// An overload whose rate of arrival tells where the bounds may be.
    Estimate,
    /// Between the bounds, or at one of them.
    Bound,
    /// Above the upper bound of all goals, to see what an overload does.
    Beyond,
    /// At the lower bound again after an overload, to see whether the device recovers.
    Return,
}

impl Display for TrialPurpose {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ramp => "ramp",
            Self::Estimate => "estimate",
            Self::Bound => "bound",
            Self::Beyond => "beyond",
            Self::Return => "return",
        })
    }
}

/// A trial of a search: one load for some time. Rates are those of the payload of all streams.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SearchTrial {
    /// Why it ran.
    pub purpose: TrialPurpose,
    /// Intended load (RFC 2285, section 3.5.1).
    #[serde(rename = "intended_bits_per_second")]
    pub intended: BitRate,
    /// Offered load (RFC 2285, section 3.5.2): what the sender reached.
    #[serde(rename = "offered_bits_per_second")]
    pub offered: BitRate,
    /// Rate of the payload that arrived, until the last of it did.
    #[serde(rename = "delivered_bits_per_second")]
    pub delivered: BitRate,
    /// Rate at which the payload arrived in the end, without what a token bucket let pass at first;
    /// none: not known, or the same.
    #[serde(
        rename = "sustained_bits_per_second",
        skip_serializing_if = "Option::is_none",
        default
    )]
    pub sustained: Option<BitRate>,
    /// How long the sender sent, in seconds.
    #[serde(rename = "duration_seconds", with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub duration: Duration,
    /// How long the trial took, its opening and its end included, in seconds.
    #[serde(rename = "took_seconds", with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub took: Duration,
    /// Datagrams sent; none: TCP.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub datagrams: Option<u64>,
    /// Lost datagrams as a share of those sent, 0 to 1; 0 over TCP.
    pub lost_ratio: f64,
    /// By how much longer the payload took to arrive than to send: delay of the path, and growth of
    /// queues, in seconds. Of timed frames that all arrived: without what interruptions left in a
    /// queue.
    #[serde(rename = "delay_seconds", with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub delay: Duration,
    /// Stamp of the trial.
    pub stamp: Stamp,
    /// Whether a disturbance set the stamp: another load on a host, or a CPU without time.
    pub disturbed: bool,
}

/// Why a search for one goal ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum GoalEnd {
    /// The bounds are as close as the goal width.
    Width,
    /// The time budget was used up.
    Budget,
    /// The search ended early: the error of its record tells why.
    Stopped,
    /// The highest load that was allowed is a lower bound.
    MaxLoad,
    /// Not even the lowest load is a lower bound.
    MinLoad,
    /// Trials had too few datagrams to see the goal loss ratio.
    FewDatagrams,
}

/// The goal result (RFC 9971) of one goal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GoalResult {
    /// The goal.
    pub goal: SearchGoal,
    /// Relevant lower bound: the highest load that keeps the goal, below the upper one; none: no
    /// load was shown to.
    #[serde(rename = "lower_bits_per_second", skip_serializing_if = "Option::is_none", default)]
    pub lower: Option<BitRate>,
    /// Relevant upper bound: the lowest load that does not keep the goal; none: no load was shown
    /// not to.
    #[serde(rename = "upper_bits_per_second", skip_serializing_if = "Option::is_none", default)]
    pub upper: Option<BitRate>,
    /// Conditional throughput: the rate that was forwarded at the relevant lower bound.
    #[serde(
        rename = "conditional_throughput_bits_per_second",
        skip_serializing_if = "Option::is_none",
        default
    )]
    pub throughput: Option<BitRate>,
    /// Trials at the two bounds, and between them.
    pub trials: u32,
    /// What those trials took, in seconds.
    #[serde(rename = "took_seconds", with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub took: Duration,
    /// Why the search for this goal ended.
    pub end: GoalEnd,
}

impl GoalResult {
    /// By how much the upper bound exceeds the lower one, as a share of it; none: one is missing.
    pub fn width(&self) -> Option<f64> {
        let lower = self.lower?.bits_per_second() as f64;
        let upper = self.upper?.bits_per_second() as f64;
        (lower > 0.0).then(|| upper / lower - 1.0)
    }
}

/// What keeps the load from being higher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum SearchLimit {
    /// A knee: what was offered above it was lost, or queued up.
    Knee,
    /// A ceiling: the sender offered no more than that.
    Ceiling,
    /// No load failed.
    None,
}

/// Format version of the JSON of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SearchSchema {
    /// The current version.
    #[default]
    #[serde(rename = "linerate/search/1")]
    V1,
}

/// Record of a search for throughput.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SearchRecord {
    /// Format, version, labels and hosts.
    #[serde(flatten)]
    pub heading: Heading<SearchSchema>,
    /// Plan of the trials, but for their loads and lengths.
    pub plan: TestPlan,
    /// Result of each goal, in the order in which they were given.
    pub goals: Vec<GoalResult>,
    /// What keeps the load from being higher.
    pub limit: SearchLimit,
    /// Who or what that is, by the verdict on a trial above the upper bounds; none: no verdict.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub verdict: Option<String>,
    /// What an overload does, and whether the device recovers from it, a sentence each; empty:
    /// nothing of note.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub remarks: Vec<String>,
    /// In what the search deviates from the throughput test of RFC 2544, section 26.1.
    pub deviations: Vec<String>,
    /// How long the search took, in seconds.
    #[serde(rename = "took_seconds", with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub took: Duration,
    /// The trials in the order in which they ran.
    pub trials: Vec<SearchTrial>,
    /// Judged record of the trial that shows the limit: over UDP that at the lower bound of the
    /// first goal, with that above it in its `rate_search`; over TCP that above. None: no load
    /// failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub evidence: Option<Box<TestRecord>>,
    /// Error that ended the search; none: it ran to its end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<RunError>,
}

impl SearchRecord {
    /// Says that `error` ended the search: goals that lack time for no other reason lack it for that.
    pub fn end_early(&mut self, error: RunError) {
        for goal in self.goals.iter_mut().filter(|goal| goal.end == GoalEnd::Budget) {
            goal.end = GoalEnd::Stopped;
        }
        self.error = Some(error);
    }
}

/// An event of a search: one line of the output format `json-stream`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "lowercase")]
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub enum SearchEvent<'a> {
    /// A trial has ended.
    Trial {
        /// Number of the trial, from 0.
        number: u32,
        /// The trial.
        #[serde(flatten)]
        trial: SearchTrial,
    },
    /// The search has ended: always the last line.
    End {
        /// Its record.
        search: Cow<'a, SearchRecord>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_width_is_a_share_of_the_lower_bound() {
        let rate = |bits| Some(BitRate::from_bits_per_second(bits));
        let result = GoalResult {
            goal: SearchGoal::of_loss(0.0),
            lower: rate(1_000),
            upper: rate(1_010),
            throughput: None,
            trials: 0,
            took: Duration::ZERO,
            end: GoalEnd::Width,
        };
        assert!((result.width().expect("both") - 0.01).abs() < 1e-9);
        assert_eq!(GoalResult { lower: None, ..result }.width(), None);
        assert_eq!(GoalResult { lower: rate(0), ..result }.width(), None);
    }
}
