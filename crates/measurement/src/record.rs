//! The record of one test: the file format.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::course::Course;
use crate::engine::EngineTrial;
use crate::environment::{Environment, Peer};
use crate::host::HostEvidence;
use crate::judgement::{Judgement, Pulse, Reason};
use crate::outcome::Outcome;
use crate::plan::TestPlan;
use crate::round_trips::Probe;
use crate::runtime::Runtime;
use crate::sample::Sample;
use crate::units::{BitRate, Timestamp};

pub use crate::engine::ArrivalClock;
pub use crate::stream::{DirectionIntervals, PeerStream, StreamRecord};

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

/// The format of a record, and where its numbers come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    /// Name and version of this format.
    pub schema: RecordSchema,
    /// Version of the linerate that wrote it.
    pub linerate: String,
    /// Where its numbers come from.
    #[serde(skip_serializing_if = "Source::is_measured", default)]
    pub source: Source,
}

impl Origin {
    /// The origin of a record that this linerate writes in the newest format.
    pub fn new(source: Source) -> Self {
        Self { schema: RecordSchema::V2, linerate: env!("CARGO_PKG_VERSION").to_owned(), source }
    }
}

/// What the peer reported of a test at its end; empty: nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeerReport {
    /// The counters that the peer reported at the end.
    #[serde(rename = "peer_streams")]
    pub streams: Vec<PeerStream>,
    /// Congestion control of the peer's TCP streams, if it told.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[serde(rename = "peer_congestion")]
    pub congestion: Option<String>,
    /// Tests of other clients that the server ran at the same time, if it reported them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub shared: Vec<Neighbour>,
    /// The use of the peer's workers (threads), if it reported it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[serde(rename = "peer_runtime")]
    pub runtime: Option<Runtime>,
    /// Payload that the server moved in short steps of time, if it reported it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[serde(rename = "peer_pulses")]
    pub pulses: Vec<Pulse>,
}

/// One test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TestRecord {
    /// The format, and where the numbers come from.
    #[serde(flatten)]
    pub origin: Origin,
    /// Labels given by the user.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub tags: BTreeMap<String, String>,
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
    /// What the peer reported at the end.
    #[serde(flatten)]
    pub reported: PeerReport,
    /// How this end's workers (threads) served the streams.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub runtime: Option<Runtime>,
    /// How its engines were chosen, if short tests before it did.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub engine_trials: Vec<EngineTrial>,
    /// Requests that were sent at their times, by the test or beside it, in that order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub probes: Vec<Probe>,
    /// Payload that this end moved in short steps of time.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub pulses: Vec<Pulse>,
    /// Inventory and counters of the hosts, this one first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub hosts: Vec<HostEvidence>,
    /// The result of the test.
    pub outcome: Outcome,
    /// Where everything went, and whether to believe it; none: nobody judged.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub judgement: Option<Judgement>,
}

impl TestRecord {
    /// A test that another program ran, of which nothing is known yet but what was asked: an
    /// importer puts in what its source has, and leaves out what it does not. `source` says
    /// what that is, e.g. `the log of iperf3 3.16`.
    pub fn imported(plan: TestPlan, source: impl Into<String>) -> Self {
        Self {
            origin: Origin::new(Source::Imported(source.into())),
            tags: BTreeMap::new(),
            environment: None,
            peer: None,
            plan,
            streams: Vec::new(),
            start: None,
            samples: Vec::new(),
            base: 0,
            stopped: None,
            intervals: Vec::new(),
            reported: PeerReport::default(),
            runtime: None,
            engine_trials: Vec::new(),
            probes: Vec::new(),
            pulses: Vec::new(),
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
