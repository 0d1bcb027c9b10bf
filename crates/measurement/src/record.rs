//! The record of one test: the file format.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::course::Course;
use crate::engine::{EngineName, EngineTrial};
use crate::environment::{Environment, Peer};
use crate::host::HostEvidence;
use crate::judgement::{Judgement, Pulse, Reason};
use crate::outcome::Outcome;
use crate::plan::TestPlan;
use crate::round_trips::Probe;
use crate::runtime::Runtime;
use crate::sample::{Interval, Sample, StreamSample};
use crate::units::{BitRate, ByteSize, Timestamp};

/// Name and version of one record's JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RecordSchema {
    /// The first version, in which every record was measured by a linerate; still read.
    #[serde(rename = "linerate/record/1")]
    V1,
    /// The version that is written: what a record does not know is left out.
    #[serde(rename = "linerate/record/2")]
    V2,
}

/// Where the numbers of a record come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// A linerate ran the test and wrote the record.
    #[default]
    Measured,
    /// Another program ran the test, and this is what it left, in words: `the log of iperf3
    /// 3.16`.
    Imported(String),
}

impl Source {
    fn is_measured(&self) -> bool {
        *self == Self::Measured
    }
}

/// Name and version of the JSON of several records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RecordSetSchema {
    /// The first version.
    #[serde(rename = "linerate/records/1")]
    V1,
}

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

/// The clock that stamped the arrival of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ArrivalClock {
    /// The kernel, for each datagram (`SO_TIMESTAMPNS`, socket(7)).
    Kernel,
    /// The kernel, once for all datagrams that it coalesced into one (`UDP_GRO`, udp(7)):
    /// jitter is that of such pieces.
    Coalesced,
    /// The reading thread, for a batch of datagrams at once.
    Reader,
}

/// The counters of one stream that the peer reports at the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeerStream {
    /// Its id on the wire.
    pub id: u32,
    /// Payload bytes that the peer sent or received, without the omitted start.
    pub bytes: u64,
    /// Length of the peer's measurement in seconds; zero if it did not tell.
    pub seconds: f64,
    /// Segments retransmitted; none if the peer does not send or cannot tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retransmits: Option<u64>,
    /// UDP: last sequence number sent or highest received, from the very start.
    pub datagrams: u64,
    /// UDP: part of them in the omitted start; none if the peer is too old to tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub omitted_datagrams: Option<u64>,
    /// UDP: datagrams that the peer missed, from the very start.
    pub lost: u64,
    /// UDP: part of them in the omitted start; none if the peer is too old to tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub omitted_lost: Option<u64>,
    /// UDP: jitter in seconds.
    pub jitter_seconds: f64,
    /// Counters that only a linerate reports, without the omitted start.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub counted: Option<StreamSample>,
}

/// Tests of one other client that the server ran at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Neighbour {
    /// The client; none: the server does not tell, or these are several.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub address: Option<IpAddr>,
    /// How many tests.
    pub tests: u32,
    /// Payload bytes that they moved during this test, both directions together.
    pub bytes: u64,
}

