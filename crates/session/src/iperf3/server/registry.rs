//! Which tests there are, and how what arrives finds its test.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use linux::event::EventFd;
use measurement::{StreamOptions, Timestamp};
use protocol::iperf3::{Cookie, Hello, HelloToken, Server};

use super::extra_ports::ExtraPort;
use super::pending_connection::send_away;
use super::test_id::TestId;
use crate::clock::Clock;
use crate::control::Control;
use crate::server::admission::{Admission, Cost, Order, QueuePlace, TestClass};
use crate::server::client_prefix::ClientPrefix;
use crate::server::handshake_lock::HandshakeLocks;
use crate::server::metrics::Refusal;
use crate::server::peer_table::{PeerState, PeerTable};

/// A client whose test has ended, and its connection.
pub(super) type Parting = (Box<Control<Server>>, SocketAddr);

/// A stream that arrived for a test.
pub(super) struct Arrival {
    /// Its number, if it sent one; else it is the next one.
    pub(super) index: Option<u32>,
    pub(super) socket: ArrivalSocket,
}

/// What carries it.
pub(super) enum ArrivalSocket {
    Tcp(TcpStream),
    Udp(UdpSocket),
}

/// All tests of a server.
pub(super) struct Registry {
    tests: Mutex<Tests>,
    clock: Arc<dyn Clock>,
    /// Connections of tests that have ended, which their clients are to close.
    partings: Mutex<Vec<Parting>>,
    /// Extra ports that tests have opened and the acceptor does not watch yet.
    extra_ports: Mutex<Vec<ExtraPort>>,
    changed: EventFd,
    served: AtomicUsize,
    tried: AtomicUsize,
    leaving: AtomicBool,
    stopping: AtomicBool,
}

struct Tests {
    next: u64,
    entries: HashMap<Cookie, Entry>,
    admission: Admission,
    locks: HandshakeLocks,
    peers: PeerTable,
}

/// What the acceptor knows of a test.
struct Entry {
    number: u64,
    /// The address of its control connection: UDP goes nowhere else (clause 13.6).
    client: IpAddr,
    cost: Cost,
    /// What its streams need; none: it waits for no streams.
    opening: Option<Opening>,
    arrivals: Sender<Arrival>,
    wake: Arc<EventFd>,
}

/// The streams that a test waits for.
struct Opening {
    /// How many more.
    left: u32,
    kind: Kind,
    /// Streams send their numbers: which of them have come (clause 13.12).
    numbers: Option<Vec<bool>>,
}

enum Kind {
    Tcp,
    Udp { options: StreamOptions, token: Option<HelloToken> },
}

/// How streams get their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbering {
    /// In the order in which they arrive (clause 7.6).
    ByArrival,
    /// Each stream sends its number (clause 13.12).
    Explicit,
}

/// A hello's test.
pub(super) enum Owner {
    /// The test expects this stream.
    Expected { test: Cookie, options: StreamOptions, index: Option<u32> },
    /// The test has this stream already.
    Known,
    /// The stream belongs to no test.
    Stray,
}

impl Registry {
    pub(super) fn new(order: Order, most: Cost, clock: Arc<dyn Clock>) -> io::Result<Self> {
        let tests = Tests {
            next: 0,
            entries: HashMap::new(),
            admission: Admission::new(order, most),
            locks: HandshakeLocks::default(),
            peers: PeerTable::default(),
        };
        Ok(Self {
            tests: Mutex::new(tests),
            clock,
            partings: Mutex::default(),
            extra_ports: Mutex::default(),
            changed: EventFd::new()?,
            served: AtomicUsize::new(0),
            tried: AtomicUsize::new(0),
            leaving: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
        })
    }

    /// Becomes readable when a test has ended.
    pub(super) const fn changed(&self) -> &EventFd {
        &self.changed
    }

    /// How many tests have begun and ended.
    pub(super) fn served(&self) -> usize {
        self.served.load(SeqCst)
    }

