//! Record of a tuning ([`TuneRecord`]): changes of settings that a verdict named, each compared with
//! the settings before it. Which changes are made is a matter of `campaign`, what the tests show of
//! `analysis`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::alternation::{AbFinding, AbRule};
use crate::comparison::EffectSize;
use crate::heading::Heading;
use crate::plan::TestPlan;
use crate::record::{RunError, TestRecord};
use crate::remedy::Change;
use crate::rule::RuleId;
use crate::units::{BitRate, show_time};

/// Format version of the JSON of a tuning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum TuneSchema {
    /// The current version.
    #[default]
    #[serde(rename = "linerate/tune/1")]
    V1,
}

/// Record of a tuning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TuneRecord {
    /// Format, version, labels and hosts.
    #[serde(flatten)]
    pub heading: Heading<TuneSchema>,
    /// Plan of the tests, before any change.
    pub plan: TestPlan,
    /// The metric that is to become better.
    pub goal: Metric,
    /// Rule by which each comparison ends, and its limits.
    pub rule: AbRule,
    /// Loss of another metric above which a change is undone, as a share: 0.1 for 10 %.
    pub guard_ratio: f64,
    /// Seed of the order of the runs; the same seed gives the same order.
    pub seed: u64,
    /// Verdict on the first test, before any change; none: no test has a verdict.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub verdict: Option<String>,
    /// The changes that verdicts named, in the order in which they were tried.
    pub attempts: Vec<Attempt>,
    /// The settings before any change against those with all changes that helped. None: no change
    /// helped, or the tuning ended before.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub check: Option<MetricsComparison>,
    /// The changes that are in effect after the tuning, in the order in which they were made.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub kept: Vec<TriedChange>,
    /// Files that were written so that the changes outlive the next boot.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub persisted: Vec<String>,
    /// Judged records of all tests that gave one, in the order in which they ran, with the label
    /// `tune`.
    pub records: Vec<TestRecord>,
    /// Error that ended the tuning; none: it ran to its end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<RunError>,
}

/// The changes that one finding named, and what came of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Attempt {
    /// Rule of the finding; `linerate explain` prints its manual page.
    pub rule: RuleId,
    /// The finding, without a full stop.
    pub finding: String,
    /// The changes that were made together.
    pub changes: Vec<TriedChange>,
    /// What became of the changes.
    pub outcome: AttemptOutcome,
    /// Why they were undone or not tried, without a full stop; none: they were kept, or the
    /// comparison tells it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// The tests without the changes against those with them; none: they were not tried.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub comparison: Option<MetricsComparison>,
}

/// A change of a setting, and the value that the kernel has after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TriedChange {
    /// The change.
    #[serde(flatten)]
    pub change: Change,
    /// Shell commands that undo the change; empty: it was not made, or is an option of the test.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub undo: Vec<String>,
    /// Value that was read back after the change; none: it was not made, or is an option of the
    /// test.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub effective: Option<String>,
}

impl TriedChange {
    /// A change that was not made.
    pub const fn not_made(change: Change) -> Self {
        Self { change, undo: Vec::new(), effective: None }
    }
}

/// What became of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AttemptOutcome {
    /// The goal became better, and no other metric worse by more than the guard.
    Helped,
    /// They were undone after the tests.
    Undone,
    /// They were not made.
    NotTried,
}

/// Tests with two settings in turn, compared by each metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricsComparison {
    /// Pairs of tests that count.
    pub pairs: u32,
    /// Pairs that were measured again, since a test failed or its stamp is INVALID.
    pub repeated: u32,
    /// Whether the goal became better: [`AbFinding::Faster`] for better, [`AbFinding::Slower`] for
    /// worse.
    pub finding: AbFinding,
    /// The metrics that both sides have; the goal comes first.
    pub metrics: Vec<MetricChange>,
}

impl MetricsComparison {
    /// Whether the goal became better, and no other metric worse by more than the guard.
    pub fn helps(&self) -> bool {
        self.finding == AbFinding::Faster && self.hurt().is_none()
    }

    /// The first metric that became worse by more than the guard.
    pub fn hurt(&self) -> Option<&MetricChange> {
        self.metrics.iter().find(|metric| metric.beyond_guard)
    }
}

/// A metric with two settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricChange {
    /// What is measured.
    pub metric: Metric,
    /// Geometric mean before the change, in the unit of the metric.
    pub before: f64,
    /// Geometric mean after it.
    pub after: f64,
    /// What is after by what was before; none: there are fewer than three pairs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub effect: Option<EffectSize>,
    /// Whether the tests show that it became worse, and by more than the guard; never of the goal.
    pub beyond_guard: bool,
}

/// What a tuning makes better, or guards.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// Payload rate of all directions together, in bit/s.
    #[default]
    Throughput,
    /// Datagrams that arrive, per second; UDP.
    Pps,
    /// Median round-trip time while the test runs, in seconds: that of the probes beside it, else
    /// TCP's smoothed one.
    Latency,
    /// CPU time of the processes at both ends for a gigabyte (10^9 bytes) of payload, in seconds.
    Cpu,
}

impl Metric {
    /// All metrics.
    pub const ALL: [Self; 4] = [Self::Throughput, Self::Pps, Self::Latency, Self::Cpu];

    /// The name of the metric on a command line and in JSON, e.g. `throughput`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Pps => "pps",
            Self::Latency => "latency",
            Self::Cpu => "cpu",
        }
    }

    /// The metric in words, e.g. `CPU time per GB`.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Pps => "packet rate",
            Self::Latency => "round-trip time",
            Self::Cpu => "CPU time per GB",
        }
    }

    /// How much better a value is than another whose ratio to it is `ratio`: above 1 is better.
    pub const fn gain(self, ratio: f64) -> f64 {
        match self {
            Self::Throughput | Self::Pps => ratio,
            Self::Latency | Self::Cpu => 1.0 / ratio,
        }
    }

    /// Formats a value of this metric with its unit: `941.4 Mbit/s`, `1.2 ms`.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Throughput => BitRate::from_bits_per_second(value.round() as u64).to_string(),
            Self::Pps => format!("{value:.0} packets/s"),
            Self::Latency | Self::Cpu => {
                show_time(Duration::try_from_secs_f64(value).unwrap_or_default())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_has_its_unit_and_its_better_side() {
        let shown = Metric::ALL.map(|metric| metric.show(0.25));
        assert_eq!(shown, ["0 bit/s", "0 packets/s", "250 ms", "250 ms"]);
        let better = Metric::ALL.map(|metric| metric.gain(2.0) > 1.0);
        assert_eq!(better, [true, true, false, false]);
        for metric in Metric::ALL {
            assert_eq!(serde_json::to_value(metric).expect("JSON"), metric.name());
        }
    }

    #[test]
    fn a_change_helps_if_the_goal_is_better_and_nothing_is_hurt() {
        let metric = |metric, beyond_guard| MetricChange {
            metric,
            before: 1.0,
            after: 2.0,
            effect: None,
            beyond_guard,
        };
        let comparison = |finding, hurt| MetricsComparison {
            pairs: 4,
            repeated: 0,
            finding,
            metrics: vec![metric(Metric::Throughput, false), metric(Metric::Cpu, hurt)],
        };
        assert!(comparison(AbFinding::Faster, false).helps());
        assert!(!comparison(AbFinding::Faster, true).helps());
        assert!(!comparison(AbFinding::Equivalent, false).helps());
        let hurt = comparison(AbFinding::Faster, true).hurt().map(|it| it.metric);
        assert_eq!(hurt, Some(Metric::Cpu));
    }
}
