//! Records, the types of linerate's JSON file format: [`TestRecord`] for one test (plan, counters,
//! evidence, result), [`RecordSet`] for several.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::course::Course;
use crate::engine::EngineTrial;
use crate::environment::{Environment, Peer};
use crate::experiment::Elasticity;
use crate::host::HostEvidence;
use crate::judgement::{Judgement, Pulse, Reason};
use crate::outcome::Outcome;
use crate::plan::{Direction, TestPlan};
use crate::rate_search::{RateSearchEnd, RateTrial};
use crate::round_trips::Probe;
use crate::runtime::Runtime;
use crate::sample::Sample;
use crate::units::{BitRate, Timestamp};

pub use crate::engine::ArrivalClock;
pub use crate::stream::{DirectionIntervals, OneWayDelay, PeerStream, StreamRecord};

/// Format version of the JSON of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RecordSchema {
    /// The only version so far.
    #[serde(rename = "linerate/record/1")]
    V1,
}

/// Origin of the numbers of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// linerate ran the test and wrote the record.
    #[default]
    Measured,
    /// Another program ran the test; the text describes its output, e.g. `the log of iperf3 3.16`.
    Imported(String),
}

impl Source {
    fn is_measured(&self) -> bool {
        *self == Self::Measured
    }
}

/// Format version of the JSON of several records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RecordSetSchema {
    /// The only version so far.
    #[serde(rename = "linerate/records/1")]
    V1,
}

/// Concurrent tests of another client on the same server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Neighbour {
    /// Address of the client; none: the server does not report it, or these are several clients.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub address: Option<IpAddr>,
    /// Number of concurrent tests.
    pub tests: u32,
    /// Payload bytes of these tests during this test, both directions together.
    pub bytes: u64,
}

/// Origin of the numbers of a record: the program, and why the test was run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Origin {
    /// Version of the linerate that wrote the record.
    pub linerate: String,
    /// The program that ran the test.
    #[serde(skip_serializing_if = "Source::is_measured", default)]
    pub source: Source,
    /// Question to which earlier tests of the run left no answer, e.g. `does a slower run lose as well?`.
    /// `None`: the user requested the test.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub question: Option<String>,
}

impl Origin {
    /// The origin of a record that this version of linerate writes now.
    pub fn new(source: Source) -> Self {
        Self { linerate: env!("CARGO_PKG_VERSION").to_owned(), source, question: None }
    }
}

/// Report of the peer at the end of a test; all of its parts are empty or none if the peer sent no
/// report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PeerReport {
    /// Counters of each stream at the peer.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub streams: Vec<PeerStream>,
    /// Congestion control of the peer's TCP streams; none: not reported.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub congestion: Option<String>,
    /// Concurrent tests of other clients on the server. Empty: not reported, or there were none.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub shared: Vec<Neighbour>,
    /// Use of the peer's worker threads; none: not reported.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub runtime: Option<Runtime>,
    /// Payload at the server in short intervals; empty: not reported.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub pulses: Vec<Pulse>,
}

/// Trials before a test, which chose its engines or its rate, and the experiment after it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trials {
    /// Trials of engines, which chose the engines; empty: there were none.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub engines: Vec<EngineTrial>,
    /// Search that chose the rate of the plan; none: the rate was requested, or is unlimited.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate: Option<RateSearch>,
    /// How the rate followed what an experiment after the test changed for moments; empty: there was no
    /// experiment.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub elasticities: Vec<Elasticity>,
}

/// Search for the highest rate without loss, before a test of UDP for which no rate was requested.
/// All rates are those of the payload of all streams of one direction together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateSearch {
    /// The rate that was found, and that the test held.
    pub held: BitRate,
    /// Why the search found no higher rate.
    pub end: RateSearchEnd,
    /// Loss at any rate, as a share of the datagrams, 0 to 1: a rate counted as free of loss if it
    /// lost no more. None: slow trials lost nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub floor: Option<f64>,
    /// The trials in the order in which they ran.
    pub trials: Vec<RateTrial>,
    /// Record of the trial that shows the limit: that with the lowest rate above the one held. None:
    /// no higher rate was tried.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub above: Option<Box<TestRecord>>,
}

impl RateSearch {
    /// The trial that shows the limit: that with the lowest rate above the one held.
    pub fn next_above(&self) -> Option<&RateTrial> {
        let rate = self.above.as_ref()?.plan.asked()?;
        self.trials.iter().rev().find(|trial| trial.asked == rate)
    }
}