/// One test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TestRecord {
    /// Name and version of this format.
    pub schema: RecordSchema,
    /// Version of the linerate that wrote it.
    pub linerate: String,
    /// Labels given by the user.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub tags: BTreeMap<String, String>,
    /// Where its numbers come from.
    #[serde(skip_serializing_if = "Source::is_measured", default)]
    pub source: Source,
    /// Where and when; none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub environment: Option<Environment>,
    /// The other end; none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub peer: Option<Peer>,
    /// The plan of the test.
    pub plan: TestPlan,
    /// The streams as they were; empty: not known.
    pub streams: Vec<StreamRecord>,
    /// When the test began, on this host's clock; none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub start: Option<Timestamp>,
    /// This end's counters over time; the first is taken at the start. Of more streams
    /// than an iperf3 can have only this one, that of `base` and the last are kept. Empty: not
    /// known.
    pub samples: Vec<Sample>,
    /// Index of the sample from which the result counts: the end of the omitted start.
    pub base: usize,
    /// When this end stopped sending, on the same clock; none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stopped: Option<Timestamp>,
    /// The intervals between the samples, for each direction.
    pub intervals: Vec<DirectionIntervals>,
    /// The counters that the peer reported at the end.
    pub peer_streams: Vec<PeerStream>,
    /// Congestion control of the peer's TCP streams, if it told.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub peer_congestion: Option<String>,
    /// Tests of other clients that the server ran at the same time, if it reported them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub shared: Vec<Neighbour>,
    /// How this end's workers (threads) served the streams.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub runtime: Option<Runtime>,
    /// The use of the peer's workers (threads), if it reported it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub peer_runtime: Option<Runtime>,
    /// How its engines were chosen, if short tests before it did.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub engine_trials: Vec<EngineTrial>,
    /// Requests that were sent at their times, by the test or beside it, in that order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub probes: Vec<Probe>,
    /// Payload that this end moved in short steps of time.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub pulses: Vec<Pulse>,
    /// Payload that the server moved in short steps of time, if it reported it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub peer_pulses: Vec<Pulse>,
    /// Inventory and counters of the hosts, this one first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub hosts: Vec<HostEvidence>,
    /// The result of the test.
    pub outcome: Outcome,
    /// Where everything went, and whether to believe it; none: nobody judged.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub judgement: Option<Judgement>,
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

impl TestRecord {
    /// A test that another program ran, of which nothing is known yet but what was asked: an
    /// importer puts in what its source has, and leaves out what it does not. `source` says
    /// what that is, e.g. `the log of iperf3 3.16`.
    pub fn imported(plan: TestPlan, source: impl Into<String>) -> Self {
        Self {
            schema: RecordSchema::V2,
            linerate: env!("CARGO_PKG_VERSION").to_owned(),
            tags: BTreeMap::new(),
            source: Source::Imported(source.into()),
            environment: None,
            peer: None,
            plan,
            streams: Vec::new(),
            start: None,
            samples: Vec::new(),
            base: 0,
            stopped: None,
            intervals: Vec::new(),
            peer_streams: Vec::new(),
            peer_congestion: None,
            shared: Vec::new(),
            runtime: None,
            peer_runtime: None,
            engine_trials: Vec::new(),
            probes: Vec::new(),
            pulses: Vec::new(),
            peer_pulses: Vec::new(),
            hosts: Vec::new(),
            outcome: Outcome::unknown(),
            judgement: None,
        }
    }

    /// How long this end measured what counts, from the end of the omitted start to when it
    /// stopped sending; none: not known.
    pub fn result_span(&self) -> Option<Duration> {
        Some(self.stopped?.since(self.samples.get(self.base)?.at))
    }

    /// The measurement of this end.
    pub fn course(&self) -> Course<'_> {
        Course {
            plan: &self.plan,
            streams: self.streams.as_slice(),
            samples: self.samples.as_slice(),
            intervals: self.intervals.as_slice(),
            base: self.base,
            stopped: self.stopped,
            cpu: self.outcome.cpu.unwrap_or_default(),
        }
    }
}

/// This end's intervals of one direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionIntervals {
    /// Whether this end sends.
    pub sender: bool,
    /// In order of time.
    pub intervals: Vec<Interval>,
}

/// Several records, e.g. the four rows of one `test`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordSet {
    /// Name and version of this format.
    pub schema: RecordSetSchema,
    /// In the order in which they ran.
    pub records: Vec<TestRecord>,
    /// With several runs of each row: their spread.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub summaries: Vec<RepeatSummary>,
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

impl RecordSet {
    /// Wraps records that ran one after another.
    pub fn new(records: Vec<TestRecord>) -> Self {
        Self { schema: RecordSetSchema::V1, records, summaries: Vec::new() }
    }
}

/// Several runs of the same row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepeatSummary {
    /// The repeated row, e.g. `TCP send, 3 streams`.
    pub row: String,
    /// How many runs gave a number.
    pub runs: u32,
    /// Median of the delivered rates.
    pub median: BitRate,
    /// That of the slowest run.
    pub slowest: BitRate,
    /// That of the fastest run.
    pub fastest: BitRate,
    /// Why these are not runs of one thing; none: they agree.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub spread: Option<Reason>,
}
