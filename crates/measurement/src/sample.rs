//! Samples: counters of all streams at one instant ([`Sample`]), and the traffic between two
//! samples ([`Interval`]).
//!
//! Counters only grow and are never reset: [`StreamSample::since`] subtracts.

/// Subtracts two readings: of a total the difference, of a state the later value.
macro_rules! since {
    (total $later:expr, $earlier:expr) => {
        $later.saturating_sub($earlier)
    };
    (state $later:expr, $earlier:expr) => {
        $later
    };
}

mod counters;
mod tcp;

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};

use crate::units::{BitRate, ByteSize, Timestamp};

pub use counters::{CounterKind, StreamCounter, StreamCounters};
pub use tcp::TcpSample;

/// Memory of one UDP socket, as `SO_MEMINFO` reports it (`linux/sock_diag.h`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UdpSample {
    /// Packets that the kernel dropped since the socket was opened, because its buffer was full or
    /// their checksum was wrong. Datagrams that were coalesced (`UDP_GRO`) count as one.
    pub drops: u64,
    /// Memory of the receive queue in bytes, including the kernel's overhead for each datagram.
    #[serde(rename = "receive_queue_bytes")]
    pub receive_queue: u64,
    /// Memory of the send queue in bytes, including the kernel's overhead for each datagram.
    #[serde(rename = "send_queue_bytes")]
    pub send_queue: u64,
}

/// Counters and socket state of one stream at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamSample {
    /// Id of the stream on the wire.
    pub id: u32,
    /// Counters of the stream.
    #[serde(flatten)]
    pub counters: StreamCounters,
    /// State of the TCP connection (`TCP_INFO`). None: the stream is UDP.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tcp: Option<TcpSample>,
    /// Memory of the UDP socket. None: the stream is TCP, or the kernel does not report it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub udp: Option<UdpSample>,
}

impl<'de> Deserialize<'de> for StreamSample {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        counters::Flat::deserialize(deserializer).map(Self::from)
    }
}

impl StreamSample {
    /// Payload bytes that were moved: for a TCP sender (`sender` is true) those that the peer
    /// acknowledged, for a UDP receiver those of each datagram once, otherwise those written to or
    /// read from the socket. `block` is the length of a datagram.
    ///
    /// Bytes that a TCP sender wrote may still be in the socket buffer.
    pub fn moved(&self, sender: bool, block: ByteSize) -> u64 {
        match (self.tcp, sender) {
            (Some(tcp), true) => tcp.acknowledged,
            (_, true) => self.counters.bytes,
            (_, false) => self.counters.unique_bytes(block),
        }
    }

    /// The difference to an `earlier` sample of the same stream. Values that do not only grow, such
    /// as the round-trip time or the jitter, are those of this sample.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let counters = self.counters.since(&earlier.counters);
        let before = earlier.tcp.unwrap_or_default();
        let tcp = self.tcp.map(|now| now.since(&before));
        let before = earlier.udp.unwrap_or_default();
        let udp =
            self.udp.map(|now| UdpSample { drops: now.drops.saturating_sub(before.drops), ..now });
        Self { id: self.id, counters, tcp, udp }
    }
}

/// Sample of the counters of all streams at one instant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sample {
    /// Time of the sample, on the clock of the host that took it, in nanoseconds.
    #[serde(rename = "at_nanos")]
    pub at: Timestamp,
    /// Samples of the streams, in the order of the `streams` of the record.
    pub streams: Vec<StreamSample>,
}

/// Traffic of one direction at one end, between two samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// Begin of the interval, in seconds since the start of the test.
    #[serde(with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[serde(rename = "from_seconds")]
    pub from: Duration,
    /// End of the interval, in seconds since the start of the test.
    #[serde(with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[serde(rename = "to_seconds")]
    pub to: Duration,
    /// Bytes that were moved: acknowledged bytes of a TCP sender, those of each datagram once of a
    /// UDP receiver, otherwise those written or read.
    pub bytes: u64,
    /// Average rate in the interval.
    #[serde(rename = "rate_bits_per_second")]
    pub rate: BitRate,
    /// TCP sender: segments retransmitted; else zero.
    pub retransmits: u64,
    /// UDP receiver: change of the number of missing datagrams; negative if late ones arrived.
    pub missing: i64,
    /// Blocks written or read; UDP: datagrams sent or received.
    pub blocks: u64,
    /// Whether the interval lies in the omitted start.
    pub omitted: bool,
}

