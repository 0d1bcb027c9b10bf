//! A client's end of one test with a server of iperf2: the connections open, payload moves, and each
//! connection or flow ends for itself.

use std::sync::Arc;
use std::time::Duration;

use linux::event::StopSignals;
use measurement::{Peer, TestRecord};

use crate::clock::Clock;
use crate::error::SessionError;
use crate::observer::Observer;
use crate::preflight::{HostResources, TcpWays};
use crate::record::{Finished, PeerReport};
use crate::request::Request;

mod header;
mod opening;
mod running;
mod tcp_end;

use opening::{Connected, Opening};
use running::Running;

/// A server is asked to connect to this host and to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectBack {
    /// The port to which it is to connect.
    pub port: u16,
    /// Whether at once, or when it has received all.
    pub at_once: bool,
}

/// Options of a test with an iperf2 server that are not part of its plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Iperf2Options {
    /// The server is asked to connect to this host, too, and to send.
    pub back: Option<ConnectBack>,
    /// How long the server is asked to wait before it answers a request.
    pub hold: Duration,
    /// The server is asked how long datagrams or writes were on their way, by both ends' clocks.
    pub trip_times: bool,
}

/// What every phase needs.
struct Around<'a> {
    request: &'a Request,
    options: Iperf2Options,
    observer: &'a mut dyn Observer,
    interrupts: Option<&'a StopSignals>,
    clock: Arc<dyn Clock>,
}

impl Around<'_> {
    fn is_interrupted(&self) -> bool {
        self.interrupts.is_some_and(StopSignals::arrived)
    }
}

/// Runs one test. A test that began gives a record, whatever ended it.
///
/// # Errors
/// Why it could not begin.
pub(crate) fn run(
    request: &Request,
    options: Iperf2Options,
    observer: &mut dyn Observer,
    interrupts: Option<&StopSignals>,
    clock: Arc<dyn Clock>,
) -> Result<TestRecord, SessionError> {
    let host = HostResources::this(request.plan.transport);
    let ways = TcpWays { addresses: 1, extra_ports: 0 };
    if let Some(shortage) = host.lacks_as_client(&request.plan, ways) {
        return Err(SessionError::Shortage(shortage));
    }
    let mut around = Around { request, options, observer, interrupts, clock };
    let started_at = linux::clock::utc_rfc3339();
    let Connected { server, local_address, streams, rtt } = Opening::new(&around).open()?;
    let mut running = Running::prepare(&mut around, streams, (server, rtt))?;
    let peer = Peer { software: "iperf2".to_owned(), address: server, local_address };
    running.start(&mut around, &peer);
    let ended = running.finish(&mut around);
    let finished = Finished {
        started_at,
        peer,
        measured: ended.measured,
        report: PeerReport { streams: ended.reports, ..PeerReport::default() },
        ending: ended.ending,
        peer_accepts: None,
        notes: Vec::new(),
        batched: None,
    };
    finished.into_record(request)
}
