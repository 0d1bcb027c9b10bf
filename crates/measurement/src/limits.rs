//! The ranges of the fields of a plan, and the errors of a draft that leaves them.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::pacing::Pacing;
use crate::units::{ByteSize, group_thousands, show_duration};

/// A field of a plan whose value has a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanField {
    /// Number of parallel streams.
    Streams,
    /// Duration of the omitted start.
    Omit,
    /// Time between two samples.
    Interval,
    /// Duration of the test.
    Time,
    /// Amount of payload in bytes.
    Bytes,
    /// Amount of payload in blocks.
    Blocks,
    /// Length of a block or datagram.
    Length,
    /// Size of the socket buffers.
    Window,
    /// Maximum segment size of TCP.
    Mss,
    /// Blocks that may be sent at once.
    Burst,
    /// Time to live of packets.
    HopLimit,
    /// Flow label of IPv6.
    FlowLabel,
    /// Length of a request.
    Request,
    /// Length of a response.
    Response,
    /// Requests that may wait for their responses.
    Depth,
    /// Time from one request to the next.
    Every,
}

impl PlanField {
    pub(crate) fn check(self, value: u64, range: RangeInclusive<u64>) -> Result<(), PlanError> {
        if range.contains(&value) {
            return Ok(());
        }
        Err(PlanError::OutOfRange { field: self, value, least: *range.start(), most: *range.end() })
    }

    /// Name of the field, and a function that formats its values; times are in milliseconds, times
    /// between requests in microseconds.
    fn describe(self) -> (&'static str, fn(u64) -> String) {
        let time = |millis| show_duration(Duration::from_millis(millis));
        let bytes = |bytes| ByteSize::from_bytes(bytes).expanded();
        match self {
            Self::Streams => ("the number of streams", group_thousands),
            Self::Omit => ("the omitted time", time),
            Self::Interval => ("the interval", time),
            Self::Time => ("the time", time),
            Self::Bytes => ("the amount", bytes),
            Self::Blocks => ("the number of blocks", group_thousands),
            Self::Length => ("the length", bytes),
            Self::Window => ("the window", bytes),
            Self::Mss => ("the MSS", bytes),
            Self::Burst => ("the burst", group_thousands),
            Self::HopLimit => ("the time to live", group_thousands),
            Self::FlowLabel => ("the flow label", group_thousands),
            Self::Request => ("the request", bytes),
            Self::Response => ("the response", bytes),
            Self::Depth => ("the depth", group_thousands),
            Self::Every => ("the pause", |micros| show_duration(Duration::from_micros(micros))),
        }
    }
}

/// Reason for which the draft of a test plan is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// A number is outside the range that the protocol and the kernel accept.
    OutOfRange {
        /// The field with the number.
        field: PlanField,
        /// The invalid value, in the unit of the field.
        value: u64,
        /// Least accepted value.
        least: u64,
        /// Greatest accepted value.
        most: u64,
    },
    /// The omitted start is no multiple of a second, the unit of the protocol.
    OmittedFraction(Duration),
    /// The name of the congestion control is empty, or longer than the kernel accepts
    /// (`TCP_CA_NAME_MAX` in `net/tcp.h`).
    CongestionName(String),
    /// A pacing was chosen for streams without a rate.
    PacingWithoutRate(Pacing),
    /// Pages were chosen for a payload that this host does not send over TCP from its memory.
    PagesOfOthers,
    /// The exchange contradicts the rest of the plan: it needs one direction, a duration and no
    /// rate; requests with a connection each need TCP and a depth of 1.
    NoSuchExchange,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { field, value, least, most } => {
                let (name, show) = field.describe();
                write!(f, "{name} cannot be {}: ", show(*value))?;
                if *most == MAX_AMOUNT {
                    write!(f, "choose {} or more", show(*least))
                } else {
                    write!(f, "choose between {} and {}", show(*least), show(*most))
                }
            }
            Self::OmittedFraction(omit) => write!(
                f,
                "the omitted time cannot be {}: choose whole seconds",
                show_duration(*omit)
            ),
            Self::CongestionName(name) => write!(
                f,
                "'{name}' cannot name a congestion control: see \
                 /proc/sys/net/ipv4/tcp_available_congestion_control"
            ),
            Self::PacingWithoutRate(pacing) => {
                write!(f, "{pacing} pacing needs a rate: add -b RATE")
            }
            Self::PagesOfOthers => f.write_str(
                "pages are those of memory that this host sends over TCP: leave UDP, receiving \
                 and sendfile out",
            ),
            Self::NoSuchExchange => f.write_str(
                "requests go from client to server, for a time, without a rate; one per \
                 connection only over TCP",
            ),
        }
    }
}

impl std::error::Error for PlanError {}

/// Maximum number of streams between two linerates, those of both directions together: results of
/// more are longer than a message may be (clause 5.4 of docs/protocol/iperf3.md).
pub const MAX_STREAMS: u32 = 131_070;
/// Maximum number of streams per direction of iperf3 (clause 6.3 of docs/protocol/iperf3.md).
pub const IPERF3_STREAMS: u32 = 128;
/// Largest payload of a UDP datagram over IPv4 in bytes: 65,535 less the IP and UDP headers.
pub const MAX_DATAGRAM: u64 = 65_507;
/// Least payload of a datagram in bytes: the header with a 64-bit sequence number.
pub const MIN_DATAGRAM: u64 = 16;
/// Largest block over TCP in bytes, the limit of iperf3.
pub const MAX_TCP_BLOCK: u64 = 1024 * 1024;
/// Up to here JSON's doubles are exact.
pub(crate) const MAX_AMOUNT: u64 = 1 << 53;
pub(crate) const MAX_WINDOW: u64 = 512 * 1024 * 1024;
/// iperf3's limit.
pub(crate) const MAX_BURST: u64 = 1000;
/// Twenty bits (RFC 6437).
pub(crate) const MAX_FLOW_LABEL: u64 = 0xF_FFFF;
pub(crate) const MAX_MSS: u64 = 32 * 1024 - 1;
/// Longest duration of a test: one day.
pub const MAX_TIME: Duration = Duration::from_secs(86_400);
pub(crate) const MAX_OMIT: Duration = Duration::from_secs(600);
pub(crate) const MAX_CONGESTION_NAME: usize = 15;
