//! The result of a test, one entry per direction.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::Engines;
use crate::pacing::PacingReport;
use crate::round_trips::{Loaded, RoundTrips};
use crate::transport::Direction;
use crate::units::BitRate;

pub mod join;

/// An amount over a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Throughput {
    /// Payload bytes.
    pub bytes: u64,
    /// How long they took.
    #[serde(rename = "seconds", with = "crate::seconds")]
    #[schemars(with = "f64")]
    pub span: Duration,
    /// Their rate.
    pub rate: BitRate,
}

impl Throughput {
    /// `bytes` in `span`.
    pub fn over(bytes: u64, span: Duration) -> Self {
        Self { bytes, span, rate: BitRate::average(bytes, span) }
    }
}

/// The sent datagrams of one direction, by what became of them.
///
/// A plain iperf3 receiver does not report the optional ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DatagramLedger {
    /// Sent, as of the sender's last sequence number.
    pub sent: u64,
    /// Received at least once.
    pub received: u64,
    /// Sent and never received, the tail included.
    pub lost: u64,
    /// Part of the lost: sent after the last one that arrived.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tail: Option<u64>,
    /// Neither received nor lost: a plain iperf3 receiver stops counting when it hears
    /// of the end, while these were still on their way.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unaccounted: Option<u64>,
    /// Received after a later one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reordered: Option<u64>,
    /// Received again.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub duplicate: Option<u64>,
    /// Received too far behind to distinguish from duplicates; counted as lost.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub late: Option<u64>,
}

impl DatagramLedger {
    /// The datagrams in parts that add up to those sent, whatever a peer reported.
    pub fn parts(&self) -> DatagramParts {
        let received = self.received.min(self.sent);
        let missing = self.sent - received;
        let in_flight = self.unaccounted.unwrap_or(0).min(missing);
        let late = self.late.unwrap_or(0).min(missing - in_flight);
        let lost = missing - in_flight - late;
        let tail = self.tail.map(|tail| tail.min(lost));
        DatagramParts { received, in_flight, late, lost, tail }
    }

    /// Lost ones as a share of those sent, 0 to 1.
    pub fn loss(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { self.lost as f64 / self.sent as f64 }
    }
}

/// The datagrams of one direction, each counted in one part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramParts {
    /// Received at least once, and in time.
    pub received: u64,
    /// Neither received nor lost when a plain iperf3 stopped counting.
    pub in_flight: u64,
    /// Received too far behind to distinguish from duplicates.
    pub late: u64,
    /// Sent and never received.
    pub lost: u64,
    /// Part of the lost: sent after the last one that arrived, if the receiver reports it.
    pub tail: Option<u64>,
}

/// CPU time of one end's process as a share of the time that the test ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuUse {
    /// User and system together in percent of one CPU.
    pub total: f64,
    /// User in percent of one CPU.
    pub user: f64,
    /// System in percent of one CPU.
    pub system: f64,
}

/// How evenly the streams of one direction shared it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fairness {
    /// Streams that were compared.
    pub streams: u32,
    /// Those of them on which nothing got through.
    pub idle: u32,
    /// Jain's index of their rates: 1 when all are alike, 1/n when one has everything
    /// (R. Jain, D. Chiu, W. Hawe: DEC Research Report TR-301, 1984).
    pub jain: f64,
    /// Rate of the slowest.
    pub slowest: BitRate,
    /// Rate of the one in the middle.
    pub median: BitRate,
    /// Rate of the fastest.
    pub fastest: BitRate,
    /// Whole blocks, or datagrams, that the one in the middle moved. Of a few, the index
    /// shows how many fitted into the time, and not how evenly the streams shared.
    #[serde(default)]
    pub blocks: u64,
}

impl Fairness {
    /// The fairness of streams that moved these `bytes` in `span`, in blocks of `block` bytes.
    /// None: there are fewer than two.
    pub fn from_bytes(mut bytes: Vec<u64>, span: Duration, block: u64) -> Option<Self> {
        if bytes.len() < 2 {
            return None;
        }
        bytes.sort_unstable();
        let rate = |bytes: u64| BitRate::average(bytes, span);
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Some(Self {
            streams: count(bytes.len()),
            idle: count(bytes.partition_point(|bytes| *bytes == 0)),
            jain: jain(&bytes),
            slowest: rate(bytes[0]),
            median: rate(bytes[bytes.len() / 2]),
            fastest: rate(bytes[bytes.len() - 1]),
            blocks: bytes[bytes.len() / 2] / block.max(1),
        })
    }

    /// Whether the streams moved enough to show how evenly they shared.
    pub const fn is_telling(&self) -> bool {
        self.blocks >= TELLING_BLOCKS
    }
}

/// The square of the sum over the sum of the squares, for each of them; of nothing but
/// zeroes, which are all alike, 1.
fn jain(shares: &[u64]) -> f64 {
    let sum: f64 = shares.iter().map(|share| *share as f64).sum();
    let squares: f64 = shares.iter().map(|share| (*share as f64).powi(2)).sum();
    if squares > 0.0 { sum * sum / (shares.len() as f64 * squares) } else { 1.0 }
}