    /// How many clients have asked for a test that they might have had.
    pub(super) fn tried(&self) -> usize {
        self.tried.load(SeqCst)
    }

    /// A client has asked for a test, which is over or was refused.
    pub(super) fn note_try(&self) {
        self.tried.fetch_add(1, SeqCst);
        self.changed.notify();
    }

    /// How many tests there are.
    pub(super) fn tests(&self) -> usize {
        self.lock().entries.len()
    }

    /// Why a client at this address could not test now, whatever it asked for.
    pub(super) fn objection(&self, client: IpAddr) -> Option<Refusal> {
        self.lock().admission.objection(ClientPrefix::containing(client))
    }

    /// What one client may have, all its tests together.
    pub(super) fn part(&self) -> Cost {
        self.lock().admission.part()
    }

    /// Takes a new test in.
    pub(super) fn enter(
        self: &Arc<Self>,
        cookie: Cookie,
        client: IpAddr,
        cost: Cost,
        class: TestClass,
    ) -> Result<Ticket, Refusal> {
        let wake = Arc::new(EventFd::new().map_err(|_| Refusal::Descriptors)?);
        let client = client.to_canonical();
        let mut tests = self.lock();
        // A test asked for twice, or two hosts of one name whose iperf3 is older than 3.2.
        if tests.entries.contains_key(&cookie) {
            return Err(Refusal::Busy);
        }
        let number = tests.next;
        tests.admission.enter(number, ClientPrefix::containing(client), cost, class)?;
        tests.next += 1;
        let (arrivals, receiver) = channel();
        let entry =
            Entry { number, client, cost, opening: None, arrivals, wake: Arc::clone(&wake) };
        tests.entries.insert(cookie, entry);
        Ok(Ticket {
            registry: Arc::clone(self),
            cookie,
            number,
            client,
            arrivals: receiver,
            wake,
            began: AtomicBool::new(false),
            has_left: false,
        })
    }

    /// Whether a test has that cookie.
    pub(super) fn knows(&self, cookie: &Cookie) -> bool {
        self.lock().entries.contains_key(cookie)
    }

    /// Whether that test is there, and not only one with its cookie.
    pub(super) fn has(&self, test: &TestId) -> bool {
        let tests = self.lock();
        tests.entries.get(&test.cookie).is_some_and(|entry| entry.number == test.number)
    }

    /// Whether streams of the test with that cookie send their numbers.
    pub(super) fn numbers(&self, cookie: &Cookie) -> bool {
        let tests = self.lock();
        let opening = tests.entries.get(cookie).and_then(|entry| entry.opening.as_ref());
        opening.is_some_and(|opening| opening.numbers.is_some())
    }

    /// Hands a connection to the test whose cookie it bears, as the stream with the number
    /// `index` if it sent one; gives it back if there is no such test. One that its test
    /// does not wait for is sent away.
    pub(super) fn hand_over(
        &self,
        cookie: &Cookie,
        index: Option<u32>,
        socket: TcpStream,
    ) -> Option<TcpStream> {
        let mut tests = self.lock();
        let Some(entry) = tests.entries.get_mut(cookie) else { return Some(socket) };
        if matches!(entry.awaits(), Some(Kind::Tcp)) && entry.takes(index) {
            entry.deliver(Arrival { index, socket: ArrivalSocket::Tcp(socket) });
        } else {
            send_away(&socket);
        }
        None
    }

    /// What the source of a datagram that is no hello is to this server.
    pub(super) fn peer_state(&self, source: SocketAddr) -> PeerState {
        self.lock().peers.who(source, self.clock.now())
    }

