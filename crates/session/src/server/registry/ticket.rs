//! A test's place in the registry, as its conversation holds it.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use linux::event::EventFd;
use measurement::StreamOptions;
use protocol::iperf3::{Cookie, HelloToken, QueuePlace};

use super::number_set::NumberSet;
use super::{Arrival, Kind, Numbering, Opening, Registry, Verdict};
use crate::server::cost::Cost;
use crate::server::metrics::Refusal;
use crate::server::stay::Stay;
use crate::server::test_id::TestId;

/// One test's place in the registry, given up when dropped.
pub(crate) struct Ticket {
    pub(super) registry: Arc<Registry>,
    pub(super) cookie: Cookie,
    pub(super) number: u64,
    pub(super) client: IpAddr,
    pub(super) stay: Arc<Stay>,
    pub(super) arrivals: Receiver<Arrival>,
    pub(super) wake: Arc<EventFd>,
    pub(super) began: AtomicBool,
    /// It has given its place up.
    pub(super) has_left: bool,
}

impl Ticket {
    /// Which test it is.
    pub(crate) const fn id(&self) -> TestId {
        TestId { cookie: self.cookie, number: self.number }
    }

    /// Whether others wait for this test to end.
    pub(crate) fn is_queued_for(&self) -> bool {
        self.registry.is_queued_for()
    }

    /// Until when it keeps its place whoever needs it.
    pub(crate) fn stay(&self) -> &Stay {
        &self.stay
    }

    /// Why this test must end; none: it may go on.
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        let tests = self.registry.lock();
        tests.entries.get(&self.cookie).and_then(|entry| entry.verdict)
    }

    /// Takes `more` of the server for this test.
    pub(crate) fn grow(&self, more: Cost) -> Result<(), Refusal> {
        let mut tests = self.registry.lock();
        let displaced = tests.admission.grow(self.number, more, self.registry.clock.now())?;
        tests.tell(&displaced);
        Ok(())
    }

    /// Where the test stands in the queue; none: it may run.
    pub(crate) fn place(&self) -> Option<QueuePlace> {
        self.registry.lock().admission.place(self.number)
    }

    /// Takes the handshake lock of this address, for hellos that bear no
    /// token; whether this test holds it. If not, [`Self::wake`] becomes readable when it does.
    pub(crate) fn takes_handshake_lock(&self) -> bool {
        let mut tests = self.registry.lock();
        let has_it = tests.locks.ask(self.client, self.number);
        if !has_it && let Some(holder) = tests.locks.holder(self.client) {
            // It is not alone any more.
            tests.wake(holder);
        }
        has_it
    }

    /// How long this test may hold the lock while others wait, beside some round
    /// trips; none: no test waits for it.
    pub(crate) fn patience_of_others(&self) -> Option<Duration> {
        self.registry.lock().locks.patience(self.client, self.number)
    }

    /// The test begins.
    pub(crate) fn begin(&self) {
        self.began.store(true, SeqCst);
    }

    /// Lets streams come by TCP.
    pub(crate) fn open_tcp(&self, streams: u32, numbering: Numbering) {
        self.open(streams, Kind::Tcp, numbering);
    }

    /// Lets streams come by UDP. Their hellos bear `token`, or none if it is this test's
    /// turn.
    pub(crate) fn open_udp(
        &self,
        streams: u32,
        options: &StreamOptions,
        token: Option<HelloToken>,
        numbering: Numbering,
    ) {
        self.open(streams, Kind::Udp { options: options.clone(), token }, numbering);
    }

    fn open(&self, left: u32, kind: Kind, numbering: Numbering) {
        let numbers = (numbering == Numbering::Explicit).then(|| NumberSet::below(left));
        let opening = Opening { left, kind, numbers };
        if let Some(entry) = self.registry.lock().entries.get_mut(&self.cookie) {
            entry.opening = Some(opening);
        }
    }

    /// Lets no more streams come.
    pub(crate) fn close(&self) {
        let mut tests = self.registry.lock();
        if let Some(entry) = tests.entries.get_mut(&self.cookie) {
            entry.opening = None;
        }
        tests.release_handshake_lock(self.client, self.number, true);
    }

    /// Gives the place up, which the next client may then have; the test is not over before
    /// the ticket is dropped.
    pub(crate) fn leave(&mut self) {
        if !std::mem::replace(&mut self.has_left, true) {
            let now = self.registry.clock.now();
            self.registry.lock().remove(&self.cookie, now);
        }
    }

    /// The next stream that came.
    pub(crate) fn arrival(&self) -> Option<Arrival> {
        self.arrivals.try_recv().ok()
    }

    /// Becomes readable when a stream came, a turn has come or the server stops.
    pub(crate) fn wake(&self) -> &EventFd {
        &self.wake
    }

    /// Whether the server stops.
    pub(crate) fn is_stopping(&self) -> bool {
        self.registry.stopping.load(SeqCst)
            || (self.registry.leaving.load(SeqCst) && !self.began.load(SeqCst))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.leave();
        self.registry.served.fetch_add(usize::from(self.began.load(SeqCst)), SeqCst);
        self.registry.changed.notify();
    }
}
