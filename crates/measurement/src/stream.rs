//! The streams of a test: their settings, their intervals, and what the peer reported of them.

use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::{ArrivalClock, EngineName};
use crate::sample::{Interval, Sample, StreamSample};
use crate::units::{ByteSize, Timestamp};

/// One stream as it really was: every setting is read back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamRecord {
    /// Its id on the wire.
    pub id: u32,
    /// Whether this end sends on it.
    pub sender: bool,
    /// File descriptor of its socket in this process; none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub socket: Option<u32>,
    /// Our address; none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub local: Option<SocketAddr>,
    /// The peer's address; none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub peer: Option<SocketAddr>,
    /// Bytes per write, or payload bytes per datagram.
    pub block: ByteSize,
    /// Send buffer in effect (`SO_SNDBUF`); none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub send_buffer: Option<ByteSize>,
    /// Receive buffer in effect (`SO_RCVBUF`); none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub receive_buffer: Option<ByteSize>,
    /// TCP: segment size in effect (`TCP_MAXSEG`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mss: Option<u32>,
    /// TCP: congestion control in effect.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub congestion: Option<String>,
    /// UDP receiver: which clock gave the arrival times that jitter is made of.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub arrivals: Option<ArrivalClock>,
    /// Engine that moved the payload; none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub engine: Option<EngineName>,
    /// Worker (thread) that ran it, from 0: its place in `runtime.mpus`; none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub worker: Option<u32>,
    /// CPU that the worker was pinned to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cpu: Option<u32>,
}

impl StreamRecord {
    /// A stream of which only its id, its direction and the length of its blocks are known.
    pub fn imported(id: u32, sender: bool, block: ByteSize) -> Self {
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

/// The counters of one stream that the peer reports at the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeerStream {
    /// Its id on the wire.
    pub id: u32,
    /// Payload bytes that the peer sent or received, without the omitted start.
    pub bytes: u64,
    /// Length of the peer's measurement in seconds; zero if it did not report it.
    pub seconds: f64,
    /// Segments retransmitted; none if the peer does not send or does not report it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retransmits: Option<u64>,
    /// UDP: last sequence number sent or highest received, from the very start.
    pub datagrams: u64,
    /// UDP: part of them in the omitted start; none if the peer is too old to report it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub omitted_datagrams: Option<u64>,
    /// UDP: datagrams that the peer missed, from the very start.
    pub lost: u64,
    /// UDP: part of them in the omitted start; none if the peer is too old to report it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub omitted_lost: Option<u64>,
    /// UDP: jitter in seconds.
    pub jitter_seconds: f64,
    /// Counters that only a linerate reports, without the omitted start.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub counted: Option<StreamSample>,
}

/// This end's intervals of one direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionIntervals {
    /// Whether this end sends.
    pub sender: bool,
    /// In order of time.
    pub intervals: Vec<Interval>,
}

impl DirectionIntervals {
    /// The intervals between each of `samples` and the next one, for the directions of `streams`;
    /// those before `base` are omitted ones.
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

    /// The directions that `streams` have, without intervals.
    pub fn none_yet(streams: &[StreamRecord]) -> Vec<Self> {
        let takes_part = |sender| streams.iter().any(|stream| stream.sender == sender);
        let directions = [true, false].into_iter().filter(|sender| takes_part(*sender));
        directions.map(|sender| Self { sender, intervals: Vec::new() }).collect()
    }

    /// Adds what lies between two samples of a test that began at `start`.
    pub fn add(
        &mut self,
        streams: &[StreamRecord],
        (earlier, later): (&Sample, &Sample),
        start: Timestamp,
        omitted: bool,
    ) {
        // Samples are in the order of the streams.
        let mut order = streams.iter();
        let sender = self.sender;
        let pairs = earlier.streams.iter().zip(&later.streams);
        let own = pairs.filter(|_| order.next().is_some_and(|stream| stream.sender == sender));
        let span = (earlier.at, later.at);
        let interval = Interval::over(own, span, start, sender);
        self.intervals.push(Interval { omitted, ..interval });
    }
}
