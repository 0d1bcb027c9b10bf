//! Tests between all pairs of many hosts: record of the whole ([`MeshRecord`]), and of a pair
//! ([`MeshPair`]), which is a line of the result file.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

use crate::judgement::Stamp;
use crate::record::RunError;
use crate::units::BitRate;

/// Why a pair was tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum MeshStage {
    /// Each host with others.
    Survey,
    /// All hosts at once, across switches.
    Load,
    /// A suspect with a host that is none, alone.
    Alone,
    /// Two suspects at once, each with another host.
    Together,
}

/// What limited a test by its verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeshLimit {
    /// Rule of the finding, e.g. `cpu-quota`.
    pub rule: String,
    /// Name of the host that limits; none: the path.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub host: Option<String>,
    /// The finding, without a full stop.
    pub text: String,
}

/// Result of one direction of a pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeshReading {
    /// Payload that arrived, a second.
    #[serde(rename = "rate_bits_per_second")]
    pub rate: BitRate,
    /// Share of the segments that were sent again; none: not reported.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retransmitted_ratio: Option<f64>,
    /// Whether to trust it.
    pub stamp: Stamp,
    /// What limited it; none: that is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limit: Option<MeshLimit>,
    /// What each link carried, of several that were tested at once: `rate` is their sum.
    #[serde(rename = "links_bits_per_second", skip_serializing_if = "Vec::is_empty", default)]
    pub links: Vec<BitRate>,
    /// What the first of several links carried before, while the others were idle; none: not tested.
    #[serde(
        rename = "first_link_alone_bits_per_second",
        skip_serializing_if = "Option::is_none",
        default
    )]
    pub first_alone: Option<BitRate>,
}

/// What several links between two hosts carry.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeshLinks {
    /// Number of links of a pair.
    pub links: u32,
    /// The median rate of a direction over the first link alone.
    #[serde(rename = "first_alone_bits_per_second")]
    pub first: BitRate,
    /// The same over all links at once.
    #[serde(rename = "all_bits_per_second")]
    pub all: BitRate,
}

/// A host to or from which segments are lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeshLoss {
    /// Its name.
    pub host: String,
    /// Whether it sends them; else it is to receive them.
    pub sends: bool,
    /// Its tests in that direction in which segments were lost.
    pub lossy: u32,
    /// All its tests in that direction.
    pub tests: u32,
    /// Probability that this is no chance, 0 to 1.
    pub confidence: f64,
}

/// Pairs without a result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeshMissing {
    /// Pairs that could not be tested.
    pub untested: u32,
    /// Why pairs of these have no result, a few of them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub failures: Vec<MeshFailure>,
}

/// A pair without a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeshFailure {
    /// The host that tested.
    pub a: String,
    /// The other host.
    pub b: String,
    /// Why there is no result.
    pub error: String,
}

/// A pair whose test has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeshPair {
    /// Why it was tested.
    pub stage: MeshStage,
    /// Number of the round, from 0.
    pub round: u32,
    /// The host that sent first.
    pub a: String,
    /// The other host.
    pub b: String,
    /// From `a` to `b`, then from `b` to `a`; empty: the test failed.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub readings: Vec<MeshReading>,
    /// Why the test failed; none: it did not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
}

/// A line of the result file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum MeshEvent {
    /// The first line: what is tested.
    Mesh {
        /// Version of the format.
        schema: MeshSchema,
        /// Names of the hosts.
        hosts: Vec<String>,
        /// For choices at random.
        seed: u64,
    },
    /// A pair was tested.
    Pair(MeshPair),
    /// A host does not answer any more.
    Lost {
        /// Its name.
        host: String,
        /// Why.
        error: String,
    },
}

/// Kind of a part that is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum MeshPart {
    /// A host in both directions.
    Host,
    /// A host as sender.
    Sender,
    /// A host as receiver.
    Receiver,
    /// From one host to another.
    Path,
    /// A link that hosts share.
    Shared,
    /// The uplink of a switch.
    Uplink,
    /// One of several links or switches above the uplinks.
    Spine,
}

/// A part that is slow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeshCulprit {
    /// Its kind.
    pub part: MeshPart,
    /// Its name, e.g. `n3`, `n3 -> n5`, `leaf2`.
    pub name: String,
    /// What is slow, and what that points to, without a full stop.
    pub text: String,
    /// Its rate as a share of that of others.
    pub rate_ratio: f64,
    /// Probability that it is slow, by its tests.
    pub confidence: f64,
    /// Tests of it that were slow.
    pub slow: u32,
    /// Tests of it.
    pub tests: u32,
    /// Slow tests in which many segments were lost.
    pub lossy: u32,
    /// What verdicts on its tests say, the most frequent first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub evidence: Vec<String>,
}

/// Rate of one direction of a pair: the median of its tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeshRate {
    /// The sender.
    pub from: String,
    /// The receiver.
    pub to: String,
    /// The rate.
    #[serde(rename = "rate_bits_per_second")]
    pub rate: BitRate,
}

/// Format version of the JSON of a mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum MeshSchema {
    /// The current version.
    #[default]
    #[serde(rename = "linerate/mesh/1")]
    V1,
}

/// Record of tests between many hosts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeshRecord {
    /// Version of the format.
    pub schema: MeshSchema,
    /// Version of the linerate that wrote it.
    pub linerate: String,
    /// Labels that the user gave (`--tag`).
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub tags: BTreeMap<String, String>,
    /// Names of the hosts.
    pub hosts: Vec<String>,
    /// Directions that were tested.
    pub tests: u64,
    /// Of these, those of an earlier run (`--resume`).
    #[serde(skip_serializing_if = "is_zero", default)]
    pub stored: u64,
    /// Rounds in which tests were run.
    pub rounds: u32,
    /// The median rate of one direction of a pair.
    #[serde(rename = "typical_bits_per_second")]
    pub typical: BitRate,
    /// The median rate while all hosts send across switches; none: that was not tested.
    #[serde(rename = "loaded_bits_per_second", skip_serializing_if = "Option::is_none", default)]
    pub loaded: Option<BitRate>,
    /// What one half of the hosts sent to the other half at once.
    #[serde(rename = "bisection_bits_per_second")]
    pub bisection: BitRate,
    /// Pairs that were tested at once for that.
    pub bisection_pairs: u32,
    /// What several links of a pair carry at once; none: hosts have one address.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub links: Option<MeshLinks>,
    /// Longest time from the first start of a test in a round to the last one, in seconds.
    pub skew_seconds: f64,
    /// Hosts whose agent did not tell the time: `skew_seconds` is without them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub without_clock: Vec<String>,
    /// Parts that are slow, the one that costs most first.
    pub culprits: Vec<MeshCulprit>,
    /// Hosts to or from which segments are lost though their rates hold.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub losses: Vec<MeshLoss>,
    /// Rates of all pairs of at most 64 hosts.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub rates: Vec<MeshRate>,
    /// Hosts that did not answer any more.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub lost: Vec<String>,
    /// Pairs without a result.
    #[serde(flatten)]
    pub missing: MeshMissing,
    /// Error that ended it; none: it ran to its end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<RunError>,
}

#[cfg_attr(
    target_pointer_width = "64",
    expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in a reference")
)]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Display for MeshPart {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Host => "host",
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::Path => "path",
            Self::Shared => "shared link",
            Self::Uplink => "uplink",
            Self::Spine => "spine",
        })
    }
}
