//! The judgement on a record: the account of its payload, and whether to trust its numbers.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::host::{Gap, Role};
use crate::rule::RuleId;
use crate::transport::Direction;
use crate::units::BitRate;
use crate::verdict::{Attribution, Verdict};

/// Whether to believe a result.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "UPPERCASE")]
pub enum Stamp {
    /// The numbers mean what they say.
    #[default]
    Valid,
    /// Something beside what was to be measured may be in them.
    Suspect,
    /// They do not answer what was asked.
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

/// The judgement on a record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judgement {
    /// The worst of what its reasons ask for.
    pub stamp: Stamp,
    /// Why, and what else a reader must know; the gravest first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub reasons: Vec<Reason>,
    /// Checks that could not be made, and why.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unchecked: Vec<Gap>,
    /// The account of each direction, in the order of the outcome's.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub directions: Vec<DirectionAccount>,
    /// CPU time by kind of work, of each host that reported a profile.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub attributions: Vec<Attribution>,
    /// The verdict. None: nothing was measured.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub verdict: Option<Verdict>,
}

/// One thing that a reader must know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// The rule that found it, e.g. `run-delay`; `linerate explain` has its page.
    pub rule: RuleId,
    /// The stamp that it demands; [`Stamp::Valid`]: it is information only.
    pub stamp: Stamp,
    /// Which host it is about; none: the test as a whole.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub host: Option<Role>,
    /// One sentence: what is so, and what to do about it.
    pub text: String,
}

/// The account of one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionAccount {
    /// [`Direction::Send`] or [`Direction::Receive`].
    pub direction: Direction,
    /// UDP: where every datagram went.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ledger: Option<Ledger>,
    /// TCP: what the sender waited for, and what it sent again.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tcp: Option<TcpAccount>,
    /// When the rate was steady; none: the test was too short.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub steady: Option<Steady>,
}

/// Where datagrams can go that do not arrive, in the order of their way.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The sender's kernel took them and threw them away, before any queue.
    Sender,
    /// A queueing discipline of the sender.
    SenderQueue,
    /// The sender's interface.
    SenderInterface,
    /// A queueing discipline of a host on the way that was observed.
    ObservedQueue,
    /// An interface, or the backlog of a CPU, of a host on the way that was observed.
    ObservedInterface,
    /// The receiver's interface.
    ReceiverInterface,
    /// The backlog of one of the receiver's CPUs (softnet).
    ReceiverBacklog,
    /// The receiver's network layer: reassembly, checksums.
    ReceiverStack,
    /// The receiver's own socket: it was not read in time.
    ReceiverSocket,
}

/// Datagrams that were lost in one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Drop {
    /// Where.
    pub place: Place,
    /// The kernel's name of the counter, e.g. `qdisc tbf 8001: of eth0`.
    pub counter: String,
    /// The value of the counter. One count may stand for many datagrams that went as one packet.
    pub counted: u64,
    /// Datagrams of this test among them, at least.
    pub least: u64,
    /// Datagrams of this test among them, at most.
    pub most: u64,
    /// The share of the loss that it explains best; the shares and
    /// [`Ledger::remainder`] add up to the loss.
    pub datagrams: u64,
}

/// Where every datagram of one direction went. Sent = received + late + in flight + drops +
/// remainder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ledger {
    /// Sent.
    pub sent: u64,
    /// Received at least once.
    pub received: u64,
    /// Arrived too far behind to distinguish from duplicates.
    pub late: u64,
    /// On their way when a plain iperf3 stopped counting: neither received nor lost.
    pub in_flight: u64,
    /// Part of the lost that was sent after the last one that arrived; the drops below
    /// have it too.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tail: Option<u64>,
    /// Where hosts of the test dropped them, in the order of the way.
    pub drops: Vec<Drop>,
    /// Datagrams that no counter explains: lost on the path, or on a host that reports nothing.
    pub remainder: u64,
    /// The least value of `remainder`, where counters are not exact.
    pub remainder_least: u64,
    /// The greatest value of `remainder`, where counters are not exact.
    pub remainder_most: u64,
    /// Whether the receiver's own counters are known.
    pub receiver_told: bool,
    /// Whether the sender's own counters are known.
    pub sender_told: bool,
}

impl Ledger {
    /// Sent, neither received nor late nor in flight.
    pub const fn lost(&self) -> u64 {
        self.sent
            .saturating_sub(self.received)
            .saturating_sub(self.late)
            .saturating_sub(self.in_flight)
    }
}

/// The time and the retransmissions of the TCP senders of one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TcpAccount {
    /// Payload bytes that the peer's kernel acknowledged.
    pub acknowledged: u64,
    /// Bytes sent again.
    pub retransmitted: u64,
    /// Part of the segments sent again that had arrived already (duplicate SACKs, RFC 2883).
    pub spurious_segments: u64,
    /// Segments sent again.
    pub retransmitted_segments: u64,
    /// How often the sender found that segments had only changed their order.
    pub reorderings: u64,
    /// Where the time went; none if the sender does not report it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub shares: Option<TimeShares>,
}

/// Shares of the time of a TCP sender, mean over its streams; they add up to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeShares {
    /// The application had nothing under way.
    pub application: f64,
    /// The receiver's window was full.
    pub receive_window: f64,
    /// The send buffer was full.
    pub send_buffer: f64,
    /// The rest: the congestion window, and with it the path, or the sender's own speed.
    pub congestion_window: f64,
}

/// The part of a test in which its rate did not change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Steady {
    /// Begin, from the start of the test.
    #[serde(with = "crate::seconds")]
    #[schemars(with = "f64")]
    pub from: Duration,
    /// End.
    #[serde(with = "crate::seconds")]
    #[schemars(with = "f64")]
    pub to: Duration,
    /// The rate in it.
    pub rate: BitRate,
    /// The rate with what is outside, omitted start and end of the sending left out.
    pub whole: BitRate,
}

/// The payload of one end and one direction in short steps of time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pulse {
    /// Whether that end sends.
    pub sender: bool,
    /// Length of a step.
    #[serde(with = "crate::seconds")]
    #[schemars(with = "f64")]
    pub every: Duration,
    /// Payload bytes in each step, from the start of the test, the omitted start included.
    pub bytes: Vec<u64>,
}
