//! The thread that takes whatever comes, and never waits for anybody.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{SendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use linux::epoll::{Epoll, Events, Interest};
use linux::event::StopSignals;
use measurement::outcome::Ending;
use measurement::{Peer, Timestamp, Transport};
use portable_atomic::Ordering::Relaxed;
use protocol::iperf3::{Cookie, ErrorCode, Parameters, ProtocolError, Server};

use super::admission::Seat;
use super::client_prefix::ClientPrefix;
use super::conversation::{self, Client, ServerContext};
use super::extra_ports::{ExtraPorts, Left};
use super::limits;
use super::metrics::{Refusal, ServerMetrics};
use super::pending_connection::{PendingConnection, Progress, send_away};
use super::pending_table::{self, PendingTable};
use super::registry::{Registry, TestId};
use super::shortage;
use super::start_rate_limit::StartRateLimit;
use super::udp_handshake::UdpHandshake;
use super::{Log, Served, ServerOptions};
use crate::control::Control;
use crate::error::SessionError;

/// What the acceptor needs for its work.
pub(super) struct Acceptor {
    pub(super) options: ServerOptions,
    pub(super) tcp: TcpListener,
    pub(super) udp_handshake: UdpHandshake,
    /// Extra ports of the tests that asked for them.
    pub(super) extra_ports: ExtraPorts,
    pub(super) registry: Arc<Registry>,
    pub(super) server: ServerContext,
    pub(super) log: Arc<dyn Log>,
    pub(super) metrics: Arc<ServerMetrics>,
    pub(super) start_rate: StartRateLimit,
    pub(super) epoll: Epoll,
    pub(super) pending: PendingTable,
    /// Number of the next pending connection.
    pub(super) next: u64,
    /// Pending connections; the oldest makes room.
    pub(super) most_pending: usize,
    pub(super) sessions: Vec<JoinHandle<()>>,
    /// There may be more at the listeners than was taken.
    pub(super) behind: bool,
    /// No connection is accepted before: the system gave no more descriptors.
    pub(super) pausing_until: Option<Timestamp>,
    /// When it last had something to do.
    pub(super) idle_since: Timestamp,
    /// Memory that tests have used may be free.
    pub(super) tidy: bool,
    /// It was told to stop: when the tests that run must have ended.
    pub(super) stops_at: Option<Timestamp>,
}

impl Acceptor {
    /// Serves until it is told to stop and all tests have ended.
    pub(super) fn serve(&mut self, interrupts: Option<&StopSignals>) -> io::Result<()> {
        self.epoll.add(&self.tcp, Interest::Readable, TCP)?;
        self.epoll.add(self.udp_handshake.listener(), Interest::Readable, UDP)?;
        self.epoll.add(self.registry.changed(), Interest::Readable, CHANGED)?;
        if let Some(interrupts) = interrupts {
            self.epoll.add(interrupts, Interest::Readable, SIGNAL)?;
        }
        let mut events = Events::with_capacity(MOST_EVENTS);
        let mut ready = Vec::with_capacity(MOST_EVENTS);
        loop {
            self.epoll.wait(&mut events, self.timeout(), |token| ready.push(token))?;
            if interrupts.is_some_and(StopSignals::arrived) && self.is_told_to_stop() {
                return Ok(());
            }
            self.registry.changed().clear();
            ready.drain(..).filter(|token| *token < CHANGED).for_each(|number| self.go_on(number));
            self.accept();
            self.accept_at_extra_ports();
            self.behind |= self.udp_handshake.answer();
            self.see_off();
            self.mind_the_time();
            self.sessions.retain(|session| !session.is_finished());
            self.tidy_up();
            if self.is_done() {
                return Ok(());
            }
        }
    }

    /// Tells the running tests to end and waits for them, and a moment for their clients.
    pub(super) fn close(self) {
        self.registry.stop();
        for session in self.sessions {
            // A session that panicked has said so already.
            _ = session.join();
        }
        let until = dataplane::now().after(GOODBYE);
        for (control, _) in self.registry.partings() {
            control.finish(until.since(dataplane::now()));
        }
    }

    /// Gives clients whose tests have ended the time to read the last word.
    fn see_off(&mut self) {
        for (control, from) in self.registry.partings() {
            self.greet(PendingConnection::leaving(control, from));
        }
    }

    fn timeout(&self) -> Option<Duration> {
        if self.behind {
            return Some(Duration::ZERO);
        }
        let due = self.pending.first_due().map(|(at, _)| at);
        let deadlines =
            [due, self.idle_until(), self.pausing_until, self.stops_at, self.tidies_at()];
        let deadline = deadlines.into_iter().flatten().min();
        deadline.map(|deadline| deadline.since(dataplane::now()))
    }

