//! The streams of a test: their settings, their intervals, and what the peer reported of them.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::engine::{ArrivalClock, EngineName};
use crate::sample::{Interval, Sample, StreamSample};
use crate::units::{ByteSize, Timestamp};

/// One stream of a test, with its settings in effect, as read back from the socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamRecord {
    /// Id of the stream on the wire.
    pub id: u32,
    /// Whether this end sends.
    pub sender: bool,
    /// File descriptor of the socket in this process; none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub socket: Option<u32>,
    /// Local address and port; none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub local: Option<SocketAddr>,
    /// Address and port of the peer; none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub peer: Option<SocketAddr>,
    /// Bytes per write, or payload bytes per datagram.
    #[serde(rename = "block_bytes")]
    pub block: ByteSize,
    /// Send buffer in effect (`SO_SNDBUF`); none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[serde(rename = "send_buffer_bytes")]
    pub send_buffer: Option<ByteSize>,
    /// Receive buffer in effect (`SO_RCVBUF`); none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[serde(rename = "receive_buffer_bytes")]
    pub receive_buffer: Option<ByteSize>,
    /// TCP: maximum segment size in effect, in bytes (`TCP_MAXSEG`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[serde(rename = "mss_bytes")]
    pub mss: Option<u32>,
    /// TCP: congestion control in effect (`TCP_CONGESTION`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub congestion: Option<String>,
    /// UDP receiver: clock of the arrival times from which the jitter is computed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub arrivals: Option<ArrivalClock>,
    /// Engine that sent or received the payload; none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub engine: Option<EngineName>,
    /// Number of the worker thread that ran the stream, from 0: its index in `runtime.mpus`; none:
    /// not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub worker: Option<u32>,
    /// CPU to which the worker was pinned; none: it was not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cpu: Option<u32>,
}

impl StreamRecord {
    /// A stream of which only id, direction and block length are known.
    pub fn unknown(id: u32, sender: bool, block: ByteSize) -> Self {
        Self {
            id,
            sender,
            socket: None,
            local: None,
            peer: None,
            block,
            send_buffer: None,
            receive_buffer: None,
            mss: None,
            congestion: None,
            arrivals: None,
            engine: None,
            worker: None,
            cpu: None,
        }
    }
}

/// Counters of one stream that the peer reported at the end of a test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PeerStream {
    /// Id of the stream on the wire.
    pub id: u32,
    /// Payload bytes that the peer sent or received, without the omitted start.
    pub bytes: u64,
    /// Duration of the peer's measurement in seconds; zero: not reported.
    pub seconds: f64,
    /// TCP sender: retransmitted segments; none: not reported.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retransmits: Option<u64>,
    /// UDP: last sequence number sent, or highest received, including the omitted start.
    pub datagrams: u64,
    /// UDP: the value of `datagrams` at the end of the omitted start; none: the peer is too old to
    /// report it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub omitted_datagrams: Option<u64>,
    /// UDP receiver: missing datagrams, including the omitted start.
    pub lost: u64,
    /// UDP receiver: missing datagrams of the omitted start; none: the peer is too old to report
    /// them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub omitted_lost: Option<u64>,
    /// UDP receiver: interarrival jitter in seconds (RFC 3550).
    pub jitter_seconds: f64,
    /// UDP receiver of iperf2: times on the way; none: they were not asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub one_way: Option<OneWayDelay>,
    /// Counters that only a linerate reports, without the omitted start.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub counted: Option<StreamSample>,
}

/// Times that datagrams were on their way, from the sender's clock to the receiver's: right as far as both
/// tell the same time (RFC 7679, section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OneWayDelay {
    /// Number of datagrams.
    pub count: u64,
    /// Mean of the times in seconds.
    pub mean_seconds: f64,
    /// Shortest time in seconds; negative: the receiver's clock is behind.
    pub min_seconds: f64,
    /// Longest time in seconds.
    pub max_seconds: f64,
    /// Standard deviation of the times in seconds.
    pub deviation_seconds: f64,
}

impl PeerStream {
    /// Payload bytes that a receiving peer got, each datagram of `block` bytes once. Of a plain
    /// iperf3 at most so many: it counts the bytes of duplicates, and takes one for each datagram
    /// that it misses as the missing one, so that its packets less its losses are a bound.
    pub fn delivered(&self, block: ByteSize) -> u64 {
        match self.counted {
            Some(counted) => self.bytes.min(counted.counters.unique_bytes(block)),
            None => self
                .unique_datagrams()
                .map_or(self.bytes, |unique| self.bytes.min(unique.saturating_mul(block.bytes()))),
        }
    }

    /// Datagrams of `block` bytes that a receiving iperf3 certainly got more than once; none: it
    /// reports what tells them from others by itself, or it is TCP.
    pub fn duplicates(&self, block: ByteSize) -> Option<u64> {
        let beyond = self.bytes.saturating_sub(self.delivered(block));
        let unsure = self.counted.is_none() && self.datagrams > 0;
        unsure.then(|| beyond / block.bytes().max(1))
    }

    /// Datagrams without the omitted start that a receiver did not miss; none: it is TCP, or its
    /// counts and its bytes are not of the same time.
    fn unique_datagrams(&self) -> Option<u64> {
        let since = |all: u64, omitted: Option<u64>| all.saturating_sub(omitted.unwrap_or(0));
        let sent = since(self.datagrams, self.omitted_datagrams);
        let unique = sent.saturating_sub(since(self.lost, self.omitted_lost));
        (self.datagrams > 0).then_some(unique)
    }
}

/// Intervals of one direction at this end: the traffic between consecutive samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectionIntervals {
    /// Whether this end sends.
    pub sender: bool,
    /// Intervals in the order of time.
    pub intervals: Vec<Interval>,
}

impl DirectionIntervals {
    /// The intervals between each of `samples` and the next one, for each direction of `streams`.
    /// Intervals before the sample with the index `base` are in the omitted start (`--omit`).
    pub fn between(streams: &[StreamRecord], samples: &[Sample], base: usize) -> Vec<Self> {
        let mut directions = Self::none_yet(streams);
        for (index, pair) in samples.windows(2).enumerate() {
            let start = samples[0].at;
            for direction in &mut directions {
                direction.add(streams, (&pair[0], &pair[1]), start, index < base);
            }
        }
        directions
    }

    /// One entry for each direction in which `streams` go, with an empty list of intervals.
    pub fn none_yet(streams: &[StreamRecord]) -> Vec<Self> {
        let takes_part = |sender| streams.iter().any(|stream| stream.sender == sender);
        let directions = [true, false].into_iter().filter(|sender| takes_part(*sender));
        directions.map(|sender| Self { sender, intervals: Vec::new() }).collect()
    }

    /// Adds the interval between the samples `earlier` and `later` of a test that began at `start`;
    /// `omitted` says whether it lies in the omitted start (`--omit`).
    pub fn add(
        &mut self,
        streams: &[StreamRecord],
        (earlier, later): (&Sample, &Sample),
        start: Timestamp,
        omitted: bool,
    ) {
        // Samples are in the order of the streams.
        let sender = self.sender;
        let pairs = streams.iter().zip(earlier.streams.iter().zip(&later.streams));
        let own = pairs.filter(|(stream, _)| stream.sender == sender);
        let own = own.map(|(stream, (from, to))| (stream.block, from, to));
        let span = (earlier.at, later.at);
        let interval = Interval::over(own, span, start, sender);
        self.intervals.push(Interval { omitted, ..interval });
    }
}
