//! The thread that takes whatever comes, and waits for nothing else. What becomes of a
//! connection that has come is decided in [`super::admit`].

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use linux::epoll::{Epoll, Events, Interest};
use linux::event::StopSignals;
use measurement::Timestamp;
use portable_atomic::Ordering::Relaxed;

use super::extra_ports::{ExtraPorts, Left};
use super::pending_connection::PendingConnection;
use super::pending_table::PendingTable;
use super::udp_handshake::UdpHandshake;
use crate::clock::Clock;
use crate::error::SessionError;
use crate::iperf2::server::{Flows, Gathering};
use crate::server::capacity::Capacity;
use crate::server::context::ServerContext;
use crate::server::log::Log;
use crate::server::metrics::{Refusal, ServerMetrics};
use crate::server::options::{OneOff, ServerOptions};
use crate::server::rates::RateShares;
use crate::server::registry::Registry;
use crate::server::shortage::is_shortage;
use crate::server::start_rate_limit::StartRateLimit;
use crate::server::status::StatusBoard;
use crate::server::stay::Yielding;

/// The sockets of a server's one port.
pub(crate) struct Listeners {
    pub(crate) tcp: Option<TcpListener>,
    pub(crate) udp: Option<UdpSocket>,
    pub(crate) address: SocketAddr,
}

/// What a server has, beside its sockets: its limits, its counters, the list of its tests, its log.
pub(crate) type Equipment = (Capacity, Arc<ServerMetrics>, Arc<StatusBoard>, Arc<dyn Log>);

/// What the acceptor needs for its work.
pub(crate) struct Acceptor {
    pub(super) options: ServerOptions,
    tcp: Option<TcpListener>,
    udp_handshake: UdpHandshake,
    /// Extra ports of the tests that asked for them.
    extra_ports: ExtraPorts,
    pub(super) context: ServerContext,
    pub(super) log: Arc<dyn Log>,
    pub(super) start_rate: StartRateLimit,
    pub(super) epoll: Epoll,
    pub(super) pending: PendingTable,
    /// Tests of iperf2 clients whose connections come.
    pub(super) iperf2: Vec<Gathering>,
    pub(super) sessions: Vec<JoinHandle<()>>,
    /// There may be more at the listeners than was taken.
    behind: bool,
    /// No connection is accepted before: the system gave no more descriptors.
    pausing_until: Option<Timestamp>,
    /// When it last had something to do.
    idle_since: Timestamp,
    /// Memory that tests have used may be free.
    tidy: bool,
    /// A signal came: when the tests that run must have ended.
    pub(super) stops_at: Option<Timestamp>,
}