    /// The first signal lets the tests end that run; the second does not.
    fn is_told_to_stop(&mut self) -> bool {
        let (patience, tests) = (self.options.stop_timeout, self.registry.tests());
        let is_first = self.stops_at.is_none();
        self.metrics.stopping.store(true, Relaxed);
        let waits = is_first && tests > 0 && !patience.is_zero();
        if is_first {
            self.log.stopping(if waits { tests } else { 0 });
        }
        if waits {
            self.stops_at = Some(dataplane::now().after(patience));
            self.registry.let_end();
        }
        !waits
    }

    /// When what the tests used is given back: not between two that follow each other.
    fn tidies_at(&self) -> Option<Timestamp> {
        let is_idle = self.registry.tests() == 0 && self.pending.is_empty();
        (self.tidy && is_idle).then(|| self.idle_since.after(REST))
    }

    fn tidy_up(&mut self) {
        if self.registry.tests() > 0 {
            (self.tidy, self.idle_since) = (true, dataplane::now());
        } else if self.tidies_at().is_some_and(|at| dataplane::now() >= at) {
            linux::heap::trim();
            self.tidy = false;
        }
    }

    fn is_done(&mut self) -> bool {
        // The client may still have to read the last word; `close` gives it the time.
        if self.options.one_off && self.registry.served() > 0 {
            return true;
        }
        let now = dataplane::now();
        if !self.sessions.is_empty() {
            self.idle_since = now;
        }
        let has_stopped = self.stops_at.is_some_and(|at| now >= at || self.registry.tests() == 0);
        has_stopped || self.idle_until().is_some_and(|limit| now >= limit)
    }

    /// When the server has waited for clients long enough.
    fn idle_until(&self) -> Option<Timestamp> {
        let limit = self.options.idle_limit.filter(|_| self.sessions.is_empty())?;
        Some(self.idle_since.after(limit))
    }