    /// Whose hello it is that came from `source`.
    pub(super) fn owner(&self, source: SocketAddr, hello: Hello) -> Owner {
        let tests = self.lock();
        if tests.peers.who(source, self.clock.now()) == PeerState::Current {
            return Owner::Known;
        }
        let client = source.ip().to_canonical();
        let holder = tests.locks.holder(client);
        let expected = tests.entries.iter().find_map(|(test, entry)| match entry.awaits() {
            Some(Kind::Udp { options, token }) if entry.client == client => {
                let is_meant = match (hello, token) {
                    (Hello::Tokened(shown) | Hello::Numbered(shown, _), Some(token)) => {
                        shown == *token && entry.could_take(hello.index())
                    }
                    (Hello::Tokened(_) | Hello::Numbered(..), None) | (_, Some(_)) => false,
                    (_, None) => holder == Some(entry.number),
                };
                is_meant.then(|| Owner::Expected {
                    test: *test,
                    options: options.clone(),
                    index: hello.index(),
                })
            }
            _ => None,
        });
        expected.unwrap_or(Owner::Stray)
    }

    /// Hands a UDP stream to the test that waits for it.
    pub(super) fn deliver_udp(
        &self,
        test: &Cookie,
        index: Option<u32>,
        source: SocketAddr,
        socket: UdpSocket,
    ) {
        let mut tests = self.lock();
        let Tests { entries, peers, .. } = &mut *tests;
        if let Some(entry) = entries.get_mut(test).filter(|entry| entry.opening.is_some())
            && entry.takes(index)
        {
            peers.add(source, entry.number);
            entry.deliver(Arrival { index, socket: ArrivalSocket::Udp(socket) });
        }
    }

    /// Leaves a client whose test has ended to the acceptor.
    pub(super) fn part_with(&self, parting: Parting) {
        self.partings.lock().unwrap_or_else(PoisonError::into_inner).push(parting);
        self.changed.notify();
    }

