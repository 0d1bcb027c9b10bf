//! The judgement on a record ([`Judgement`]): whether to trust its numbers ([`Stamp`]), where its
//! datagrams went ([`Ledger`]), and what limited the test.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::host::{Gap, Role};
use crate::rule::RuleId;
use crate::transport::Direction;
use crate::units::BitRate;
use crate::verdict::{Attribution, Verdict};

/// Stamp of a result: whether its numbers can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum Stamp {
    /// The numbers are what the test was to measure.
    #[default]
    Valid,
    /// The numbers may be affected by something that the test was not to measure.
    Suspect,
    /// The numbers do not answer what the test was to measure.
    Invalid,
}

impl Display for Stamp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Valid => "VALID",
            Self::Suspect => "SUSPECT",
            Self::Invalid => "INVALID",
        })
    }
}

/// Judgement on a record: whether to trust its numbers, where its payload went, and what limited
/// the test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judgement {
    /// The worst stamp of the reasons.
    pub stamp: Stamp,
    /// Reasons for the stamp, and information on the result; the worst first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub reasons: Vec<Reason>,
    /// Checks that could not be made, with the reasons.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unchecked: Vec<Gap>,
    /// Account of each direction, in the order of `outcome.directions`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub directions: Vec<DirectionAccount>,
    /// CPU time by kind of work, for each host that reported a profile.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub attributions: Vec<Attribution>,
    /// Verdict on what limited the test. None: nothing was measured.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub verdict: Option<Verdict>,
}

/// Reason for the [`Stamp`] of a result, or information on the result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reason {
    /// The rule that found it, e.g. `run-delay`; `linerate explain` prints its manual page.
    pub rule: RuleId,
    /// The stamp that the reason demands; [`Stamp::Valid`]: it is information only.
    pub stamp: Stamp,
    /// Host that the reason is about; none: the test as a whole.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub host: Option<Role>,
    /// The finding and its remedy, in one sentence.
    pub text: String,
}

/// Account of one direction: where its datagrams went, and what limited its TCP senders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectionAccount {
    /// The direction: [`Direction::Send`] or [`Direction::Receive`].
    pub direction: Direction,
    /// Rate of the frames that arrived, payload and headers, as queueing disciplines count them
    /// (tc-stab(8)); none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub on_wire: Option<BitRate>,
    /// UDP: account of every datagram.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ledger: Option<Ledger>,
    /// TCP: shares of the time and retransmissions of the senders.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tcp: Option<TcpAccount>,
    /// The part of the test in which the rate was steady; none: the test was too short.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub steady: Option<Steady>,
}

/// A place where datagrams can be dropped, in the order of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The sender's kernel, before any queue.
    Sender,
    /// A queueing discipline of the sender.
    SenderQueue,
    /// A network interface of the sender.
    SenderInterface,
    /// The ingress hook of an observed host on the path (tc, nftables), before its IP layer.
    ObservedIngress,
    /// The IP layer of an observed host on the path: received, but not forwarded.
    ObservedForward,
    /// A queueing discipline of an observed host on the path.
    ObservedQueue,
    /// A network interface, or the backlog of a CPU (softnet), of an observed host on the path.
    ObservedInterface,
    /// A network interface of the receiver.
    ReceiverInterface,
    /// The backlog of a CPU of the receiver (softnet).
    ReceiverBacklog,
    /// The ingress hook of the receiver (tc, nftables), before its IP layer.
    ReceiverIngress,
    /// The receiver's IP layer: reassembly, checksums.
    ReceiverStack,
    /// Packet filter of the receiver, on input (netfilter hooks PREROUTING and INPUT).
    ReceiverFirewall,
    /// The receiver's socket: its receive buffer was full.
    ReceiverSocket,
}

/// Datagrams that were dropped in one [`Place`] of the path, by a counter of the kernel there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Drop {
    /// Place of the drops.
    pub place: Place,
    /// The kernel's name of the counter, e.g. `qdisc tbf 8001: of eth0`.
    pub counter: String,
    /// Growth of the counter during the test. One count may stand for several datagrams that were
    /// one packet (GSO, GRO).
    pub counted: u64,
    /// Least number of datagrams of this test among the drops.
    pub least: u64,
    /// Greatest number of datagrams of this test among the drops.
    pub most: u64,
    /// Part of the lost datagrams that is attributed to this place; all parts and
    /// [`Ledger::remainder`] add up to the loss.
    pub datagrams: u64,
}

