//! Which tests there are, and how what arrives finds its test.

use std::collections::HashMap;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use linux::event::EventFd;
use measurement::{StreamOptions, Timestamp};
use protocol::iperf3::{Cookie, Hello, HelloToken, Server, State};

use super::admission::{Admission, Displaced, Newcomer, Order};
use super::client_prefix::ClientOrigin;
use super::cost::{Cost, Need};
use super::extra_port::ExtraPort;
use super::handshake_lock::HandshakeLocks;
use super::limits::Excess;
use super::metrics::Refusal;
use super::peer_table::{PeerState, PeerTable};
use super::stay::{Displacement, Yielding};
use super::test_class::TestClass;
use super::test_id::TestId;
use crate::clock::Clock;
use crate::control::Control;

mod number_set;
mod ticket;

use number_set::NumberSet;
pub(crate) use ticket::Ticket;

/// A client whose test has ended, and its connection.
pub(crate) type Parting = (Box<Control<Server>>, SocketAddr);

/// A stream that arrived for a test.
pub(crate) struct Arrival {
    /// Its number, if it sent one; else it is the next one.
    pub(crate) index: Option<u32>,
    pub(crate) socket: ArrivalSocket,
}

/// What carries it.
pub(crate) enum ArrivalSocket {
    Tcp(TcpStream),
    Udp(UdpSocket),
}

/// All tests of a server.
pub(crate) struct Registry {
    tests: Mutex<Tests>,
    clock: Arc<dyn Clock>,
    /// Connections of tests that have ended, which their clients are to close.
    partings: Mutex<Vec<Parting>>,
    /// Extra ports that tests have opened and the acceptor does not watch yet.
    extra_ports: Mutex<Vec<ExtraPort>>,
    changed: EventFd,
    served: AtomicUsize,
    tried: AtomicUsize,
    streams: AtomicUsize,
    leaving: AtomicBool,
    stopping: AtomicBool,
}

struct Tests {
    next: u64,
    entries: HashMap<Cookie, TestEntry>,
    admission: Admission,
    locks: HandshakeLocks,
    peers: PeerTable,
}

/// What the acceptor knows of a test.
struct TestEntry {
    number: u64,
    /// The address of its control connection: UDP goes nowhere else (clause 13.6).
    client: IpAddr,
    /// What each of its streams takes.
    each: Cost,
    /// What its streams need; none: it waits for no streams.
    opening: Option<Opening>,
    /// Why it must end.
    verdict: Option<Verdict>,
    arrivals: Sender<Arrival>,
    wake: Arc<EventFd>,
}

/// Why a test must end that could go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It makes room for others.
    Displaced(Displacement),
    /// There is too little of something for its streams.
    Short(Refusal),
}

impl Verdict {
    /// What the client of the test hears.
    pub(crate) fn excess(self, yielding: &Yielding) -> Excess {
        match self {
            Self::Displaced(why) => why.words(yielding),
            Self::Short(why) => Excess::left(why),
        }
    }
}

/// The streams that a test waits for.
struct Opening {
    /// How many more.
    left: u32,
    kind: Kind,
    /// Streams send their numbers: which of them have come (clause 13.12).
    numbers: Option<NumberSet>,
}

enum Kind {
    Tcp,
    Udp { options: StreamOptions, token: Option<HelloToken> },
}

/// How streams get their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// In the order in which they arrive (clause 7.6).
    ByArrival,
    /// Each stream sends its number (clause 13.12).
    Explicit,
}

/// A hello's test.
pub(crate) enum Owner {
    /// The test expects this stream.
    Expected { test: Cookie, options: StreamOptions, index: Option<u32> },
    /// The test has this stream already.
    Known,
    /// The stream belongs to no test.
    Stray,
}