impl Acceptor {
    /// The acceptor of a server that listens, with no test and no connection yet.
    ///
    /// # Errors
    /// [`SessionError::System`] if the kernel gives no epoll or eventfd.
    pub(crate) fn new(
        options: ServerOptions,
        listeners: Listeners,
        (capacity, metrics, status, log): Equipment,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, SessionError> {
        let Listeners { tcp, udp, address } = listeners;
        let registry = Registry::new(options.order, capacity.most, Arc::clone(&clock));
        let registry = registry.map(Arc::new).map_err(SessionError::system("an eventfd"))?;
        if let Some(tuning) = &options.tuning {
            let started = tuning.start(Arc::clone(&log));
            started.map_err(SessionError::system("a thread"))?;
        }
        log.listening(address);
        let context = ServerContext {
            address,
            options: options.session.clone(),
            yielding: options.order.yielding.unwrap_or(Yielding::NEVER),
            registry,
            concurrent: Arc::default(),
            proved: Arc::default(),
            rates: Arc::new(RateShares::new(options.rates.clone(), options.order.running)),
            metrics,
            status,
            clock,
        };
        let admitted = (options.access.clone(), options.key.is_some());
        let flows = Flows::new(&context, admitted, capacity.flows, Arc::clone(&log));
        Ok(Self {
            udp_handshake: UdpHandshake::new(udp, &context, flows),
            tcp,
            extra_ports: ExtraPorts::default(),
            log,
            start_rate: StartRateLimit::new(options.order.starts),
            epoll: Epoll::new().map_err(SessionError::system("an epoll"))?,
            pending: PendingTable::new(capacity.pending),
            iperf2: Vec::new(),
            sessions: Vec::new(),
            behind: false,
            pausing_until: None,
            idle_since: context.clock.now(),
            tidy: false,
            stops_at: None,
            context,
            options,
        })
    }

    /// Serves until a signal came and all tests have ended.
    pub(crate) fn serve(&mut self, interrupts: Option<&StopSignals>) -> io::Result<()> {
        if let Some(tcp) = &self.tcp {
            self.epoll.add(tcp, Interest::Readable, TCP)?;
        }
        if let Some(udp) = self.udp_handshake.listener() {
            self.epoll.add(udp, Interest::Readable, UDP)?;
        }
        self.epoll.add(self.context.registry.changed(), Interest::Readable, CHANGED)?;
        if let Some(interrupts) = interrupts {
            self.epoll.add(interrupts, Interest::Readable, SIGNAL)?;
        }
        let mut events = Events::with_capacity(MOST_EVENTS);
        let mut ready = Vec::with_capacity(MOST_EVENTS);
        loop {
            self.epoll.wait(&mut events, self.timeout(), |token| ready.push(token))?;
            if interrupts.is_some_and(StopSignals::arrived) && self.stop_requested() {
                return Ok(());
            }
            self.context.registry.changed().clear();
            ready.drain(..).filter(|token| *token < CHANGED).for_each(|number| self.go_on(number));
            self.accept();
            self.accept_at_extra_ports();
            self.behind |= self.udp_handshake.answer();
            self.see_off();
            self.mind_the_time();
            self.context.registry.relieve();
            self.sessions.retain(|session| !session.is_finished());
            self.tidy_up();
            if self.is_done() {
                return Ok(());
            }
        }
    }

    /// Tells the running tests to end and waits for them, and a moment for their clients.
    pub(crate) fn close(self) {
        self.context.registry.stop();
        if let Some(tuning) = &self.options.tuning {
            tuning.close();
        }
        for session in self.sessions {
            // A session that panicked has said so already.
            _ = session.join();
        }
        let until = self.context.clock.now().after(GOODBYE);
        for (control, _) in self.context.registry.partings() {
            control.finish(until.since(self.context.clock.now()));
        }
    }

    /// Gives clients whose tests have ended the time to read the last word.
    fn see_off(&mut self) {
        for (control, from) in self.context.registry.partings() {
            self.greet(PendingConnection::leaving(control, from, self.context.clock.now()));
        }
    }

    fn timeout(&self) -> Option<Duration> {
        if self.behind {
            return Some(Duration::ZERO);
        }
        let due = self.pending.first_due().map(|(at, _)| at);
        // Those who wait get the place of one that does nothing.
        let is_queued_for = self.context.registry.is_queued_for();
        let relief = is_queued_for.then(|| self.context.clock.now().after(RELIEVE_EVERY));
        // The thread of a test ends a moment after it.
        let is_ending = !self.sessions.is_empty() && self.context.registry.tests() == 0;
        let thread = is_ending.then(|| self.context.clock.now().after(THREAD_END));
        let own = [self.idle_until(), self.pausing_until, self.stops_at, self.tidies_at()];
        let deadlines = own.into_iter().chain([due, relief, thread]);
        let deadline = deadlines.flatten().min();
        deadline.map(|deadline| deadline.since(self.context.clock.now()))
    }

    /// The first signal lets the tests end that run; the second does not.
    fn stop_requested(&mut self) -> bool {
        let (patience, tests) = (self.options.stop_timeout, self.context.registry.tests());
        let is_first = self.stops_at.is_none();
        self.context.metrics.stopping.store(true, Relaxed);
        let waits = is_first && tests > 0 && !patience.is_zero();
        if is_first {
            self.log.stopping(if waits { tests } else { 0 });
        }
        if waits {
            self.stops_at = Some(self.context.clock.now().after(patience));
            self.context.registry.let_end();
        }
        !waits
    }

    /// When what the tests used is given back: not between two that follow each other.
    fn tidies_at(&self) -> Option<Timestamp> {
        let is_idle = self.context.registry.tests() == 0 && self.pending.is_empty();
        (self.tidy && is_idle).then(|| self.idle_since.after(REST))
    }

    fn tidy_up(&mut self) {
        if self.context.registry.tests() > 0 {
            (self.tidy, self.idle_since) = (true, self.context.clock.now());
        } else if self.tidies_at().is_some_and(|at| self.context.clock.now() >= at) {
            linux::heap::trim();
            self.tidy = false;
        }
    }

    fn is_done(&mut self) -> bool {
        if self.has_had_its_one() {
            return true;
        }
        let now = self.context.clock.now();
        if self.is_busy() {
            self.idle_since = now;
        }
        let has_stopped =
            self.stops_at.is_some_and(|at| now >= at || self.context.registry.tests() == 0);
        has_stopped || self.idle_until().is_some_and(|limit| now >= limit)
    }

    /// Whether the one test, or the one client, is over that it was there for.
    fn has_had_its_one(&self) -> bool {
        let registry = &self.context.registry;
        match self.options.one_off {
            OneOff::No => false,
            // The client may still have to read the last word; `close` gives it the time.
            OneOff::Test => registry.served() > 0,
            OneOff::Streams(most) => {
                registry.streams() >= most as usize && self.sessions.is_empty()
            }
            // One that was refused has its answer in the pending table.
            OneOff::Client => {
                registry.served() > 0 || (registry.tried() > 0 && !self.pending.has_leaving())
            }
        }
    }

    fn is_busy(&self) -> bool {
        !self.sessions.is_empty() || self.udp_handshake.has_flows()
    }

    /// When the server has waited for clients long enough.
    fn idle_until(&self) -> Option<Timestamp> {
        let limit = self.options.idle_limit.filter(|_| !self.is_busy())?;
        Some(self.idle_since.after(limit))
    }

    fn accept(&mut self) {
        self.behind = false;
        if self.pausing_until.is_some_and(|until| self.context.clock.now() < until) {
            return;
        }
        self.pausing_until = None;
        for _ in 0..MOST_AT_ONCE {
            let Some(tcp) = &self.tcp else { return };
            match linux::tcp::accept(tcp) {
                Ok((socket, from)) => {
                    self.context.metrics.connections.fetch_add(1, Relaxed);
                    let now = self.context.clock.now();
                    self.context.proved.note(from.ip(), now);
                    self.greet(PendingConnection::new(socket, from, now));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if is_shortage(&error) => return self.make_room(),
                // About one connection only, which is gone.
                Err(_) => {}
            }
        }
        self.behind = true;
    }

    /// The extra ports are for the streams of their tests.
    fn accept_at_extra_ports(&mut self) {
        for extra_port in self.context.registry.new_extra_ports() {
            let number = self.pending.next_number();
            // The client does without one that cannot be watched.
            if self.epoll.add(extra_port.listener(), Interest::Readable, number).is_ok() {
                self.extra_ports.add(extra_port);
            }
        }
        let registry = &self.context.registry;
        self.extra_ports.close_those_of_ended(|test| registry.has(test));
        let (came, left) = self.extra_ports.accept(self.context.clock.now());
        match left {
            Left::Nobody => {}
            Left::Others => self.behind = true,
            Left::NoRoom => self.make_room(),
        }
        for connection in came {
            self.context.metrics.connections.fetch_add(1, Relaxed);
            self.greet(connection);
        }
    }

    /// The system is short of descriptors or memory: the oldest pending connection makes room, and
    /// if there is none, the next connections wait a little.
    fn make_room(&mut self) {
        self.behind = self.forget_the_oldest();
        if !self.behind {
            self.pausing_until = Some(self.context.clock.now().after(PAUSE));
        }
    }

    fn forget_the_oldest(&mut self) -> bool {
        let Some(oldest) = self.pending.take_oldest() else { return false };
        self.forget_pending(&oldest);
        true
    }

    /// Reports a connection that had to make room; one that was only to close has its answer.
    fn forget_pending(&self, connection: &PendingConnection) {
        if !connection.is_leaving() {
            self.refuse(connection.from, Refusal::Timeout);
        }
    }

    /// Looks at a connection for the first time: most have said something already.
    fn greet(&mut self, connection: PendingConnection) {
        let Some(connection) = self.screened(connection) else { return };
        if let Some(connection) = self.advance(connection, None) {
            let number = self.pending.next_number();
            // One that cannot be watched can wait for its deadline only.
            _ = self.epoll.add(connection.as_fd(), Interest::Readable, number);
            self.pending.put(number, connection);
            if let Some(connection) = self.pending.take_surplus() {
                self.forget_pending(&connection);
            }
        }
        self.context.metrics.pending.store(self.pending.len() as u64, Relaxed);
    }

    /// Something came from a pending connection, or its time is up.
    fn go_on(&mut self, number: u64) {
        let Some(connection) = self.pending.take(number) else { return };
        if let Some(connection) = self.advance(connection, Some(number)) {
            self.pending.put(number, connection);
        }
        self.context.metrics.pending.store(self.pending.len() as u64, Relaxed);
    }

    fn mind_the_time(&mut self) {
        let now = self.context.clock.now();
        while let Some((at, number)) = self.pending.first_due() {
            if now < at {
                return;
            }
            self.go_on(number);
        }
    }
}

/// Tokens of the acceptor's own descriptors; pending connections are numbered from 0.
const SIGNAL: u64 = u64::MAX;
const TCP: u64 = u64::MAX - 1;
const UDP: u64 = u64::MAX - 2;
const CHANGED: u64 = u64::MAX - 3;
const MOST_EVENTS: usize = 256;
/// Connections that are accepted before it is other work's turn.
const MOST_AT_ONCE: usize = 64;
/// How long the system is given to have descriptors again.
const PAUSE: Duration = Duration::from_millis(50);
/// How often it is looked for tests that do nothing while others wait.
const RELIEVE_EVERY: Duration = Duration::from_millis(250);
/// How soon it is looked again whether a thread has ended whose test has.
const THREAD_END: Duration = Duration::from_millis(10);
/// How long there are no tests before memory is given back.
const REST: Duration = Duration::from_secs(1);
/// How long clients may take to close when the server ends.
const GOODBYE: Duration = Duration::from_secs(1);
