//! Last phase: both ends have said what they counted; the connection closes, and what is left
//! is the record.

use std::net::SocketAddr;
use std::time::Duration;

use linux::event::StopSignals;
use linux::tcp::TcpOptions;
use measurement::outcome::Ending;
use measurement::record::PeerStream;
use measurement::{ClockOffset, HostEvidence, Role, TestRecord};
use protocol::iperf3::Results;

use super::link::{About, Link};
use crate::clock::Clock;
use crate::connect;
use crate::error::SessionError;
use crate::measured::Measured;
use crate::notes;
use crate::observer::Observer;
use crate::record::{Finished, PeerReport};
use crate::request::Request;

/// A test that began and is over.
pub(super) struct Ended {
    pub(super) about: About,
    pub(super) measured: Measured,
    /// The server's results; none: they never came.
    pub(super) results: Option<Box<Results>>,
    pub(super) cut: Option<Cut>,
    /// An error is why it ended early.
    pub(super) ending: Result<(), SessionError>,
}

/// Why a test ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// A signal arrived.
    Signal,
    /// An amount that was asked did not move, for this reason.
    Breakdown(&'static str),
}

impl Ended {
    /// The record, after the connection has been closed in order.
    ///
    /// # Errors
    /// As for [`Finished::into_record`].
    pub(super) fn into_record(self, link: Link<'_>) -> Result<TestRecord, SessionError> {
        let Self { about, measured, results, cut, ending } = self;
        let Link { request, observer, control, server, interrupts, clock, .. } = link;
        let report = peer_report(results, control.machine.clock());
        // A peer that failed is not waited for.
        control.finish(if ending.is_ok() { GOODBYE } else { GOODBYE_TO_THE_FAILED });
        let is_lost = matches!(&ending, Err(error) if !matches!(error, SessionError::Interrupted));
        let peer_accepts = is_lost.then(|| accepts(server, interrupts, &*clock));
        let ending = match ending {
            Ok(()) => in_order(cut, &request, &measured, server),
            Err(error) => broken_off(&error, observer),
        };
        let port = about.announcement.as_ref().and_then(|peer| peer.ports.first().copied());
        let mut notes = about.notes;
        notes.extend(notes::on_calls(&measured, port));
        let finished = Finished {
            started_at: about.started_at,
            peer: about.peer,
            measured,
            report,
            ending,
            peer_accepts,
            notes,
            batched: about.batched,
        };
        finished.into_record(&request)
    }
}

/// The server's results as the record keeps them; `clock` is how its clock stands to this one's.
fn peer_report(results: Option<Box<Results>>, clock: Option<ClockOffset>) -> PeerReport {
    let Some(results) = results else { return PeerReport::default() };
    let (host, pulses) = results.evidence.map_or((None, Vec::new()), |evidence| {
        let host = HostEvidence { role: Role::Peer, clock, ..evidence.host };
        (Some(host), evidence.pulses)
    });
    PeerReport {
        cpu: Some(results.cpu),
        streams: results.streams.into_iter().map(PeerStream::from).collect(),
        congestion: results.congestion_used,
        shared: results.shared,
        pacing: results.pacing.map(|report| *report),
        ipdv: results.ipdv.map(|report| *report),
        runtime: results.runtime.map(|runtime| *runtime),
        engines: results.engines.map(|engines| *engines).unwrap_or_default(),
        host,
        pulses,
    }
}

/// Whether the server's host still accepts connections, which takes small packets only.
fn accepts(server: SocketAddr, interrupts: Option<&StopSignals>, clock: &dyn Clock) -> bool {
    let options = TcpOptions::default();
    let connected = connect::connect(server, &options, ACCEPT_WITHIN, (interrupts, clock));
    matches!(connected, Ok(Ok(_)))
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

/// How long a host that is there may take to accept a connection.
const ACCEPT_WITHIN: Duration = Duration::from_secs(1);
/// How long the server may take to close after the last message.
const GOODBYE: Duration = Duration::from_secs(2);
const GOODBYE_TO_THE_FAILED: Duration = Duration::from_millis(200);
