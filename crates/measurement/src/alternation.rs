//! Record of an A/B test ([`AbRecord`]): two settings that were measured in turn, and what the pairs
//! of runs show. Which runs are made is a matter of `campaign`, what they show of `analysis`.

use serde::{Deserialize, Serialize};

use crate::comparison::EffectSize;
use crate::heading::Heading;
use crate::plan::TestPlan;
use crate::record::{RunError, TestRecord};
use crate::remedy::Setting;
use crate::units::BitRate;

/// Format version of the JSON of an A/B test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum AbSchema {
    /// The current version.
    #[default]
    #[serde(rename = "linerate/ab/1")]
    V1,
}

/// Record of an A/B test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AbRecord {
    /// Format, version, labels and hosts.
    #[serde(flatten)]
    pub heading: Heading<AbSchema>,
    /// The setting that the other is compared with.
    pub a: AbSide,
    /// The other setting.
    pub b: AbSide,
    /// Rule by which the test ends, and its limits.
    pub rule: AbRule,
    /// Seed of the order of the runs; the same seed gives the same order.
    pub seed: u64,
    /// Pairs of runs that count.
    pub pairs: u32,
    /// Pairs that were measured again, since a run failed or its stamp is INVALID.
    pub repeated: u32,
    /// Which side is faster by the pairs.
    pub finding: AbFinding,
    /// Rates of B by those of A; none: there are fewer than three pairs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub effect: Option<EffectSize>,
    /// Other things that the runs show, a sentence each: a drift, rates on two levels.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<String>,
    /// Judged records of all runs that gave one, in the order in which they ran, with the label `ab`.
    pub records: Vec<TestRecord>,
    /// Error that ended the A/B test; none: it ran to its end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<RunError>,
}

/// One of the two settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AbSide {
    /// Options as they were typed; empty: those of both sides alone.
    pub options: String,
    /// Settings of this host that are in effect during its tests alone, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub changes: Vec<Setting>,
    /// Server of its tests, HOST:PORT; none: that of both sides.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<String>,
    /// Program that runs its tests; none: this one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub program: Option<String>,
    /// Plan of its tests.
    pub plan: TestPlan,
    /// Geometric mean of the rates of the runs that count; none: no run counts.
    #[serde(rename = "rate_bits_per_second", skip_serializing_if = "Option::is_none", default)]
    pub rate: Option<BitRate>,
}

impl AbSide {
    /// The differences of a side from the other one, in words, e.g. `-w 4M; sysctl -w
    /// net.core.rmem_max=1`.
    pub fn shown(&self) -> String {
        let options = (!self.options.is_empty()).then(|| self.options.clone());
        let server = self.server.as_ref().map(|server| format!("to {server}"));
        let program = self.program.as_ref().map(|program| format!("by {program}"));
        let changes = self.changes.iter().map(Setting::to_string);
        let all = options.into_iter().chain(program).chain(server).chain(changes);
        all.collect::<Vec<_>>().join("; ")
    }
}

/// Rule by which an A/B test ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AbRule {
    /// Pairs at which it ends undecided.
    pub most_pairs: u32,
    /// Difference that does not matter, as a share: 0.02 for 2 %.
    pub margin_ratio: f64,
    /// Confidence with which the interval holds, however often it was looked at, 0 to 1.
    pub confidence: f64,
}

/// Finding of an A/B test: which side is faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AbFinding {
    /// B is faster: the interval is above 1.
    Faster,
    /// B is slower: the interval is below 1.
    Slower,
    /// The interval is within the margin on both sides of 1.
    Equivalent,
    /// The interval has 1, and more than the margin.
    NotShown,
    /// There are too few pairs for an interval.
    TooFew,
}
