//! Record of frames sent below the sockets ([`PacketsRecord`]): what was sent and what arrived, and
//! where the rest went.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What sends or receives frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PacketEngine {
    /// AF_XDP with copies.
    AfXdp,
    /// AF_XDP whose memory the device uses.
    AfXdpZeroCopy,
    /// AF_PACKET; when sending past the queueing discipline.
    AfPacket,
    /// A program of XDP that counts and drops.
    XdpCount,
    /// A program of XDP that makes and sends frames, in the live frame mode of `BPF_PROG_RUN`.
    XdpLive,
}

impl PacketEngine {
    /// The name of the engine for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AfXdp => "AF_XDP",
            Self::AfXdpZeroCopy => "AF_XDP, zero copy",
            Self::AfPacket => "AF_PACKET",
            Self::XdpCount => "XDP program that counts",
            Self::XdpLive => "XDP program that makes frames",
        }
    }
}

/// The engine that ran, and why that one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EngineUse {
    /// The engine.
    pub engine: PacketEngine,
    /// Why this one, or where its program runs.
    pub why: String,
}

/// Frames that were dropped at a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DropCount {
    /// Where.
    pub place: String,
    /// How many.
    pub frames: u64,
}

/// A number of frames, and its rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FrameRate {
    /// Frames.
    pub frames: u64,
    /// Their bytes, with the frame check sequence.
    pub bytes: u64,
    /// Frames in a second.
    pub frames_per_second: f64,
    /// Bits in a second, of the bytes.
    pub bits_per_second: f64,
    /// Bits in a second on the wire: with preamble and gap, 20 bytes a frame.
    pub wire_bits_per_second: f64,
}

impl FrameRate {
    /// So many frames of so many bytes within a time.
    pub fn new(frames: u64, bytes: u64, span: Duration) -> Self {
        let seconds = span.as_secs_f64().max(1e-9);
        let bits = bytes as f64 * 8.0 / seconds;
        let frames_per_second = frames as f64 / seconds;
        Self {
            frames,
            bytes,
            frames_per_second,
            bits_per_second: bits,
            wire_bits_per_second: bits + frames_per_second * OVERHEAD_BITS,
        }
    }
}

/// Counts of one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowCount {
    /// Number of the flow, from 0 on.
    pub flow: u16,
    /// Frames sent.
    pub sent: u64,
    /// Different frames that arrived.
    pub received: u64,
    /// Frames that did not arrive.
    pub lost: u64,
    /// Frames that arrived once more.
    pub duplicates: u64,
    /// Frames that arrived after one that was sent later (RFC 4737).
    pub reordered: u64,
}

/// Times from sending to receiving, in nanoseconds, to one part in 256.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FrameLatency {
    /// Frames that were timed.
    pub frames: u64,
    /// Half of the times are no longer.
    pub p50_nanos: u64,
    /// Nine of ten are no longer.
    pub p90_nanos: u64,
    /// 99 of 100 are no longer.
    pub p99_nanos: u64,
    /// 999 of 1,000 are no longer.
    pub p999_nanos: u64,
    /// The longest.
    pub max_nanos: u64,
}

/// CPU time for each frame that was sent, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuPerFrame {
    /// Thread that sends, in user space and kernel.
    pub sender_nanos: f64,
    /// Thread that receives; it spins.
    pub receiver_nanos: f64,
    /// User space of this process.
    pub user_nanos: f64,
    /// Kernel on behalf of this process.
    pub system_nanos: f64,
    /// Softirqs of all CPUs, by the ticks of `/proc/stat`.
    pub softirq_nanos: f64,
}

/// Program and host that wrote a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PacketsOrigin {
    /// Version of the linerate that wrote the record.
    pub linerate: String,
    /// Name of the host.
    pub host: String,
    /// Release of its kernel (uname(2)).
    pub kernel: String,
}

/// Frames that did not arrive, or not once and in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FrameLosses {
    /// Frames that did not arrive; none: nothing received here.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost: Option<u64>,
    /// Frames that arrived once more; none: the engine does not tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub duplicates: Option<u64>,
    /// Frames that arrived after one that was sent later; none: the engine does not tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reordered: Option<u64>,
}

/// Record of `linerate packets`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PacketsRecord {
    /// Who wrote the record.
    #[serde(flatten)]
    pub origin: PacketsOrigin,
    /// Interface that sent.
    pub from: String,
    /// Interface that received; none: another host's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub to: Option<String>,
    /// Ethernet address to which frames went.
    pub destination_mac: String,
    /// Address to which frames went.
    pub destination: std::net::IpAddr,
    /// Sizes of the frames in turn, with the frame check sequence, in bytes.
    pub sizes: Vec<usize>,
    /// VLAN identifier; none: no tag.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub vlan: Option<u16>,
    /// Frames in a second that were asked for; none: as many as can be.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub asked_frames_per_second: Option<f64>,
    /// How long frames were sent, in seconds.
    #[serde(rename = "duration_seconds", with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub duration: Duration,
    /// What sent, and why.
    pub send_engine: EngineUse,
    /// What received, and why; none: nothing received here.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub receive_engine: Option<EngineUse>,
    /// Frames sent.
    pub sent: FrameRate,
    /// Frames that arrived; none: nothing received here.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub received: Option<FrameRate>,
    /// Frames that did not arrive as they were sent.
    #[serde(flatten)]
    pub losses: FrameLosses,
    /// Where frames were dropped, by the counters of interfaces and sockets.
    pub drops: Vec<DropCount>,
    /// Lost frames that no counter tells of; negative: counters tell of more, as of other traffic.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unaccounted: Option<i64>,
    /// CPU time for each frame.
    pub cpu: CpuPerFrame,
    /// Times from sending to receiving; none: the engine does not tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub latency: Option<FrameLatency>,
    /// Each flow; none: the engine does not tell.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub flows: Vec<FlowCount>,
    /// Whether a signal ended it early.
    pub interrupted: bool,
}

impl PacketsRecord {
    /// Bytes of the payload of UDP in a frame of `size` bytes with its check sequence.
    pub const fn payload_bytes(&self, size: usize) -> usize {
        let tag = if self.vlan.is_some() { 4 } else { 0 };
        let ip = if self.destination.is_ipv4() { 20 } else { 40 };
        size.saturating_sub(ETHERNET + tag + ip + UDP)
    }
}

/// Bytes of an Ethernet header and of the frame check sequence.
const ETHERNET: usize = 14 + 4;
/// Bytes of a UDP header.
const UDP: usize = 8;
/// Preamble, start delimiter and gap (IEEE 802.3).
const OVERHEAD_BITS: f64 = 160.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wire_has_preamble_and_gap() {
        // 1 Gbit/s of the smallest frames: RFC 2544's 1,488,095.
        let rate = FrameRate::new(1_488_095, 1_488_095 * 64, Duration::from_secs(1));
        assert!((rate.wire_bits_per_second - 1e9).abs() < 1_000.0);
        assert!((rate.bits_per_second - 761_904_640.0).abs() < 1.0);
    }
}
