//! [`TestRecord`] as its JSON has it, all keys on one level, to read it by.
//!
//! serde reads `flatten` through a buffer of untyped values, and compiles all that a record can
//! contain a second time for it. To write, `flatten` costs nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use super::{
    Neighbour, Origin, PeerReport, PeerStream, RateSearch, RecordSchema, Source, StreamRecord,
    TestRecord, Trials,
};
use crate::engine::EngineTrial;
use crate::environment::{Environment, Peer};
use crate::experiment::Elasticity;
use crate::host::HostEvidence;
use crate::judgement::{Judgement, Pulse};
use crate::outcome::Outcome;
use crate::plan::TestPlan;
use crate::round_trips::Probe;
use crate::runtime::Runtime;
use crate::sample::Sample;
use crate::stream::DirectionIntervals;
use crate::units::Timestamp;

/// The fields of [`TestRecord`], [`Origin`], [`PeerReport`] and [`Trials`], by their keys.
#[derive(Deserialize)]
struct Form {
    schema: RecordSchema,
    linerate: String,
    #[serde(default)]
    source: Source,
    #[serde(default)]
    tags: BTreeMap<String, String>,
    environment: Option<Environment>,
    peer: Option<Peer>,
    plan: TestPlan,
    question: Option<String>,
    #[serde(with = "crate::stream::table")]
    streams: Vec<StreamRecord>,
    #[serde(rename = "start_nanos")]
    start: Option<Timestamp>,
    #[serde(with = "crate::sample::columns")]
    samples: Vec<Sample>,
    base: usize,
    #[serde(rename = "stopped_nanos")]
    stopped: Option<Timestamp>,
    intervals: Vec<DirectionIntervals>,
    #[serde(with = "crate::stream::peer_table")]
    peer_streams: Vec<PeerStream>,
    peer_congestion: Option<String>,
    #[serde(default)]
    shared: Vec<Neighbour>,
    peer_runtime: Option<Runtime>,
    #[serde(default)]
    peer_pulses: Vec<Pulse>,
    runtime: Option<Runtime>,
    #[serde(default)]
    engine_trials: Vec<EngineTrial>,
    rate_search: Option<RateSearch>,
    #[serde(default)]
    elasticities: Vec<Elasticity>,
    #[serde(with = "crate::probes", default)]
    probes: Vec<Probe>,
    #[serde(default)]
    pulses: Vec<Pulse>,
    #[serde(with = "crate::host::record", default)]
    hosts: Vec<HostEvidence>,
    outcome: Outcome,
    judgement: Option<Judgement>,
}

impl<'de> Deserialize<'de> for TestRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Form::deserialize(deserializer).map(Self::from)
    }
}

impl From<Form> for TestRecord {
    fn from(form: Form) -> Self {
        Self {
            origin: Origin { schema: form.schema, linerate: form.linerate, source: form.source },
            tags: form.tags,
            environment: form.environment,
            peer: form.peer,
            plan: form.plan,
            question: form.question,
            streams: form.streams,
            start: form.start,
            samples: form.samples,
            base: form.base,
            stopped: form.stopped,
            intervals: form.intervals,
            reported: PeerReport {
                streams: form.peer_streams,
                congestion: form.peer_congestion,
                shared: form.shared,
                runtime: form.peer_runtime,
                pulses: form.peer_pulses,
            },
            runtime: form.runtime,
            trials: Trials {
                engines: form.engine_trials,
                rate: form.rate_search,
                elasticities: form.elasticities,
            },
            probes: form.probes,
            pulses: form.pulses,
            hosts: form.hosts,
            outcome: form.outcome,
            judgement: form.judgement,
        }
    }
}
