//! Record of a device under test ([`DutRecord`]): what a forwarder between two ports of this host
//! carries, by size of frame and direction, in the terms of RFC 2544 and RFC 9971. Loads are those of
//! frames with their check sequence.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::judgement::Stamp;
use crate::packets::{EngineUse, FrameLatency, PacketsOrigin};
use crate::search::{GoalResult, SearchTrial};
use crate::units::BitRate;

/// From which port to which frames go through the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FrameDirection {
    /// From port A to port B.
    AToB,
    /// From port B to port A.
    BToA,
    /// Both at once: loads and losses are those of both together.
    Both,
}

impl Display for FrameDirection {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::AToB => "A to B",
            Self::BToA => "B to A",
            Self::Both => "both",
        })
    }
}

/// Latency at a share of the throughput (RFC 2544, section 26.2).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyAtLoad {
    /// Share of the throughput, 0 to 1.
    pub share: f64,
    /// The load.
    #[serde(rename = "load_bits_per_second")]
    pub load: BitRate,
    /// Lost frames as a share of those sent, 0 to 1.
    pub lost_ratio: f64,
    /// Times of the frames that arrived; none: no frame did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub latency: Option<FrameLatency>,
}

/// Frames back to back (RFC 2544, section 26.4; RFC 9004).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BackToBack {
    /// The longest burst that arrived whole, in frames.
    pub frames: u64,
    /// The rate within it: the fastest of the tester.
    #[serde(rename = "load_bits_per_second")]
    pub load: BitRate,
    /// Whether a longer one lost frames; else that was the longest that was tried.
    pub is_limit: bool,
}

/// Observation of the device by a linerate on it: its counters and samples during an overload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceSeen {
    /// Name or address of the device.
    pub name: String,
    /// Findings that limit it or may do so, a sentence each; the most significant first.
    pub findings: Vec<String>,
    /// Share of its busy CPU time in packet filters and connection tracking, 0 to 1; none: it was not
    /// sampled.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub filter_share: Option<f64>,
    /// CPU time in them for each frame that it forwarded, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub filter_nanos_per_frame: Option<f64>,
    /// Why something is not known.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<String>,
}

impl DeviceSeen {
    /// Sentences on its limit, the most significant first.
    pub fn sentences(&self) -> impl Iterator<Item = String> + '_ {
        let share = self.filter_share.filter(|share| *share >= COSTLY);
        let filters = share.map(|share| {
            let each = self.filter_nanos_per_frame.map(|nanos| format!(", {nanos:.0} ns a frame"));
            format!(
                "{} runs packet filters in {:.0} % of its busy CPU time{}",
                self.name,
                share * 100.0,
                each.unwrap_or_default()
            )
        });
        filters.into_iter().chain(self.findings.iter().cloned())
    }
}

/// Share of the busy time from which on packet filters are told of.
const COSTLY: f64 = 0.05;

/// Part of the path that keeps a device under test from carrying more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Limiter {
    /// The device.
    Device,
    /// The link: its speed is reached.
    Wire,
    /// The tester, which sends or receives no more: the result says nothing of the device.
    Tester,
    /// No load failed.
    None,
}

/// Limit of a row: the part of the path, the evidence, and whether the numbers are the device's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DutLimit {
    /// Who.
    pub who: Limiter,
    /// How that is known: a sentence.
    pub why: String,
    /// INVALID where the tester is the limit or was disturbed.
    pub stamp: Stamp,
}

/// Result of one size of frame, or mix of sizes, in one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DutRow {
    /// Direction of the frames.
    pub direction: FrameDirection,
    /// Sizes of the frames in turn, with the frame check sequence, in bytes.
    pub sizes: Vec<usize>,
    /// Number of the run of this row, from 0.
    pub run: u32,
    /// Engine that sent, and why that one.
    pub send_engine: EngineUse,
    /// Engine that received, and why that one.
    pub receive_engine: EngineUse,
    /// Throughput by the loss that may be, in the order of the goals.
    pub goals: Vec<GoalResult>,
    /// Frames of all trials that arrived once more.
    pub duplicates: u64,
    /// Frames of all trials that arrived after one that was sent later (RFC 4737).
    pub reordered: u64,
    /// Remarks on overloads, and on how the device recovers from them, a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub remarks: Vec<String>,
    /// Latency at shares of the throughput.
    pub latency: Vec<LatencyAtLoad>,
    /// The longest burst without loss; none: not measured.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub back_to_back: Option<BackToBack>,
    /// Observation of the device; none: it was not asked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub device: Option<DeviceSeen>,
    /// Limit of the row; none: it ended early.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limit: Option<DutLimit>,
    /// The trials in the order in which they ran: the frame loss curve (RFC 2544, section 26.3).
    pub trials: Vec<SearchTrial>,
    /// How long the row took, in seconds.
    #[serde(rename = "took_seconds", with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub took: Duration,
}

impl DutRow {
    /// Mean size of a frame, with the frame check sequence, in bytes.
    pub fn mean_size(&self) -> f64 {
        self.sizes.iter().sum::<usize>() as f64 / self.sizes.len().max(1) as f64
    }

    /// Frames in a second at a load.
    pub fn frames_per_second(&self, load: BitRate) -> f64 {
        load.bits_per_second() as f64 / 8.0 / self.mean_size().max(1.0)
    }
}

/// Format version of the JSON of a device under test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum DutSchema {
    /// The current version.
    #[default]
    #[serde(rename = "linerate/dut/1")]
    V1,
}

/// Record of a device under test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DutRecord {
    /// Format and version.
    pub schema: DutSchema,
    /// Program and host that made the record.
    pub origin: PacketsOrigin,
    /// Name of port A.
    pub port_a: String,
    /// Name of port B.
    pub port_b: String,
    /// Rows in the order in which they ran.
    pub rows: Vec<DutRow>,
    /// In what the tests deviate from RFC 2544.
    pub deviations: Vec<String>,
    /// Whether a signal ended it early.
    pub interrupted: bool,
}

impl DutRecord {
    /// The gravest stamp of its rows; a row that ended early has none.
    pub fn stamp(&self) -> Stamp {
        let stamps = self.rows.iter().filter_map(|row| row.limit.as_ref());
        stamps.map(|limit| limit.stamp).max().unwrap_or_default()
    }
}