/// One direction's result. The headline is [`DirectionOutcome::delivered`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionOutcome {
    /// [`Direction::Send`] or [`Direction::Receive`].
    pub direction: Direction,
    /// Rate asked of all its streams together; none: unlimited.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub asked: Option<BitRate>,
    /// Payload that the sender handed to its sockets.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub offered: Option<Throughput>,
    /// TCP: payload that the receiver's kernel acknowledged. None: the sender did not report it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub acknowledged: Option<Throughput>,
    /// Payload that the receiver's application got. None: the receiver did not report it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delivered: Option<Throughput>,
    /// TCP: segments sent again; none if the sender does not report it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retransmits: Option<u64>,
    /// UDP: where the datagrams went.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub datagrams: Option<DatagramLedger>,
    /// UDP: interarrival jitter at the receiver (RFC 3550), mean over streams, in seconds;
    /// none: datagrams went or came many in one piece, which has but one time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub jitter_seconds: Option<f64>,
    /// Several streams: how they shared what was delivered, as far as that is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fairness: Option<Fairness>,
    /// How the sender kept the rate that was asked; none: none was, or the sender does not
    /// tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pacing: Option<PacingReport>,
    /// The engines that sent and received, as far as they are known.
    #[serde(skip_serializing_if = "is_unknown", default)]
    pub engines: Engines,
}

fn is_unknown(engines: &Engines) -> bool {
    *engines == Engines::default()
}

impl DirectionOutcome {
    /// A direction of which nothing is known.
    pub fn unknown(direction: Direction) -> Self {
        Self {
            direction,
            asked: None,
            offered: None,
            acknowledged: None,
            delivered: None,
            retransmits: None,
            datagrams: None,
            jitter_seconds: None,
            fairness: None,
            pacing: None,
            engines: Engines::default(),
        }
    }

    /// The delivered throughput, as the receiver reports it; else that which the sender knows.
    pub fn headline(&self) -> Option<Throughput> {
        self.delivered.or(self.acknowledged).or(self.offered)
    }
}

/// How the run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", tag = "state")]
pub enum Ending {
    /// As planned.
    Completed,
    /// By a signal at this end; the numbers cover what ran.
    Interrupted,
    /// By an error; the numbers cover what ran.
    Failed {
        /// One sentence.
        error: String,
    },
}

/// The run as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// The result of each direction; empty if requests were answered instead.
    pub directions: Vec<DirectionOutcome>,
    /// Round-trip times of the requests, if the test made requests.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub round_trips: Option<RoundTrips>,
    /// Round-trip times of a probe beside the test.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub latency: Option<Loaded>,
    /// CPU use of this process during the test; none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cpu: Option<CpuUse>,
    /// CPU use that the peer reports of itself.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub peer_cpu: Option<CpuUse>,
    /// Why a stream ended early, e.g. `stream 1 broke: operation not permitted`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub broken: Option<String>,
    /// Doubts about the numbers, each one sentence.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<String>,
}

impl Outcome {
    /// A test that came to its end, of which nothing more is known.
    pub const fn unknown() -> Self {
        Self {
            ending: Ending::Completed,
            directions: Vec::new(),
            round_trips: None,
            latency: None,
            cpu: None,
            peer_cpu: None,
            broken: None,
            notes: Vec::new(),
        }
    }

    /// The delivered rate of both directions together. None: that of a direction is not known.
    pub fn rate(&self) -> Option<BitRate> {
        if self.directions.is_empty() {
            return None;
        }
        let parts = self.directions.iter().map(DirectionOutcome::headline);
        let mut parts = parts.map(|part| part.map(|part| part.rate.bits_per_second()));
        let sum = parts.try_fold(0_u64, |sum, rate| Some(sum.saturating_add(rate?)));
        sum.map(BitRate::from_bits_per_second)
    }
}

/// With ten blocks each, one block more or less is a tenth, and the index as high as 0.99.
const TELLING_BLOCKS: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_that_are_alike_are_fair() {
        let second = Duration::from_secs(1);
        let fair = Fairness::from_bytes(vec![5; 4], second, 1).expect("four streams");
        assert!((fair.jain - 1.0).abs() < 1e-12);
        let unfair = Fairness::from_bytes(vec![0, 8_000, 0, 0], second, 1).expect("four streams");
        assert!((unfair.jain - 0.25).abs() < 1e-12);
        assert_eq!((unfair.streams, unfair.idle), (4, 3));
        assert_eq!(unfair.fastest.bits_per_second(), 64_000);
        let ramp = Fairness::from_bytes(vec![3, 1, 2], second, 1).expect("three streams");
        assert_eq!(ramp.median.bits_per_second(), 16);
        assert!((ramp.jain - 36.0 / 42.0).abs() < 1e-12);
        assert!(
            (Fairness::from_bytes(vec![0; 2], second, 1).expect("two").jain - 1.0).abs() < 1e-12
        );
        assert_eq!(Fairness::from_bytes(vec![1], second, 1), None);
    }

    #[test]
    fn a_few_blocks_do_not_tell_how_streams_share() {
        let of = |bytes| Fairness::from_bytes(vec![bytes; 3], Duration::from_secs(1), 1_000);
        let (few, enough) = (of(9_999).expect("three"), of(10_000).expect("three"));
        assert_eq!((few.blocks, few.is_telling()), (9, false));
        assert_eq!((enough.blocks, enough.is_telling()), (10, true));
    }

    #[test]
    fn loss_is_a_share_of_what_was_sent() {
        let ledger = DatagramLedger { sent: 200, received: 150, lost: 50, ..Default::default() };
        assert!((ledger.loss() - 0.25).abs() < 1e-9);
        assert!(DatagramLedger::default().loss().abs() < 1e-9);
    }
}
