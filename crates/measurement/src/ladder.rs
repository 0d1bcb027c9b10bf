//! Record of a ladder ([`LadderRecord`]): what each layer of a path gives, from the speed of the link
//! down to a plain application, and what was lost from rung to rung. Which tests make the rungs is
//! a matter of `campaign`, what they say of `analysis`.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::heading::Heading;
use crate::packets::PacketsRecord;
use crate::record::{RunError, TestRecord};
use crate::responsiveness::Grade;
use crate::transport::Direction;
use crate::units::BitRate;

/// A layer of a ladder, from the lowest to the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// The link by its own word: the lowest speed that the interfaces of both ends report.
    Link,
    /// Frames of UDP below the sockets (AF_XDP or AF_PACKET) that leave this host; nothing counts at
    /// the far end.
    Frames,
    /// UDP in packets of many datagrams (`UDP_SEGMENT` and `UDP_GRO`, udp(7)).
    UdpBatched,
    /// UDP with a system call for each datagram (send(2)).
    UdpSingle,
    /// Several TCP streams without copies (sendfile(2), `MSG_TRUNC`).
    TcpStreams,
    /// One such TCP stream.
    TcpStream,
    /// One TCP stream that copies blocks of 128 KiB by write and read, as iperf3 does by default.
    Application,
}

/// A rung of a ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rung {
    /// The layer.
    pub layer: Layer,
    /// Its rate: the speed of the link, the payload of frames that left, or the payload that arrived;
    /// none: not known.
    #[serde(rename = "rate_bits_per_second", skip_serializing_if = "Option::is_none", default)]
    pub rate: Option<BitRate>,
    /// Its rate as a share of that of the link; none: either is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub of_link_ratio: Option<f64>,
    /// Its rate as a share of that of the rung above; none: either is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub of_above_ratio: Option<f64>,
    /// Datagrams that were lost as a share of those sent; none: TCP, or not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost_ratio: Option<f64>,
    /// Of the link who says so; else why less arrives than on the rung above, by the verdict on the
    /// test. None: it does not, or there is no verdict.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub explanation: Option<String>,
    /// Judged record of the test; none: the link, or frames.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub record: Option<Box<TestRecord>>,
    /// Record of the frames below the sockets; none: another layer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub frames: Option<Box<PacketsRecord>>,
}

/// Round trips beside one TCP stream of a ladder: medians, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LadderLatency {
    /// On the idle path.
    #[serde(rename = "idle_seconds", with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub idle: Duration,
    /// Under the load of the stream.
    #[serde(rename = "loaded_seconds", with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub loaded: Duration,
    /// Grade of the delay that the load adds.
    pub grade: Grade,
}

/// Format version of the JSON of a ladder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum LadderSchema {
    /// The current version.
    #[default]
    #[serde(rename = "linerate/ladder/1")]
    V1,
}

/// Record of a ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LadderRecord {
    /// Format, version, labels and hosts.
    #[serde(flatten)]
    pub heading: Heading<LadderSchema>,
    /// Direction of the tests.
    pub direction: Direction,
    /// Streams of the rung of several TCP streams.
    pub streams: u32,
    /// The rungs whose tests have ended, the link first.
    pub rungs: Vec<Rung>,
    /// Round trips beside one TCP stream; none: they were not measured.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub latency: Option<LadderLatency>,
    /// Layers that are not measured, a sentence each.
    pub left_out: Vec<String>,
    /// Error that ended the ladder; none: it ran to its end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<RunError>,
}

impl Layer {
    /// The layers that tests with a server measure, in the order in which they are measured: the rate
    /// of UDP is searched from that of TCP streams on.
    pub const MEASURED: [Self; 5] =
        [Self::TcpStreams, Self::UdpBatched, Self::UdpSingle, Self::TcpStream, Self::Application];
}

impl Display for Layer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Link => "link",
            Self::Frames => "frames",
            Self::UdpBatched => "UDP, batched",
            Self::UdpSingle => "UDP, one by one",
            Self::TcpStreams => "TCP, many streams",
            Self::TcpStream => "TCP, one stream",
            Self::Application => "application",
        })
    }
}