    /// Those clients.
    pub(super) fn partings(&self) -> Vec<Parting> {
        std::mem::take(&mut *self.partings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Leaves extra ports of a test to the acceptor.
    pub(super) fn open_extra_ports(&self, extra_ports: Vec<ExtraPort>) {
        if !extra_ports.is_empty() {
            self.extra_ports.lock().unwrap_or_else(PoisonError::into_inner).extend(extra_ports);
            self.changed.notify();
        }
    }

    /// Those ports.
    pub(super) fn new_extra_ports(&self) -> Vec<ExtraPort> {
        std::mem::take(&mut *self.extra_ports.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tells the tests that have not begun to end.
    pub(super) fn let_end(&self) {
        self.leaving.store(true, SeqCst);
        self.wake_all();
    }

    /// Tells all tests to end.
    pub(super) fn stop(&self) {
        self.stopping.store(true, SeqCst);
        self.wake_all();
    }

    fn wake_all(&self) {
        self.lock().entries.values().for_each(|entry| entry.wake.notify());
    }

    fn lock(&self) -> MutexGuard<'_, Tests> {
        self.tests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tests {
    fn wake(&self, number: u64) {
        if let Some(entry) = self.entries.values().find(|entry| entry.number == number) {
            entry.wake.notify();
        }
    }

    fn remove(&mut self, cookie: &Cookie, now: Timestamp) {
        let Some(entry) = self.entries.remove(cookie) else { return };
        let waiting: Vec<_> = self.admission.waiting().collect();
        self.admission.leave(entry.number, ClientPrefix::containing(entry.client), entry.cost);
        // Their places have changed, or their turn has come.
        for number in waiting {
            self.wake(number);
        }
        self.peers.end(entry.number, now);
        self.release_handshake_lock(entry.client, entry.number, false);
    }

    fn release_handshake_lock(&mut self, client: IpAddr, number: u64, used: bool) {
        if let Some(next) = self.locks.release(client, number, used) {
            self.wake(next);
        }
    }
}

impl Entry {
    fn awaits(&self) -> Option<&Kind> {
        self.opening.as_ref().map(|opening| &opening.kind)
    }

    /// Whether the stream with that number, or without one, is waited for.
    fn could_take(&self, index: Option<u32>) -> bool {
        let Some(opening) = &self.opening else { return false };
        match (&opening.numbers, index) {
            (Some(come), Some(index)) => come.get(index as usize).is_some_and(|come| !come),
            (None, None) => true,
            _ => false,
        }
    }

    /// Takes the stream with that number, or without one, if it is waited for; whether it was.
    fn takes(&mut self, index: Option<u32>) -> bool {
        let takes = self.could_take(index);
        let numbers = self.opening.as_mut().and_then(|opening| opening.numbers.as_mut());
        if let (true, Some(come), Some(index)) = (takes, numbers, index) {
            come[index as usize] = true;
        }
        takes
    }

    fn deliver(&mut self, arrival: Arrival) {
        if let Some(opening) = &mut self.opening {
            opening.left = opening.left.saturating_sub(1);
        }
        self.opening.take_if(|opening| opening.left == 0);
        // A test that has just ended needs no more streams.
        _ = self.arrivals.send(arrival);
        self.wake.notify();
    }
}

/// One test's place in the registry, given up when dropped.
pub(super) struct Ticket {
    registry: Arc<Registry>,
    cookie: Cookie,
    number: u64,
    client: IpAddr,
    arrivals: Receiver<Arrival>,
    wake: Arc<EventFd>,
    began: AtomicBool,
    /// It has given its place up.
    has_left: bool,
}

impl Ticket {
    /// Which test it is.
    pub(super) const fn id(&self) -> TestId {
        TestId { cookie: self.cookie, number: self.number }
    }

    /// Whether others wait for this test to end.
    pub(super) fn is_queued_for(&self) -> bool {
        self.registry.lock().admission.waiting().next().is_some()
    }

    /// Where the test stands in the queue; none: it may run.
    pub(super) fn place(&self) -> Option<QueuePlace> {
        self.registry.lock().admission.place(self.number)
    }

    /// Takes the handshake lock of this address, for hellos that bear no
    /// token; whether this test holds it. If not, [`Self::wake`] becomes readable when it does.
    pub(super) fn takes_handshake_lock(&self) -> bool {
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
    pub(super) fn patience_of_others(&self) -> Option<Duration> {
        self.registry.lock().locks.patience(self.client, self.number)
    }

    /// The test begins.
    pub(super) fn begin(&self) {
        self.began.store(true, SeqCst);
    }

    /// Lets streams come by TCP.
    pub(super) fn open_tcp(&self, streams: u32, numbering: Numbering) {
        self.open(streams, Kind::Tcp, numbering);
    }

    /// Lets streams come by UDP. Their hellos bear `token`, or none if it is this test's
    /// turn.
    pub(super) fn open_udp(
        &self,
        streams: u32,
        options: &StreamOptions,
        token: Option<HelloToken>,
        numbering: Numbering,
    ) {
        self.open(streams, Kind::Udp { options: options.clone(), token }, numbering);
    }

    fn open(&self, left: u32, kind: Kind, numbering: Numbering) {
        let numbers = (numbering == Numbering::Explicit).then(|| vec![false; left as usize]);
        let opening = Opening { left, kind, numbers };
        if let Some(entry) = self.registry.lock().entries.get_mut(&self.cookie) {
            entry.opening = Some(opening);
        }
    }

    /// Lets no more streams come.
    pub(super) fn close(&self) {
        let mut tests = self.registry.lock();
        if let Some(entry) = tests.entries.get_mut(&self.cookie) {
            entry.opening = None;
        }
        tests.release_handshake_lock(self.client, self.number, true);
    }

    /// Gives the place up, which the next client may then have; the test is not over before
    /// the ticket is dropped.
    pub(super) fn leave(&mut self) {
        if !std::mem::replace(&mut self.has_left, true) {
            let now = self.registry.clock.now();
            self.registry.lock().remove(&self.cookie, now);
        }
    }

    /// The next stream that came.
    pub(super) fn arrival(&self) -> Option<Arrival> {
        self.arrivals.try_recv().ok()
    }

    /// Becomes readable when a stream came, a turn has come or the server stops.
    pub(super) fn wake(&self) -> &EventFd {
        &self.wake
    }

    /// Whether the server stops.
    pub(super) fn is_stopping(&self) -> bool {
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

#[cfg(test)]
mod tests;