    fn accept(&mut self) {
        self.behind = false;
        if self.pausing_until.is_some_and(|until| dataplane::now() < until) {
            return;
        }
        self.pausing_until = None;
        for _ in 0..MOST_AT_ONCE {
            match linux::tcp::accept(&self.tcp) {
                Ok((socket, from)) => {
                    self.metrics.connections.fetch_add(1, Relaxed);
                    self.greet(PendingConnection::new(socket, from));
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
        for extra_port in self.registry.new_extra_ports() {
            let number = self.next;
            self.next += 1;
            // The client does without one that cannot be watched.
            if self.epoll.add(extra_port.listener(), Interest::Readable, number).is_ok() {
                self.extra_ports.add(extra_port);
            }
        }
        let registry = &self.registry;
        self.extra_ports.close_those_of_ended(|test| registry.has(test));
        let (came, left) = self.extra_ports.accept();
        match left {
            Left::Nobody => {}
            Left::Others => self.behind = true,
            Left::NoRoom => self.make_room(),
        }
        for connection in came {
            self.metrics.connections.fetch_add(1, Relaxed);
            self.greet(connection);
        }
    }

    /// The system is short of descriptors or memory: the oldest pending connection makes room, and
    /// if there is none, the next connections wait a little.
    fn make_room(&mut self) {
        self.behind = self.forget_the_oldest();
        if !self.behind {
            self.pausing_until = Some(dataplane::now().after(PAUSE));
        }
    }

    fn forget_the_oldest(&mut self) -> bool {
        let Some(oldest) = self.pending.take_oldest() else { return false };
        self.forget_pending(&oldest);
        true
    }

    /// Tells of one that had to make room; who was only to close has had its answer.
    fn forget_pending(&self, connection: &PendingConnection) {
        if !connection.is_leaving() {
            self.refuse(connection.from, Refusal::Silent);
        }
    }

    /// Looks at a connection for the first time: most have said something already.
    fn greet(&mut self, connection: PendingConnection) {
        if let Some(connection) = self.advance(connection, None) {
            let number = self.next;
            self.next += 1;
            // One that cannot be watched can wait for its deadline only.
            _ = self.epoll.add(connection.as_fd(), Interest::Readable, number);
            self.pending.put(number, connection);
            if let Some(connection) = self.pending.take_surplus(self.most_pending) {
                self.forget_pending(&connection);
            }
        }
        self.metrics.pending.store(self.pending.len() as u64, Relaxed);
    }

    /// Something came from a pending connection, or its time is up.
    fn go_on(&mut self, number: u64) {
        let Some(connection) = self.pending.take(number) else { return };
        if let Some(connection) = self.advance(connection, Some(number)) {
            self.pending.put(number, connection);
        }
        self.metrics.pending.store(self.pending.len() as u64, Relaxed);
    }

    fn mind_the_time(&mut self) {
        let now = dataplane::now();
        while let Some((at, number)) = self.pending.first_due() {
            if now < at {
                return;
            }
            self.go_on(number);
        }
    }

    /// Takes a pending connection as far as it goes; gives it back if more must come. It is watched
    /// under `number` if it has one.
    fn advance(
        &mut self,
        connection: PendingConnection,
        number: Option<u64>,
    ) -> Option<PendingConnection> {
        let (from, extra_port) = (connection.from, connection.extra_port);
        match connection.progress(dataplane::now()) {
            Progress::Waiting(connection) => Some(connection),
            Progress::Gone => None,
            Progress::Silent => {
                self.refuse(from, Refusal::Silent);
                None
            }
            Progress::Numbered { socket, cookie, index } => {
                if number.is_some() {
                    self.forget(&socket);
                }
                // A test that has just ended needs no more streams, nor does the next one with
                // its cookie need those from its extra ports.
                if extra_port.is_none_or(|test| self.registry.has(&test)) {
                    _ = self.registry.hand_over(&cookie, Some(index), socket);
                }
                None
            }
            Progress::Greeted { socket, cookie } => {
                let connection = match extra_port {
                    Some(test) => self.admit_at_extra_port(socket, from, cookie, test),
                    None => self.recognise(socket, from, cookie, number),
                }?;
                // Its answer may be there already.
                self.advance(connection, number)
            }
            Progress::Asks { control, cookie, parameters } => {
                if number.is_some() {
                    self.forget(control.as_fd());
                }
                self.consider(control, from, cookie, *parameters)
            }
            Progress::Failed { control, error } => Some(self.give_up(control, from, error)),
        }
    }

    /// Nothing of what comes on it is the acceptor's business any more.
    fn forget(&self, fd: impl std::os::fd::AsFd) {
        // At worst the acceptor is woken for nothing.
        _ = self.epoll.delete(fd);
    }

    /// A extra port is for the streams of its test: nobody asks for a test there.
    fn admit_at_extra_port(
        &self,
        socket: TcpStream,
        from: SocketAddr,
        cookie: Cookie,
        test: TestId,
    ) -> Option<PendingConnection> {
        if cookie != test.cookie {
            self.refuse(from, Refusal::Stranger);
        } else if self.registry.has(&test) && self.registry.numbers(&cookie) {
            return Some(PendingConnection::counted(socket, from, cookie).through(test));
        }
        send_away(&socket);
        None
    }

    /// Finds out whose cookie it is: a test's, whose stream this is, or a new client's.
    fn recognise(
        &mut self,
        socket: TcpStream,
        from: SocketAddr,
        cookie: Cookie,
        number: Option<u64>,
    ) -> Option<PendingConnection> {
        if self.registry.numbers(&cookie) {
            return Some(PendingConnection::counted(socket, from, cookie));
        }
        if number.is_some() && self.registry.knows(&cookie) {
            self.forget(&socket);
        }
        let socket = self.registry.hand_over(&cookie, None, socket)?;
        let refusal = if !cookie.is_plausible() {
            Some(Refusal::Stranger)
        } else if self.stops_at.is_some() {
            Some(Refusal::Stopping)
        } else if !self.start_rate.admits(ClientPrefix::containing(from.ip()), dataplane::now()) {
            Some(Refusal::Hurry)
        } else {
            self.registry.objection(from.ip())
        };
        if let Some(why) = refusal {
            self.refuse(from, why);
            send_away(&socket);
            return None;
        }
        linux::tcp::prepare_control(&socket, &self.options.session.keepalive).ok()?;
        Some(PendingConnection::asked(socket, from, cookie))
    }

    /// Takes the test in and gives it a thread of its own, or sends the client away.
    fn consider(
        &mut self,
        mut control: Box<Control<Server>>,
        from: SocketAddr,
        cookie: Cookie,
        parameters: Parameters,
    ) -> Option<PendingConnection> {
        let cost = limits::cost(&parameters);
        let seat = Seat::of(&parameters.plan);
        let ticket = match self.registry.enter(cookie, from.ip(), cost, seat) {
            Ok(ticket) => ticket,
            Err(why @ (Refusal::Busy | Refusal::Address)) => {
                self.refuse(from, why);
                control.machine.deny();
                return Some(PendingConnection::leaving(control, from));
            }
            Err(why) => {
                let words = shortage::words(why, &cost, &self.registry.part(), &parameters.plan);
                return Some(self.disappoint(control, from, parameters, why, words));
            }
        };
        let under_way = self.under_way(parameters.plan.transport);
        let control = *control;
        let client = Box::new(Client { control, from, ticket, parameters, under_way });
        match self.begin(client) {
            Ok(()) => None,
            Err(client) => {
                let Client { control, parameters, .. } = *client;
                let (control, words) = (Box::new(control), shortage::threads());
                Some(self.disappoint(control, from, parameters, Refusal::Threads, words))
            }
        }
    }

    /// There is too little of something for a test: the client hears of what, and so does
    /// the log.
    fn disappoint(
        &self,
        mut control: Box<Control<Server>>,
        from: SocketAddr,
        parameters: Parameters,
        why: Refusal,
        words: String,
    ) -> PendingConnection {
        let code = ErrorCode::RESOURCES;
        control.machine.refuse_because(code, &words);
        let peer = peer(&control, from, conversation::software(&parameters));
        let error = ProtocolError::ServerError { code, errno: 0, why: Some(words.clone()) };
        let ending = Ending::Failed { error: words };
        let plan = Some(parameters.plan);
        self.tell_failure(error, &Served { plan, ..Served::nothing(peer, ending, why) });
        PendingConnection::leaving(control, from)
    }

    /// Streams of one client that may be on their way: those by TCP wait at the listener
    /// and in the pending table, hellos in the socket's buffer.
    fn under_way(&self, transport: Transport) -> u32 {
        let of_table = u32::try_from(self.most_pending / pending_table::SHARES).unwrap_or(u32::MAX);
        match transport {
            Transport::Tcp => {
                (linux::tcp::max_backlog() / 2).min(of_table / 2).clamp(1, MOST_UNDER_WAY)
            }
            Transport::Udp => HANDSHAKES_UNDER_WAY,
        }
    }

    /// Gives a test a thread of its own; gives it back if there is none.
    fn begin(&mut self, client: Box<Client>) -> Result<(), Box<Client>> {
        let (log, server) = (Arc::clone(&self.log), self.server.clone());
        let (hand, given) = sync_channel::<Box<Client>>(1);
        let work = move || {
            if let Ok(client) = given.recv() {
                conversation::serve(*client, &server, &*log);
            }
        };
        let Ok(session) = std::thread::Builder::new().name("session".to_owned()).spawn(work) else {
            return Err(client);
        };
        self.sessions.push(session);
        hand.send(client).map_err(|SendError(client)| client)
    }

    /// A client that got as far as a cookie: its failure is told like that of a test.
    fn give_up(
        &mut self,
        control: Box<Control<Server>>,
        from: SocketAddr,
        error: ProtocolError,
    ) -> PendingConnection {
        let why = match error {
            ProtocolError::TimedOut(_) => Refusal::Silent,
            _ => Refusal::Parameters,
        };
        self.metrics.refuse(why);
        let ending = Ending::Failed { error: error.to_string() };
        let peer = peer(&control, from, "iperf3".to_owned());
        self.tell_failure(error, &Served::nothing(peer, ending, why));
        PendingConnection::leaving(control, from)
    }

    fn tell_failure(&self, error: ProtocolError, served: &Served) {
        let mut observer = self.log.observer();
        observer.failed(&SessionError::Protocol { peer: served.peer.address, error });
        observer.ended(&served.ending);
        self.log.ended(served);
    }

    fn refuse(&self, from: SocketAddr, why: Refusal) {
        self.metrics.refuse(why);
        self.log.refused(canonical(from), why);
    }
}

/// A client that got no test.
fn peer(control: &Control<Server>, from: SocketAddr, software: String) -> Peer {
    let local = control.local_address().unwrap_or(from);
    Peer { software, address: canonical(from), local_address: canonical(local) }
}

/// An IPv4 address as such, also if it came by a socket for both.
pub(super) fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

pub(super) fn is_shortage(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(ENFILE | EMFILE | ENOMEM | ENOBUFS))
}

/// Tokens of the acceptor's own descriptors; pending connections are numbered from 0.
const SIGNAL: u64 = u64::MAX;
const TCP: u64 = u64::MAX - 1;
const UDP: u64 = u64::MAX - 2;
const CHANGED: u64 = u64::MAX - 3;
const MOST_EVENTS: usize = 256;
/// Connections that are accepted before it is other work's turn.
const MOST_AT_ONCE: usize = 64;
/// Streams of one client on their way to the acceptor.
const MOST_UNDER_WAY: u32 = 1024;
/// Hellos on their way: the kernel's default buffer holds some 250 short datagrams.
const HANDSHAKES_UNDER_WAY: u32 = 128;
/// How long the system is given to have descriptors again.
const PAUSE: Duration = Duration::from_millis(50);
/// How long there are no tests before memory is given back.
const REST: Duration = Duration::from_secs(1);
/// How long clients may take to close when the server ends.
const GOODBYE: Duration = Duration::from_secs(1);
/// `asm-generic/errno-base.h` and `asm-generic/errno.h`.
const ENOMEM: i32 = 12;
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;
const ENOBUFS: i32 = 105;
