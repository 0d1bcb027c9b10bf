//! The record of a client's test that is over, whichever dialect it was run in.

use measurement::outcome::{CpuUse, Ending, Outcome};
use measurement::record::{Neighbour, Origin, PeerStream, RecordSchema, Source};
use measurement::{
    DelayVariation, Engines, Environment, HostEvidence, PacingReport, Peer, Pulse, Runtime,
    TestRecord,
};

use crate::batches::BatchedEngines;
use crate::error::SessionError;
use crate::measured::Measured;
use crate::request::{Request, Watching};

/// What a peer reported of the test; empty if it reported nothing.
#[derive(Default)]
pub(crate) struct PeerReport {
    pub(crate) cpu: Option<CpuUse>,
    pub(crate) streams: Vec<PeerStream>,
    /// Congestion control of its streams.
    pub(crate) congestion: Option<String>,
    /// Other tests of the server meanwhile.
    pub(crate) shared: Vec<Neighbour>,
    /// How its senders kept their rate.
    pub(crate) pacing: Option<PacingReport>,
    /// Delay variation that its receivers saw.
    pub(crate) ipdv: Option<DelayVariation>,
    pub(crate) runtime: Option<Runtime>,
    pub(crate) engines: Engines,
    /// What its host has and did.
    pub(crate) host: Option<HostEvidence>,
    /// What moved there in short steps.
    pub(crate) pulses: Vec<Pulse>,
}

/// A test that began and is over.
pub(crate) struct Finished {
    /// When the test was asked for (RFC 3339, UTC).
    pub(crate) started_at: String,
    pub(crate) peer: Peer,
    pub(crate) measured: Measured,
    pub(crate) report: PeerReport,
    pub(crate) ending: Ending,
    /// After a failure: whether the server's host still accepted a connection.
    pub(crate) peer_accepts: Option<bool>,
    /// What was not as it was meant to be, each one sentence.
    pub(crate) notes: Vec<String>,
    /// Engines that were chosen though none was asked for.
    pub(crate) batched: Option<BatchedEngines>,
}

impl Finished {
    /// The record of the test that `request` asked for.
    ///
    /// # Errors
    /// [`SessionError::System`] if the kernel does not list the CPUs of this process.
    pub(crate) fn into_record(mut self, request: &Request) -> Result<TestRecord, SessionError> {
        self.name_engines();
        let own = std::mem::take(&mut self.measured.host);
        let peer = self.report.host.take();
        let hosts = hosts(request.options.watching, own, peer);
        let is_watched = request.options.watching != Watching::Nothing;
        let outcome = self.outcome();
        let Self { started_at, peer, measured, report, .. } = self;
        let reported = measurement::record::PeerReport {
            streams: report.streams,
            congestion: report.congestion,
            shared: report.shared,
            runtime: report.runtime,
            pulses: if is_watched { report.pulses } else { Vec::new() },
        };
        Ok(TestRecord {
            schema: RecordSchema::V1,
            origin: Origin::new(Source::Measured),
            tags: request.tags.clone(),
            environment: Some(environment(started_at)?),
            peer: Some(peer),
            plan: request.plan.clone(),
            intervals: measured.intervals,
            start: measured.samples.first().map(|sample| sample.at),
            stopped: measured.stopped,
            streams: measured.records,
            samples: measured.samples,
            base: measured.base,
            reported,
            runtime: measured.runtime,
            trials: measurement::record::Trials::default(),
            probes: measured.probes,
            pulses: measured.pulses,
            hosts,
            outcome,
            judgement: None,
        })
    }

    /// Puts the peer's engines beside this end's, and the reason beside those that were chosen.
    fn name_engines(&mut self) {
        self.measured.peer_pacing = self.report.pacing.take();
        self.measured.ipdv.1 = self.report.ipdv.take();
        self.measured.peer_engines = std::mem::take(&mut self.report.engines);
        if let Some(batched) = &self.batched {
            batched.explain(&mut self.measured.engines);
            batched.explain(&mut self.measured.peer_engines);
        }
    }

    fn outcome(&mut self) -> Outcome {
        let directions = self.measured.directions(&self.report.streams);
        Outcome {
            ending: self.ending.clone(),
            peer_accepts: self.peer_accepts,
            directions,
            round_trips: self.measured.round_trips.take(),
            latency: None,
            cpu: Some(self.measured.cpu),
            peer_cpu: self.report.cpu,
            broken: self.measured.stream_error.take(),
            notes: std::mem::take(&mut self.notes),
            contradictions: Vec::new(),
        }
    }
}

/// The hosts whose evidence belongs into the record.
fn hosts(watching: Watching, own: HostEvidence, peer: Option<HostEvidence>) -> Vec<HostEvidence> {
    match watching {
        Watching::Nothing => Vec::new(),
        Watching::Hosts => [own].into_iter().chain(peer).collect(),
        Watching::Peer => peer.into_iter().collect(),
    }
}

fn environment(started_at: String) -> Result<Environment, SessionError> {
    let names = linux::host::system_names();
    let cpus = linux::host::allowed_cpus().map_err(SessionError::system("the list of CPUs"))?;
    Ok(Environment {
        host: names.host,
        kernel: names.kernel,
        architecture: names.architecture,
        cpus: u32::try_from(cpus.len()).unwrap_or(u32::MAX),
        started_at,
    })
}
