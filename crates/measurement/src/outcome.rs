//! The result of a test ([`Outcome`]): how it ended, and throughput, loss, jitter and fairness of
//! each direction ([`DirectionOutcome`]).

use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::Order;
use crate::delay_variation::DelayVariation;
use crate::engine::Engines;
use crate::pacing::PacingReport;
use crate::round_trips::{Loaded, RoundTrips};
use crate::transport::Direction;
use crate::units::BitRate;

pub mod join;

/// An amount of payload, the time that it took, and its average rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Throughput {
    /// Payload bytes that were moved.
    pub bytes: u64,
    /// Time that the payload took, in seconds.
    #[serde(rename = "seconds", with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub span: Duration,
    /// Average rate over that time.
    #[serde(rename = "rate_bits_per_second")]
    pub rate: BitRate,
}

impl Throughput {
    /// The throughput of `bytes` payload bytes that took the time `span`.
    pub fn over(bytes: u64, span: Duration) -> Self {
        Self { bytes, span, rate: BitRate::average(bytes, span) }
    }
}

/// Account of the datagrams of one direction. Optional numbers are none if the receiver is a plain
/// iperf3, which does not report them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DatagramLedger {
    /// Datagrams sent, by the sender's last sequence number.
    pub sent: u64,
    /// Datagrams received at least once.
    pub received: u64,
    /// Datagrams sent and never received.
    pub lost: u64,
    /// Lost datagrams that were sent after the last one that arrived.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tail: Option<u64>,
    /// Datagrams neither received nor lost: in flight when a plain iperf3 receiver stopped counting
    /// at the end of the test.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unaccounted: Option<u64>,
    /// Datagrams received after one with a higher sequence number (RFC 4737).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reordered: Option<u64>,
    /// Datagrams received more than once.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub duplicate: Option<u64>,
    /// Datagrams that arrived too late to distinguish them from duplicates; they count as lost.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub late: Option<u64>,
}

impl DatagramLedger {
    /// The datagrams in parts that add up to those sent, also if a peer's report contradicts
    /// itself.
    pub fn parts(&self) -> DatagramParts {
        let received = self.received.min(self.sent);
        let missing = self.sent - received;
        let in_flight = self.unaccounted.unwrap_or(0).min(missing);
        let late = self.late.unwrap_or(0).min(missing - in_flight);
        let lost = missing - in_flight - late;
        let tail = self.tail.map(|tail| tail.min(lost));
        DatagramParts { received, in_flight, late, lost, tail }
    }

    /// Loss ratio: lost datagrams as a share of those sent, 0 to 1; zero if none was sent.
    pub fn loss(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { self.lost as f64 / self.sent as f64 }
    }
}

/// Datagrams of one direction, each counted in exactly one part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramParts {
    /// Datagrams received at least once, and not late.
    pub received: u64,
    /// Datagrams in flight when a plain iperf3 receiver stopped counting: neither received nor
    /// lost.
    pub in_flight: u64,
    /// Datagrams that arrived too late to distinguish them from duplicates.
    pub late: u64,
    /// Datagrams sent and never received.
    pub lost: u64,
    /// Lost datagrams that were sent after the last one that arrived; none: the receiver does not
    /// report them.
    pub tail: Option<u64>,
}

/// CPU time of the process of one end, as a share of the duration of the test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuUse {
    /// User and system time in percent of one CPU.
    #[serde(rename = "total_percent")]
    pub total: f64,
    /// User time in percent of one CPU.
    #[serde(rename = "user_percent")]
    pub user: f64,
    /// System time in percent of one CPU.
    #[serde(rename = "system_percent")]
    pub system: f64,
}

/// Fairness: how evenly the streams of one direction shared the rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fairness {
    /// Number of compared streams.
    pub streams: u32,
    /// Number of streams without any payload.
    pub idle: u32,
    /// Jain's fairness index of the rates: 1 if all are equal, 1/n if one of n streams has
    /// everything (R. Jain, D. Chiu, W. Hawe: DEC Research Report TR-301, 1984).
    pub jain: f64,
    /// Rate of the slowest stream.
    #[serde(rename = "slowest_bits_per_second")]
    pub slowest: BitRate,
    /// Median of the rates.
    #[serde(rename = "median_bits_per_second")]
    pub median: BitRate,
    /// Rate of the fastest stream.
    #[serde(rename = "fastest_bits_per_second")]
    pub fastest: BitRate,
    /// Whole blocks, or datagrams, of the stream with the median rate. If they are few, the index
    /// is affected by rounding to whole blocks.
    pub blocks: u64,
}