impl PeerReport {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Trials {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Record of one test: plan, counters of both ends, evidence on the hosts, and result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestRecord {
    /// Version of the format.
    pub schema: RecordSchema,
    /// Origin of the numbers.
    pub origin: Origin,
    /// Labels that the user gave (`--tag`).
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub tags: BTreeMap<String, String>,
    /// Host that wrote the record, and start of the test; none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub environment: Option<Environment>,
    /// The peer of the test; none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub peer: Option<Peer>,
    /// Plan of the test.
    pub plan: TestPlan,
    /// Streams with their settings in effect. Empty: not known.
    pub streams: Vec<StreamRecord>,
    /// Start of the test, on this host's clock; none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[serde(rename = "start_nanos")]
    pub start: Option<Timestamp>,
    /// Counters of this end over time; the first sample is taken at the start. If there are more
    /// streams than iperf3 supports, only the first, that of `base` and the last are kept. Empty:
    /// not known.
    pub samples: Vec<Sample>,
    /// Index of the sample at the end of the omitted start, from which the result counts.
    pub base: usize,
    /// When this end stopped sending, on this host's clock; none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[serde(rename = "stopped_nanos")]
    pub stopped: Option<Timestamp>,
    /// Intervals between the samples, for each direction.
    pub intervals: Vec<DirectionIntervals>,
    /// Report of the peer at the end of the test.
    #[serde(skip_serializing_if = "PeerReport::is_empty", default)]
    pub reported: PeerReport,
    /// Use of this end's worker threads; none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub runtime: Option<Runtime>,
    /// Trials before the test, which chose its engines or its rate, and the experiment after it.
    #[serde(skip_serializing_if = "Trials::is_empty", default)]
    pub trials: Trials,
    /// Requests that were sent at fixed times, by the test or by a probe beside it, in the order of
    /// sending.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub probes: Vec<Probe>,
    /// Payload at this end in short intervals.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub pulses: Vec<Pulse>,
    /// Evidence on the hosts of the test, this one first.
    #[serde(
        deserialize_with = "crate::host::deserialize_all",
        skip_serializing_if = "Vec::is_empty",
        default
    )]
    pub hosts: Vec<HostEvidence>,
    /// Result of the test: throughput, loss and round-trip times.
    pub outcome: Outcome,
    /// Judgement on the result; none: the record was not judged.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub judgement: Option<Judgement>,
}

impl TestRecord {
    /// A record of a test that another program ran, with the plan only; an importer adds what its
    /// source contains. `source` describes it, e.g. `the log of iperf3 3.16`.
    pub fn imported(plan: TestPlan, source: impl Into<String>) -> Self {
        Self {
            schema: RecordSchema::V1,
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
            trials: Trials::default(),
            probes: Vec::new(),
            pulses: Vec::new(),
            hosts: Vec::new(),
            outcome: Outcome::unknown(),
            judgement: None,
        }
    }

    /// Time that the result covers at this end: from the end of the omitted start (`--omit`) until
    /// this end stopped sending. None: not known.
    pub fn result_span(&self) -> Option<Duration> {
        Some(self.stopped?.since(self.samples.get(self.base)?.at))
    }

    /// Requested rate of all streams of one direction together, or the rate that a search found;
    /// none: unlimited.
    pub fn paced(&self, direction: Direction) -> Option<BitRate> {
        let directions = &self.outcome.directions;
        let asked = directions.iter().find(|one| one.direction == direction)?.asked;
        asked.or_else(|| self.trials.rate.as_ref().map(|search| search.held))
    }

    /// Counters and settings of this end, from which output in iperf3's format is made.
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

/// A set of records, e.g. the four rows of one `linerate test`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordSet {
    /// Version of the format.
    pub schema: RecordSetSchema,
    /// Records in the order in which the tests ran.
    pub records: Vec<TestRecord>,
    /// For repeated tests: spread of the rates of each row.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub summaries: Vec<RepeatSummary>,
    /// Error that ended the run; none: all tests ran to their planned end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<RunError>,
}

impl RecordSet {
    /// A set without records, of a run that `error` ended before the first.
    pub fn failed(error: RunError) -> Self {
        Self { error: Some(error), ..Self::new(Vec::new()) }
    }

    /// Makes a set of `records`, which are in the order in which the tests ran, without summaries.
    pub fn new(records: Vec<TestRecord>) -> Self {
        Self { schema: RecordSetSchema::V1, records, summaries: Vec::new(), error: None }
    }
}

/// Error that ended a run, as it is on standard error too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunError {
    /// The error, one sentence.
    pub message: String,
    /// Kind of the error.
    pub kind: ErrorKind,
    /// Exit code of the program.
    pub exit_code: u8,
}

/// Kind of an error that ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ErrorKind {
    /// The command line is not valid; no test ran.
    Usage,
    /// The server cannot be found or reached, or does not answer.
    Unreachable,
    /// The server was busy with other tests.
    Busy,
    /// A signal at this end stopped the run.
    Interrupted,
    /// Anything else.
    Failed,
}

/// Spread of the rates of repeated runs of one test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RepeatSummary {
    /// The repeated row, e.g. `TCP send, 3 streams`.
    pub row: String,
    /// Number of runs with a rate.
    pub runs: u32,
    /// Median of the delivered rates.
    #[serde(rename = "median_bits_per_second")]
    pub median: BitRate,
    /// Delivered rate of the slowest run.
    #[serde(rename = "slowest_bits_per_second")]
    pub slowest: BitRate,
    /// Delivered rate of the fastest run.
    #[serde(rename = "fastest_bits_per_second")]
    pub fastest: BitRate,
    /// Warning that the runs differ too much to be compared; none: they agree.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub spread: Option<Reason>,
}
