//! Last phase: both ends have said what they counted; what is left is the record.

use std::net::SocketAddr;
use std::time::Duration;

use measurement::outcome::{CpuUse, Ending, Outcome};
use measurement::record::{Neighbour, PeerStream, RecordSchema};
use measurement::{
    ClockOffset, Engines, Environment, HostEvidence, PacingReport, Pulse, Role, Runtime, TestRecord,
};
use protocol::iperf3::{PeerEvidence, Results};

use super::link::{About, Link};
use crate::error::SessionError;
use crate::measured::Measured;
use crate::notes;
use crate::observer::Observer;
use crate::request::{Request, Watching};

/// A test that began and is over.
pub(super) struct Ended {
    pub(super) about: About,
    pub(super) measured: Measured,
    pub(super) report: PeerReport,
    pub(super) cut: Option<Cut>,
    /// An error is why it ended early.
    pub(super) ending: Result<(), SessionError>,
}

/// Why a test ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// A signal came.
    Signal,
    /// An amount that was asked did not move, for this reason.
    Breakdown(&'static str),
}

/// The server's results; empty if they never came.
#[derive(Default)]
pub(super) struct PeerReport {
    cpu: Option<CpuUse>,
    streams: Vec<PeerStream>,
    congestion: Option<String>,
    /// Other tests of the server meanwhile.
    shared: Vec<Neighbour>,
    /// How the server's senders kept their rate.
    pacing: Option<PacingReport>,
    runtime: Option<Runtime>,
    engines: Engines,
    evidence: Option<Box<PeerEvidence>>,
}

impl From<Results> for PeerReport {
    fn from(results: Results) -> Self {
        Self {
            cpu: Some(results.cpu),
            streams: results.streams.into_iter().map(PeerStream::from).collect(),
            congestion: results.congestion_used,
            shared: results.shared,
            pacing: results.pacing.map(|report| *report),
            runtime: results.runtime.map(|runtime| *runtime),
            engines: results.engines.map(|engines| *engines).unwrap_or_default(),
            evidence: results.evidence,
        }
    }
}

impl Ended {
    /// The record, after the connection has been closed in order.
    ///
    /// # Errors
    /// [`SessionError::System`] if the kernel does not list the CPUs of this process.
    pub(super) fn into_record(self, link: Link<'_>) -> Result<TestRecord, SessionError> {
        let Self { about, mut measured, mut report, cut, ending } = self;
        let Link { request, observer, control, server, .. } = link;
        measured.peer_pacing = report.pacing.take();
        measured.peer_engines = std::mem::take(&mut report.engines);
        if let Some(batched) = &about.batched {
            batched.explain(&mut measured.engines);
            batched.explain(&mut measured.peer_engines);
        }
        let own = std::mem::take(&mut measured.host);
        let peer = report.evidence.take();
        let (hosts, peer_pulses) =
            evidence(request.options.watching, own, peer, control.machine.clock());
        // A peer that failed is not waited for.
        control.finish(if ending.is_ok() { GOODBYE } else { GOODBYE_TO_THE_FAILED });
        let ending = match ending {
            Ok(()) => in_order(cut, request, &measured, server),
            Err(error) => broken_off(&error, observer),
        };
        let outcome = outcome(ending, &about, &mut measured, &report);
        Ok(TestRecord {
            schema: RecordSchema::V1,
            linerate: env!("CARGO_PKG_VERSION").to_owned(),
            tags: request.tags.clone(),
            environment: environment(about.started_at)?,
            peer: about.peer,
            plan: request.plan.clone(),
            intervals: measured.intervals,
            start: measured.samples.first().map(|sample| sample.at).unwrap_or_default(),
            stopped: measured.stopped.unwrap_or_default(),
            streams: measured.records,
            samples: measured.samples,
            base: measured.base,
            peer_streams: report.streams,
            peer_congestion: report.congestion,
            shared: report.shared,
            runtime: measured.runtime,
            peer_runtime: report.runtime,
            engine_trials: Vec::new(),
            probes: measured.probes,
            pulses: measured.pulses,
            peer_pulses,
            hosts,
            outcome,
            judgement: None,
        })
    }
}

/// How a test ended that the protocol brought to its end.
fn in_order(
    cut: Option<Cut>,
    request: &Request,
    measured: &Measured,
    server: SocketAddr,
) -> Ending {
    let broken = measured.stream_error.as_ref().filter(|_| request.options.file.is_some());
    match (cut, broken) {
        (Some(Cut::Signal), _) => Ending::Interrupted,
        (_, Some(error)) => Ending::Failed { error: error.clone() },
        (Some(Cut::Breakdown(why)), None) => {
            Ending::Failed { error: format!("the test with {server} failed: {why}") }
        }
        (None, None) => Ending::Completed,
    }
}

/// How a test ended that an error broke off.
fn broken_off(error: &SessionError, observer: &mut dyn Observer) -> Ending {
    if matches!(error, SessionError::Interrupted) {
        return Ending::Interrupted;
    }
    observer.failed(error);
    Ending::Failed { error: error.to_string() }
}

fn outcome(ending: Ending, about: &About, measured: &mut Measured, report: &PeerReport) -> Outcome {
    let directions = measured.directions(&report.streams);
    let port = about.announcement.as_ref().and_then(|peer| peer.ports.first().copied());
    let mut notes = about.notes.clone();
    notes.extend(notes::on_calls(measured, port));
    Outcome {
        ending,
        directions,
        round_trips: measured.round_trips.take(),
        latency: None,
        cpu: measured.cpu,
        peer_cpu: report.cpu,
        broken: measured.stream_error.take(),
        notes,
    }
}

/// What both hosts have and did, and what moved at the server in short steps.
fn evidence(
    watching: Watching,
    own: HostEvidence,
    peer: Option<Box<PeerEvidence>>,
    clock: Option<ClockOffset>,
) -> (Vec<HostEvidence>, Vec<Pulse>) {
    let mut hosts = match watching {
        Watching::Nothing => return (Vec::new(), Vec::new()),
        Watching::Hosts => vec![own],
        Watching::Peer => Vec::new(),
    };
    let Some(peer) = peer else { return (hosts, Vec::new()) };
    hosts.push(HostEvidence { role: Role::Peer, clock, ..peer.host });
    (hosts, peer.pulses)
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

/// How long the server may take to close after the last message.
const GOODBYE: Duration = Duration::from_secs(2);
const GOODBYE_TO_THE_FAILED: Duration = Duration::from_millis(200);