impl Fairness {
    /// Fairness of streams that moved these `bytes` in the time `span`, in blocks of `block` bytes.
    /// None: there are fewer than two streams.
    pub fn from_bytes(mut bytes: Vec<u64>, span: Duration, block: u64) -> Option<Self> {
        if bytes.len() < 2 {
            return None;
        }
        bytes.order();
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

    /// Whether the fairness index is meaningful: the stream with the median rate moved at least ten
    /// blocks.
    pub const fn is_meaningful(&self) -> bool {
        self.blocks >= MEANINGFUL_BLOCKS
    }
}

/// Jain's index: the square of the sum over n times the sum of the squares; 1 if all shares are
/// zero.
fn jain(shares: &[u64]) -> f64 {
    let sum: f64 = shares.iter().map(|share| *share as f64).sum();
    let squares: f64 = shares.iter().map(|share| (*share as f64).powi(2)).sum();
    if squares > 0.0 { sum * sum / (shares.len() as f64 * squares) } else { 1.0 }
}

/// Result of one direction; [`DirectionOutcome::headline`] is the main number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectionOutcome {
    /// The direction: [`Direction::Send`] or [`Direction::Receive`].
    pub direction: Direction,
    /// Requested rate of all streams together; none: unlimited.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[serde(rename = "asked_bits_per_second")]
    pub asked: Option<BitRate>,
    /// Payload that the sender wrote to its sockets.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub offered: Option<Throughput>,
    /// TCP: payload that the receiver's kernel acknowledged. None: the sender did not report it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub acknowledged: Option<Throughput>,
    /// Payload that the receiver's application read. None: the receiver did not report it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delivered: Option<Throughput>,
    /// TCP: retransmitted segments; none: the sender does not report them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retransmits: Option<u64>,
    /// UDP: account of the datagrams.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub datagrams: Option<DatagramLedger>,
    /// UDP: interarrival jitter at the receiver (RFC 3550), mean over the streams, in seconds;
    /// none: several datagrams share one time of sending or arrival (GSO, GRO).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub jitter_seconds: Option<f64>,
    /// UDP: delay variation at the receiver (IPDV, RFC 3393), all streams together; none: as for the
    /// jitter, or the receiver does not report it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ipdv: Option<DelayVariation>,
    /// Fairness of the delivered rates; none: there is one stream, or they are not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fairness: Option<Fairness>,
    /// Report on the pacing of the sender; none: no rate was requested, or the sender does not
    /// report it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pacing: Option<PacingReport>,
    /// Engines that sent and received, as far as known.
    #[serde(skip_serializing_if = "is_unknown", default)]
    pub engines: Engines,
}

fn is_unknown(engines: &Engines) -> bool {
    *engines == Engines::default()
}

impl DirectionOutcome {
    /// The result of a direction of which nothing is known: every number is none.
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
            ipdv: None,
            fairness: None,
            pacing: None,
            engines: Engines::default(),
        }
    }

    /// What arrived: the delivered throughput, or if the receiver did not report it, the acknowledged
    /// one. None: neither is known, and what was sent says nothing of it.
    pub fn arrived(&self) -> Option<Throughput> {
        self.delivered.or(self.acknowledged)
    }

    /// The main number of a direction: the delivered throughput. If the receiver did not report it,
    /// the acknowledged one, else the offered one. None: none of them is known.
    pub fn headline(&self) -> Option<Throughput> {
        self.arrived().or(self.offered)
    }
}

/// How a test ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase", tag = "state")]
pub enum Ending {
    /// The test ended as planned.
    Completed,
    /// A signal at this end stopped the test; the numbers cover the time until then.
    Interrupted,
    /// An error ended the test; the numbers cover the time until then.
    Failed {
        /// The error, one sentence.
        error: String,
    },
}

/// Result of a test, computed from the counters of both ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outcome {
    /// How the test ended.
    pub ending: Ending,
    /// Result of each direction; empty for an exchange of requests.
    #[serde(deserialize_with = "one_or_both")]
    pub directions: Vec<DirectionOutcome>,
    /// Round-trip times of an exchange of requests.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub round_trips: Option<RoundTrips>,
    /// Round-trip times of a probe beside the test.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub latency: Option<Loaded>,
    /// CPU use of this process during the test; none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cpu: Option<CpuUse>,
    /// CPU use that the peer reports for its process; none: not reported.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub peer_cpu: Option<CpuUse>,
    /// Error for which a stream ended early, e.g. `stream 1 broke: operation not permitted`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub broken: Option<String>,
    /// Whether the peer accepted a new TCP connection after the test had failed. None: the test did
    /// not fail, or it was not tried.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub peer_accepts: Option<bool>,
    /// Notes on what may affect the numbers, each one sentence.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<String>,
    /// Imported records: printed numbers that contradict each other, each one sentence.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub contradictions: Vec<String>,
}

impl Outcome {
    /// The outcome of a completed test of which nothing else is known.
    pub const fn unknown() -> Self {
        Self {
            ending: Ending::Completed,
            directions: Vec::new(),
            round_trips: None,
            latency: None,
            cpu: None,
            peer_cpu: None,
            broken: None,
            peer_accepts: None,
            notes: Vec::new(),
            contradictions: Vec::new(),
        }
    }

    /// Delivered rates of all directions added up. None: the rate of a direction is not known, or
    /// the test had no direction.
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

/// Reads the results of the directions of one test.
fn one_or_both<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<DirectionOutcome>, D::Error> {
    let directions = Vec::<DirectionOutcome>::deserialize(deserializer)?;
    if directions.len() > MOST_DIRECTIONS {
        return Err(D::Error::custom("more directions than a test has"));
    }
    Ok(directions)
}

/// Directions of a test in both directions at once.
const MOST_DIRECTIONS: usize = 2;
/// With ten blocks each, one block more or less is a tenth, and the index as high as 0.99.
const MEANINGFUL_BLOCKS: u64 = 10;

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
        assert_eq!((few.blocks, few.is_meaningful()), (9, false));
        assert_eq!((enough.blocks, enough.is_meaningful()), (10, true));
    }

    #[test]
    fn loss_is_a_share_of_what_was_sent() {
        let ledger = DatagramLedger { sent: 200, received: 150, lost: 50, ..Default::default() };
        assert!((ledger.loss() - 0.25).abs() < 1e-9);
        assert!(DatagramLedger::default().loss().abs() < 1e-9);
    }
}
