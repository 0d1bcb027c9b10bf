//! What every phase of a client needs: the control connection and the observer.

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use linux::event::StopSignals;
use linux::netlink::RouteSocket;
use measurement::{Peer, Timestamp};
use protocol::iperf3::{Announcement, Client, ClientPhase, ProtocolError, TestLimits};

use crate::batches::BatchedEngines;
use crate::clock::Clock;
use crate::control::Control;
use crate::error::SessionError;
use crate::notes;
use crate::observer::Observer;
use crate::request::Request;

/// One client and its server.
pub(super) struct Link<'a> {
    /// What is asked for; its plan is within the limits of the server once these are known.
    pub(super) request: Cow<'a, Request>,
    pub(super) observer: &'a mut dyn Observer,
    pub(super) interrupts: Option<&'a StopSignals>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) control: Control<Client>,
    pub(super) server: SocketAddr,
    /// Round-trip time of the control connection when it was opened.
    pub(super) rtt: Duration,
}

/// What is known of the test and of the peer before the streams are open.
pub(super) struct About {
    pub(super) peer: Peer,
    /// What a linerate server announced; none: it is an iperf3.
    pub(super) announcement: Option<Announcement>,
    /// Engines that were chosen though none was asked for.
    pub(super) batched: Option<BatchedEngines>,
    /// What was not as it was meant to be, each one sentence.
    pub(super) notes: Vec<String>,
    /// When the test was asked for (RFC 3339, UTC).
    pub(super) started_at: String,
}

impl Link<'_> {
    /// Which phase the protocol is in.
    pub(super) fn phase(&self) -> ClientPhase {
        self.control.machine.phase()
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupts.is_some_and(StopSignals::arrived)
    }

    /// Waits until the server says something, a signal comes, one of `others` becomes
    /// readable, or `until` has come.
    pub(super) fn wait(
        &mut self,
        others: &[BorrowedFd<'_>],
        until: Option<Timestamp>,
    ) -> Result<(), SessionError> {
        let mut watched: Vec<_> = self.interrupts.map(AsFd::as_fd).into_iter().collect();
        watched.extend(others);
        self.control.wait(&watched, until).map_err(SessionError::system("poll"))
    }

    /// Waits for the server before the test runs, where a signal ends everything.
    pub(super) fn wait_for_server(&mut self) -> Result<(), SessionError> {
        self.wait(&[], None)?;
        if self.is_interrupted() { Err(SessionError::Interrupted) } else { Ok(()) }
    }

    pub(super) fn failure(&self, error: ProtocolError) -> SessionError {
        let is_lost = matches!(error, ProtocolError::Lost(_));
        let local = self.control.local_address().filter(|_| is_lost).map(|local| local.ip());
        match local.filter(|address| is_of_this_host(*address) == Some(false)) {
            Some(address) => SessionError::AddressLost { address },
            None => SessionError::Protocol { peer: self.server, error },
        }
    }

    /// Puts the plan within the limits that the server states; what changed, in one sentence.
    pub(super) fn keep_to(&mut self, limits: TestLimits) -> Option<String> {
        let asked = &self.request.plan;
        let plan = limits.applied(asked);
        let note = notes::on_limits(asked, &plan)?;
        self.request.to_mut().plan = plan;
        Some(note)
    }

    /// Ends a test that has not begun. A peer that failed is not waited for.
    pub(super) fn break_off(mut self) {
        self.control.machine.terminate();
        self.control.finish(GOODBYE_TO_THE_FAILED);
    }
}

/// Whether an interface of this host has that address, if the kernel tells.
fn is_of_this_host(address: IpAddr) -> Option<bool> {
    let address = address.to_canonical();
    let known = RouteSocket::open().and_then(|mut route| route.addresses()).ok()?;
    Some(address.is_loopback() || known.iter().any(|one| one.address == address))
}

/// How long a server that failed may take to close.
const GOODBYE_TO_THE_FAILED: Duration = Duration::from_millis(200);