impl Registry {
    pub(crate) fn new(order: Order, most: Cost, clock: Arc<dyn Clock>) -> io::Result<Self> {
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
            streams: AtomicUsize::new(0),
            leaving: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
        })
    }

    /// Becomes readable when a test has ended.
    pub(crate) const fn changed(&self) -> &EventFd {
        &self.changed
    }

    /// How many tests have begun and ended.
    pub(crate) fn served(&self) -> usize {
        self.served.load(SeqCst)
    }

    /// How many clients have asked for a test that they might have had.
    pub(crate) fn tried(&self) -> usize {
        self.tried.load(SeqCst)
    }

    /// A client has asked for a test, which is over or was refused.
    pub(crate) fn note_try(&self) {
        self.tried.fetch_add(1, SeqCst);
        self.changed.notify();
    }

    /// How many streams of iperf2 clients have ended.
    pub(crate) fn streams(&self) -> usize {
        self.streams.load(SeqCst)
    }

    /// A stream of an iperf2 client has ended.
    pub(crate) fn note_stream(&self) {
        self.streams.fetch_add(1, SeqCst);
        self.changed.notify();
    }

    /// How many tests there are.
    pub(crate) fn tests(&self) -> usize {
        self.lock().entries.len()
    }

    /// Why a client at this address could not test now, whatever it asked for.
    pub(crate) fn objection(&self, client: IpAddr) -> Option<Refusal> {
        self.lock().admission.objection(ClientOrigin::of(client), self.clock.now())
    }

    /// What one client may have, all its tests together.
    pub(crate) fn part(&self) -> Cost {
        self.lock().admission.part()
    }

    /// Takes a new test in.
    pub(crate) fn enter(
        self: &Arc<Self>,
        cookie: Cookie,
        client: IpAddr,
        need: Need,
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
        let newcomer = Newcomer { number, client: ClientOrigin::of(client), class, need };
        let (stay, displaced) = tests.admission.enter(&newcomer, self.clock.now())?;
        tests.next += 1;
        tests.tell(&displaced);
        let (arrivals, receiver) = channel();
        let (each, wake_too) = (need.each, Arc::clone(&wake));
        let entry = TestEntry {
            number,
            client,
            each,
            opening: None,
            verdict: None,
            arrivals,
            wake: wake_too,
        };
        tests.entries.insert(cookie, entry);
        Ok(Ticket {
            registry: Arc::clone(self),
            cookie,
            number,
            client,
            stay,
            arrivals: receiver,
            wake,
            began: AtomicBool::new(false),
            has_left: false,
        })
    }

    /// Whether a test has that cookie.
    pub(crate) fn knows(&self, cookie: &Cookie) -> bool {
        self.lock().entries.contains_key(cookie)
    }

    /// Whether that test is there, and not only one with its cookie.
    pub(crate) fn has(&self, test: &TestId) -> bool {
        let tests = self.lock();
        tests.entries.get(&test.cookie).is_some_and(|entry| entry.number == test.number)
    }

    /// Whether streams of the test with that cookie send their numbers.
    pub(crate) fn numbers(&self, cookie: &Cookie) -> bool {
        let tests = self.lock();
        let opening = tests.entries.get(cookie).and_then(|entry| entry.opening.as_ref());
        opening.is_some_and(|opening| opening.numbers.is_some())
    }

    /// Hands a connection to the test whose cookie it bears, as the stream with the number
    /// `index` if it sent one; gives it back if there is no such test. One that its test
    /// does not wait for is sent away.
    pub(crate) fn hand_over(
        &self,
        cookie: &Cookie,
        index: Option<u32>,
        socket: TcpStream,
    ) -> Option<TcpStream> {
        let mut tests = self.lock();
        let Some(entry) = tests.entries.get(cookie) else { return Some(socket) };
        let is_awaited = matches!(entry.awaits(), Some(Kind::Tcp)) && entry.could_take(index);
        if is_awaited && tests.has_room_for_a_stream(cookie, self.clock.now()) {
            tests.deliver(cookie, Arrival { index, socket: ArrivalSocket::Tcp(socket) });
        } else {
            send_away(&socket);
        }
        None
    }

    /// Whether that test waits for connections.
    pub(crate) fn awaits(&self, test: &TestId) -> bool {
        self.lock().awaits(test)
    }

    /// Hands a connection that bears no cookie to that test, if it waits for one.
    ///
    /// # Errors
    /// It does not: the connection.
    pub(crate) fn offer(&self, test: &TestId, socket: TcpStream) -> Result<(), TcpStream> {
        let mut tests = self.lock();
        if !tests.awaits(test) {
            return Err(socket);
        }
        if tests.has_room_for_a_stream(&test.cookie, self.clock.now()) {
            let arrival = Arrival { index: None, socket: ArrivalSocket::Tcp(socket) };
            tests.deliver(&test.cookie, arrival);
        } else {
            send_away(&socket);
        }
        Ok(())
    }

    /// What the source of a datagram that is no hello is to this server.
    pub(crate) fn peer_state(&self, source: SocketAddr) -> PeerState {
        self.lock().peers.who(source, self.clock.now())
    }

    /// Whose hello it is that came from `source`.
    pub(crate) fn owner(&self, source: SocketAddr, hello: Hello) -> Owner {
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
    pub(crate) fn deliver_udp(
        &self,
        test: &Cookie,
        index: Option<u32>,
        source: SocketAddr,
        socket: UdpSocket,
    ) {
        let mut tests = self.lock();
        let Some(entry) = tests.entries.get(test) else { return };
        let (number, is_awaited) = (entry.number, entry.could_take(index));
        if is_awaited && tests.has_room_for_a_stream(test, self.clock.now()) {
            tests.peers.add(source, number);
            tests.deliver(test, Arrival { index, socket: ArrivalSocket::Udp(socket) });
        }
    }

    /// Ends tests that do nothing while others wait for their place.
    pub(crate) fn relieve(&self) {
        let mut tests = self.lock();
        if tests.admission.waiting().next().is_some() {
            let displaced = tests.admission.relieve(self.clock.now());
            tests.tell(&displaced);
        }
    }

    /// Whether tests wait for a place.
    pub(crate) fn is_queued_for(&self) -> bool {
        self.lock().admission.waiting().next().is_some()
    }

    /// Leaves a client whose test has ended to the acceptor.
    pub(crate) fn part_with(&self, parting: Parting) {
        self.partings.lock().unwrap_or_else(PoisonError::into_inner).push(parting);
        self.changed.notify();
    }

    /// Those clients.
    pub(crate) fn partings(&self) -> Vec<Parting> {
        std::mem::take(&mut *self.partings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Leaves extra ports of a test to the acceptor.
    pub(crate) fn open_extra_ports(&self, extra_ports: Vec<ExtraPort>) {
        if !extra_ports.is_empty() {
            self.extra_ports.lock().unwrap_or_else(PoisonError::into_inner).extend(extra_ports);
            self.changed.notify();
        }
    }

    /// Those ports.
    pub(crate) fn new_extra_ports(&self) -> Vec<ExtraPort> {
        std::mem::take(&mut *self.extra_ports.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tells the tests that have not begun to end.
    pub(crate) fn let_end(&self) {
        self.leaving.store(true, SeqCst);
        self.wake_all();
    }

    /// Tells all tests to end.
    pub(crate) fn stop(&self) {
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
    fn awaits(&self, test: &TestId) -> bool {
        let entry = self.entries.get(&test.cookie).filter(|entry| entry.number == test.number);
        entry.is_some_and(|entry| matches!(entry.awaits(), Some(Kind::Tcp)))
    }

    fn wake(&self, number: u64) {
        if let Some(entry) = self.entries.values().find(|entry| entry.number == number) {
            entry.wake.notify();
        }
    }

    /// Tells those that make room, and those whose places have changed or whose turn has come.
    fn tell(&mut self, displaced: &[Displaced]) {
        if displaced.is_empty() {
            return;
        }
        for entry in self.entries.values_mut() {
            let own = displaced.iter().find(|(number, _)| *number == entry.number);
            if let Some((_, why)) = own {
                entry.opening = None;
                entry.verdict = Some(Verdict::Displaced(*why));
            }
            if own.is_some() {
                entry.wake.notify();
            }
        }
        let waiting: Vec<_> = self.admission.waiting().collect();
        for number in waiting {
            self.wake(number);
        }
    }

    /// Books one more stream of a test; if there is no room for it, the test must end.
    fn has_room_for_a_stream(&mut self, cookie: &Cookie, now: Timestamp) -> bool {
        let Some(entry) = self.entries.get(cookie) else { return false };
        match self.admission.grow(entry.number, entry.each, now) {
            Ok(displaced) => {
                self.tell(&displaced);
                true
            }
            Err(why) => {
                if let Some(entry) = self.entries.get_mut(cookie) {
                    entry.opening = None;
                    entry.verdict.get_or_insert(Verdict::Short(why));
                    entry.wake.notify();
                }
                false
            }
        }
    }

    fn deliver(&mut self, cookie: &Cookie, arrival: Arrival) {
        if let Some(entry) = self.entries.get_mut(cookie) {
            entry.deliver(arrival);
        }
    }

    fn remove(&mut self, cookie: &Cookie, now: Timestamp) {
        let Some(entry) = self.entries.remove(cookie) else { return };
        let waiting: Vec<_> = self.admission.waiting().collect();
        self.admission.leave(entry.number, now);
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

impl TestEntry {
    fn awaits(&self) -> Option<&Kind> {
        self.opening.as_ref().map(|opening| &opening.kind)
    }

    /// Whether the stream with that number, or without one, is waited for.
    fn could_take(&self, index: Option<u32>) -> bool {
        let Some(opening) = &self.opening else { return false };
        match (&opening.numbers, index) {
            (Some(come), Some(index)) => come.awaits(index),
            (None, None) => true,
            _ => false,
        }
    }

    fn deliver(&mut self, arrival: Arrival) {
        if let Some(opening) = &mut self.opening {
            opening.left = opening.left.saturating_sub(1);
            if let (Some(come), Some(index)) = (&mut opening.numbers, arrival.index) {
                come.note(index);
            }
        }
        self.opening.take_if(|opening| opening.left == 0);
        // A test that has just ended needs no more streams.
        _ = self.arrivals.send(arrival);
        self.wake.notify();
    }
}

/// Closes a connection whose client hears that it is denied, as by an iperf3.
pub(crate) fn send_away(socket: &TcpStream) {
    // One byte fits an empty buffer; a client that is gone needs no answer.
    _ = { socket }.write(&[State::AccessDenied.byte()]);
}

#[cfg(test)]
mod tests;