/// Account of every datagram of one direction: sent = received + late + in flight + drops +
/// remainder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ledger {
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams received at least once.
    pub received: u64,
    /// Datagrams that arrived too late to distinguish them from duplicates.
    pub late: u64,
    /// Datagrams in flight when a plain iperf3 receiver stopped counting: neither received nor
    /// lost.
    pub in_flight: u64,
    /// Lost datagrams that were sent after the last one that arrived; `drops` and `remainder`
    /// include them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tail: Option<u64>,
    /// Drops on the hosts of the test, in the order of the path.
    pub drops: Vec<Drop>,
    /// Lost datagrams that no counter explains: dropped on the path, or on a host that reports no
    /// counters.
    pub remainder: u64,
    /// Least value of `remainder`, where counters are not exact.
    pub remainder_least: u64,
    /// Greatest value of `remainder`, where counters are not exact.
    pub remainder_most: u64,
    /// Whether the counters of the receiver's host are known.
    pub receiver_told: bool,
    /// Whether the counters of the sender's host are known.
    pub sender_told: bool,
}

impl Ledger {
    /// Number of lost datagrams: sent, but neither received nor late nor in flight.
    pub const fn lost(&self) -> u64 {
        self.sent
            .saturating_sub(self.received)
            .saturating_sub(self.late)
            .saturating_sub(self.in_flight)
    }
}

/// Shares of the time, and retransmissions, of the TCP senders of one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TcpAccount {
    /// Payload bytes that the peer's kernel acknowledged.
    #[serde(rename = "acknowledged_bytes")]
    pub acknowledged: u64,
    /// Payload bytes that were retransmitted.
    #[serde(rename = "retransmitted_bytes")]
    pub retransmitted: u64,
    /// Retransmitted segments that had arrived already (duplicate SACKs, RFC 2883).
    pub spurious_segments: u64,
    /// Segments that were retransmitted.
    pub retransmitted_segments: u64,
    /// How often the sender detected reordered segments.
    pub reorderings: u64,
    /// Median of the smoothed round-trip times under load, in microseconds; none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rtt_micros: Option<u32>,
    /// Least round-trip time in microseconds; none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub min_rtt_micros: Option<u32>,
    /// Shares of the time by limit; none: the sender does not report them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub shares: Option<TimeShares>,
}

/// Shares of the time of a TCP sender by what limited it, mean over its streams; they add up to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeShares {
    /// The application had no unacknowledged data (application-limited).
    pub application: f64,
    /// The receive window of the peer was full (`rwnd_limited`).
    pub receive_window: f64,
    /// The send buffer was full (`sndbuf_limited`).
    pub send_buffer: f64,
    /// The remaining time: the congestion window, and with it the path, or the speed of the sender.
    pub congestion_window: f64,
}

/// The longest part of a test in which the rate of one direction did not change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Steady {
    /// Begin of the steady part, in seconds since the start of the test.
    #[serde(with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[serde(rename = "from_seconds")]
    pub from: Duration,
    /// End of the steady part, in seconds since the start of the test.
    #[serde(with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[serde(rename = "to_seconds")]
    pub to: Duration,
    /// Rate in the steady part.
    #[serde(rename = "rate_bits_per_second")]
    pub rate: BitRate,
    /// Average rate of the whole test, without the omitted start (`--omit`) and the end of the
    /// sending.
    #[serde(rename = "whole_bits_per_second")]
    pub whole: BitRate,
}

/// Payload of one direction at one end of a test, in short intervals of equal length.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pulse {
    /// Whether the end that counted these bytes sends them.
    pub sender: bool,
    /// Length of an interval, in seconds.
    #[serde(with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[serde(rename = "every_seconds")]
    pub every: Duration,
    /// Payload bytes in each interval since the start of the test, including the omitted start.
    pub bytes: Vec<u64>,
}
