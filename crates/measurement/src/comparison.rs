//! What came of a comparison of two sets of records ([`Comparison`]), and of one series of runs by
//! version ([`Versions`]). Data only: `analysis` computes it, `report` prints it.

use serde::{Deserialize, Serialize};

use crate::figure::Quantity;

/// A comparison of runs before a change with runs after it, row by row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Confidence with which all of the intervals hold together, 0 to 1.
    pub confidence: f64,
    /// The rows that both sides have, in the order of the side before.
    pub rows: Vec<RowComparison>,
    /// Titles of rows that one side alone has.
    pub unmatched: Vec<String>,
    /// Those of them that the side before has: what is not measured any more.
    pub missing: Vec<String>,
    /// Settings of the tests and of their hosts that differ.
    pub differences: Vec<Difference>,
    /// Kernel releases of the hosts that wrote the records, with commas between them, before and
    /// after; empty: not known.
    pub kernels: (String, String),
}

/// One row before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowComparison {
    /// Its title, e.g. `TCP send`.
    pub row: String,
    /// What was measured.
    pub quantity: Quantity,
    /// The runs before.
    pub before: Side,
    /// The runs after.
    pub after: Side,
    /// How the interval was computed.
    pub method: Method,
    /// What the runs show. None: there is no run to compare on one of the sides.
    pub effect: Option<EffectSize>,
}

impl RowComparison {
    /// Whether the runs show that the row is better or worse; none: they do not, or there are too
    /// few.
    pub fn shown(&self) -> Option<Change> {
        let interval = self.effect?.interval?;
        let (one, other) = (self.quantity.gain(interval.low), self.quantity.gain(interval.high));
        match (one.min(other), one.max(other)) {
            (low, _) if low > 1.0 => Some(Change::Better),
            (_, high) if high < 1.0 => Some(Change::Worse),
            _ => None,
        }
    }

    /// Whether the runs show a loss, and it is more than this share, 0 to 1.
    pub fn is_worse_by(&self, share: f64) -> bool {
        let gain = self.effect.map(|effect| self.quantity.gain(effect.ratio));
        self.shown() == Some(Change::Worse) && gain.is_some_and(|gain| gain < 1.0 - share)
    }
}

/// The runs of one row on one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Side {
    /// Runs that count.
    pub runs: u32,
    /// Runs that were left out since their stamp is INVALID, or nothing was measured.
    pub left_out: u32,
    /// Of those that count, runs with the stamp SUSPECT.
    pub suspect: u32,
    /// Geometric mean, in the unit of the quantity; zero: no run counts.
    pub mean: f64,
}

/// How the interval of a ratio was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Student's t of the logarithms of the ratios of pairs: the runs of both sides alternated.
    Paired,
    /// Welch's t of the logarithms: the runs of both sides did not alternate.
    Welch,
    /// None: one of the sides has too few runs.
    TooFew,
}

/// How large a difference is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EffectSize {
    /// What is after, by what was before.
    pub ratio: f64,
    /// Interval of that ratio; none: there are too few runs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interval: Option<RatioInterval>,
}

/// A confidence interval of a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RatioInterval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl RatioInterval {
    /// The largest difference from equality that it leaves open, as a share: 0.02 for 0.98 to 1.01.
    pub fn widest(&self) -> f64 {
        f64::max(1.0 - self.low, self.high - 1.0)
    }
}

/// What runs show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// A higher rate, or a shorter round trip.
    Better,
    /// A lower rate, or a longer round trip.
    Worse,
}

/// A setting that differs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Difference {
    /// What it is a setting of, and its name: `plan options.congestion`,
    /// `client settings.net.core.rmem_max`.
    pub what: String,
    /// Its value before; empty: it was not set.
    pub before: String,
    /// Its value after; empty: it is not set.
    pub after: String,
}

/// Runs of one row, by the version of something, e.g. of the kernel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Versions {
    /// The series: row, host and peer.
    pub series: String,
    /// What was measured.
    pub quantity: Quantity,
    /// The versions in the order in which they were first run.
    pub versions: Vec<Version>,
    /// Changes between versions that the runs show, in that order.
    pub changes: Vec<VersionChange>,
    /// Whether each change of version could be tested; else, how many runs a version needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs_runs: Option<u32>,
    /// Confidence of the test over all changes of version, 0 to 1.
    pub confidence: f64,
}

/// The runs with one version.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Version {
    /// Its name, e.g. `6.12.41`; empty: not known.
    pub name: String,
    /// Its runs that count.
    pub side: Side,
}

/// A change between two versions that follow each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VersionChange {
    /// The last version before it.
    pub from: String,
    /// The first version after it.
    pub to: String,
    /// The runs since then by those before.
    pub effect: EffectSize,
    /// Whether it is better or worse.
    pub change: Change,
}