impl Interval {
    /// The traffic in the interval `span` of a test that began at `start`. `pairs` has the block
    /// length of each stream and two samples of it, at the begin and the end of the interval;
    /// `sender` says whether this end sends.
    pub fn over<'a>(
        pairs: impl Iterator<Item = (ByteSize, &'a StreamSample, &'a StreamSample)>,
        span: (Timestamp, Timestamp),
        start: Timestamp,
        sender: bool,
    ) -> Self {
        let (mut bytes, mut retransmits, mut missing, mut blocks) = (0_u64, 0_u64, 0_i64, 0_u64);
        let resent = |sample: &StreamSample| sample.tcp.map_or(0, |tcp| tcp.retransmits);
        for (block, earlier, later) in pairs {
            bytes += later.moved(sender, block).saturating_sub(earlier.moved(sender, block));
            retransmits += resent(later).saturating_sub(resent(earlier));
            missing += if sender { 0 } else { newly_missing(earlier, later) };
            blocks += later.counters.blocks.saturating_sub(earlier.counters.blocks);
        }
        let (from, to) = span;
        Self {
            from: from.since(start),
            to: to.since(start),
            bytes,
            rate: BitRate::average(bytes, to.since(from)),
            retransmits,
            missing,
            blocks,
            omitted: false,
        }
    }
}

/// Negative when gaps of earlier filled up.
const fn newly_missing(earlier: &StreamSample, later: &StreamSample) -> i64 {
    later.counters.missing().cast_signed() - earlier.counters.missing().cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at: u64, bytes: u64, acknowledged: u64) -> Sample {
        let counters = StreamCounters { bytes, ..StreamCounters::default() };
        let tcp = Some(TcpSample { acknowledged, ..TcpSample::default() });
        Sample {
            at: Timestamp::from_nanos(at),
            streams: vec![StreamSample { id: 1, counters, tcp, udp: None }],
        }
    }

    fn between(a: &Sample, b: &Sample, start: Timestamp, sender: bool) -> Interval {
        let pairs = a.streams.iter().zip(&b.streams);
        let pairs = pairs.map(|(a, b)| (ByteSize::from_bytes(1_000), a, b));
        Interval::over(pairs, (a.at, b.at), start, sender)
    }

    #[test]
    fn an_interval_of_a_sender_counts_acknowledged_bytes() {
        let (a, b) = (sample(1_000_000_000, 500, 100), sample(3_000_000_000, 9_000_500, 250_100));
        let start = Timestamp::from_nanos(0);
        let interval = between(&a, &b, start, true);
        assert_eq!(interval.bytes, 250_000);
        assert_eq!(interval.rate.bits_per_second(), 1_000_000);
        assert_eq!(interval.from, Duration::from_secs(1));
        let interval = between(&a, &b, start, false);
        assert_eq!(interval.bytes, 9_000_000);
    }

    #[test]
    fn an_interval_of_a_receiver_counts_each_datagram_once() {
        let (mut a, mut b) = (sample(0, 10_000, 0), sample(1_000_000_000, 23_000, 0));
        a.streams[0].counters.unique = 10;
        (b.streams[0].counters.unique, b.streams[0].counters.duplicate) = (20, 3);
        assert_eq!(between(&a, &b, a.at, false).bytes, 10_000);
    }

    #[test]
    fn only_a_receiver_misses_datagrams() {
        let (mut a, mut b) = (sample(0, 0, 0), sample(1, 0, 0));
        (a.streams[0].counters.sequence, a.streams[0].counters.unique) = (10, 8);
        (b.streams[0].counters.sequence, b.streams[0].counters.unique) = (20, 19);
        assert_eq!(between(&a, &b, a.at, false).missing, -1);
        assert_eq!(between(&a, &b, a.at, true).missing, 0);
    }
}
