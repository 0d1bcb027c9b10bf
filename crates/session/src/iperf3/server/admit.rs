//! What becomes of a connection: a stream of a test, a new test, or a refusal.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{SendError, sync_channel};

use measurement::outcome::Ending;
use measurement::{Peer, Transport};
use protocol::iperf2::Opening;
use protocol::iperf3::{Cookie, ErrorCode, Parameters, ProtocolError, Server};
use protocol::keyed::{self, Seal};
use protocol::tuning::{SharedKey, is_greeting};

use super::acceptor::Acceptor;
use super::conversation::{self, Client};
use super::pending_connection::{Named, PendingConnection, Progress};
use super::pending_table;
use super::request_cost;
use crate::control::Control;
use crate::error::SessionError;
use crate::server::client_prefix::ClientPrefix;
use crate::server::context::canonical;
use crate::server::log::Served;
use crate::server::metrics::Refusal;
use crate::server::registry::send_away;
use crate::server::shortage;
use crate::server::test_class::TestClass;
use crate::server::test_id::TestId;

impl Acceptor {
    /// Takes a pending connection as far as it goes; gives it back if more must come. It is watched
    /// under `number` if it has one.
    pub(super) fn advance(
        &mut self,
        connection: PendingConnection,
        number: Option<u64>,
    ) -> Option<PendingConnection> {
        let (from, extra_port) = (connection.from, connection.extra_port);
        let has_answer = connection.is_leaving();
        match connection.progress(self.context.clock.now()) {
            Progress::Waiting(connection) => Some(connection),
            Progress::Gone => {
                self.note_stranger(has_answer);
                None
            }
            Progress::Silent => {
                self.note_stranger(has_answer);
                self.refuse(from, Refusal::Timeout);
                None
            }
            Progress::Numbered { socket, cookie, index } => {
                if number.is_some() {
                    self.forget(&socket);
                }
                // A test that has just ended needs no more streams, nor does the next one with
                // its cookie need those from its extra ports.
                if extra_port.is_none_or(|test| self.context.registry.has(&test)) {
                    _ = self.context.registry.hand_over(&cookie, Some(index), socket);
                }
                None
            }
            Progress::Named(named) => {
                let connection = match extra_port {
                    Some(test) => self.admit_at_extra_port(named, from, test),
                    None => self.recognise(named, from, number),
                }?;
                // Its answer may be there already.
                self.advance(connection, number)
            }
            Progress::Keyed { socket, cookie, seal } => {
                let connection = self.admit_keyed(socket, cookie, *seal, from)?;
                self.advance(connection, number)
            }
            Progress::Unproved { socket } => {
                self.refuse(from, Refusal::Authentication);
                send_away(&socket);
                None
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

    /// Sends a new connection away whose address is not admitted, before a byte of it is read. Too
    /// many of one address have no answer.
    pub(super) fn screened(&mut self, connection: PendingConnection) -> Option<PendingConnection> {
        let from = connection.from;
        if connection.is_leaving() || self.options.access.admits(from.ip()) {
            return Some(connection);
        }
        self.refuse(from, Refusal::Denied);
        if self.counts_start(from).is_some() {
            return None;
        }
        connection.denied(Arc::clone(&self.context.clock))
    }

    /// Somebody came who does not speak iperf3's protocol, or not to its end: while there is no
    /// test that was this server's client.
    fn note_stranger(&self, has_answer: bool) {
        if !has_answer && self.context.registry.tests() == 0 {
            self.context.registry.note_try();
        }
    }

    /// Nothing of what comes on it is the acceptor's business any more.
    fn forget(&self, fd: impl std::os::fd::AsFd) {
        // At worst the acceptor is woken for nothing.
        _ = self.epoll.delete(fd);
    }

    /// An extra port is for the streams of its test: nobody asks for a test there.
    fn admit_at_extra_port(
        &self,
        named: Named,
        from: SocketAddr,
        test: TestId,
    ) -> Option<PendingConnection> {
        if named.cookie != test.cookie {
            self.refuse(from, Refusal::UnknownProtocol);
        } else if self.context.registry.has(&test) && self.context.registry.numbers(&named.cookie) {
            return Some(named.numbered(from, self.context.clock.now()).through(test));
        }
        send_away(&named.socket);
        None
    }

    /// Finds out whose cookie it is: a test's, whose stream this is, or a new client's.
    fn recognise(
        &mut self,
        named: Named,
        from: SocketAddr,
        number: Option<u64>,
    ) -> Option<PendingConnection> {
        let (cookie, registry) = (named.cookie, Arc::clone(&self.context.registry));
        if is_greeting(&cookie) {
            self.pass_on(named, from, number);
            return None;
        }
        if let Some(opening) = Opening::recognise(cookie.as_bytes()) {
            if number.is_some() {
                self.forget(&named.socket);
            }
            self.take_iperf2(named.socket, opening, from);
            return None;
        }
        if keyed::is_greeting(&cookie)
            && let Some(key) = self.options.key.clone()
        {
            return self.asked_for_proof(named, from, &key);
        }
        if registry.numbers(&cookie) {
            return Some(named.numbered(from, self.context.clock.now()));
        }
        if number.is_some() && registry.knows(&cookie) {
            self.forget(&named.socket);
        }
        let Named { socket, greeting, .. } = named;
        let socket = registry.hand_over(&cookie, None, socket)?;
        let named = Named { socket, cookie, greeting };
        if let Some(why) = self.objection(&cookie, from) {
            self.refuse(from, why);
            self.note_stranger(false);
            send_away(&named.socket);
            return None;
        }
        if self.options.key.is_some() {
            self.refuse(from, Refusal::Authentication);
            let clock = Arc::clone(&self.context.clock);
            return Some(PendingConnection::refused(named.socket, from, ErrorCode::ENOKEY, clock));
        }
        linux::tcp::prepare_control(&named.socket, &self.options.session.keepalive).ok()?;
        named.asked(from, Arc::clone(&self.context.clock))
    }

    /// A client that has a key is asked to prove it, unless it comes too often: a start is counted
    /// here, before the work, and not again when the key is proved.
    fn asked_for_proof(
        &mut self,
        named: Named,
        from: SocketAddr,
        key: &SharedKey,
    ) -> Option<PendingConnection> {
        if let Some(why) = self.counts_start(from) {
            self.refuse(from, why);
            // One byte fits an empty buffer; a client that is gone needs no answer.
            _ = { &named.socket }.write(&[keyed::BUSY]);
            return None;
        }
        linux::tcp::prepare_control(&named.socket, &self.options.session.keepalive).ok()?;
        named.proving(from, key, self.context.clock.now())
    }

    /// A client that has the key is a new one; streams have no key.
    fn admit_keyed(
        &mut self,
        socket: TcpStream,
        cookie: Cookie,
        seal: Seal,
        from: SocketAddr,
    ) -> Option<PendingConnection> {
        let clock = Arc::clone(&self.context.clock);
        let mut connection = PendingConnection::keyed((socket, cookie, seal), from, clock);
        let objection = self.objection_to_any(&cookie);
        if let Some(why) = objection.or_else(|| self.context.registry.objection(from.ip())) {
            self.refuse(from, why);
            self.note_stranger(false);
            connection = connection.busy(self.context.clock.now())?;
        }
        Some(connection)
    }

    /// A client that is to tune this host goes to the process that does so.
    fn pass_on(&mut self, named: Named, from: SocketAddr, number: Option<u64>) {
        if number.is_some() {
            self.forget(&named.socket);
        }
        let refused = if self.stops_at.is_some() {
            Err((named.socket, Refusal::Stopping))
        } else if let Some(why) = self.counts_start(from) {
            Err((named.socket, why))
        } else {
            match &self.options.tuning {
                Some(relay) => relay.admit(named.socket, canonical(from)),
                None => Err((named.socket, Refusal::UnknownProtocol)),
            }
        };
        if let Err((socket, why)) = refused {
            self.refuse(from, why);
            send_away(&socket);
        }
    }

    /// Why a new client is not even asked for its parameters.
    fn objection(&mut self, cookie: &Cookie, from: SocketAddr) -> Option<Refusal> {
        self.objection_to_any(cookie)
            .or_else(|| self.counts_start(from))
            .or_else(|| self.context.registry.objection(from.ip()))
    }

    /// Why no client that comes with this cookie has a test, whatever its address.
    fn objection_to_any(&self, cookie: &Cookie) -> Option<Refusal> {
        if !cookie.is_plausible() {
            Some(Refusal::UnknownProtocol)
        } else if self.stops_at.is_some() {
            Some(Refusal::Stopping)
        } else {
            None
        }
    }

    /// Counts a start of that address, and tells if there were too many (`--max-starts`).
    fn counts_start(&mut self, from: SocketAddr) -> Option<Refusal> {
        let client = ClientPrefix::containing(from.ip());
        let is_admitted = self.start_rate.admits(client, self.context.clock.now());
        (!is_admitted).then_some(Refusal::RateLimited)
    }

    /// Takes the test in and gives it a thread of its own, or sends the client away.
    fn consider(
        &mut self,
        mut control: Box<Control<Server>>,
        from: SocketAddr,
        cookie: Cookie,
        parameters: Parameters,
    ) -> Option<PendingConnection> {
        let need = request_cost::need(&parameters);
        let class = TestClass::for_plan(&parameters.plan);
        let ticket = match self.context.registry.enter(cookie, from.ip(), need, class) {
            Ok(ticket) => ticket,
            Err(why @ (Refusal::Busy | Refusal::Address)) => {
                self.refuse(from, why);
                control.machine.deny();
                return Some(PendingConnection::leaving(control, from, self.context.clock.now()));
            }
            Err(why) => {
                let (cost, part) = (need.whole(), self.context.registry.part());
                let words = shortage::words(why, &cost, &part, &parameters.plan);
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

    /// There is too little of something for a test: the client and the log hear of what.
    fn disappoint(
        &self,
        mut control: Box<Control<Server>>,
        from: SocketAddr,
        parameters: Parameters,
        why: Refusal,
        words: String,
    ) -> PendingConnection {
        let code = ErrorCode::RESOURCES;
        self.context.registry.note_try();
        control.machine.refuse_because(code, &words);
        let peer = peer(&control, from, conversation::software(&parameters));
        let error = ProtocolError::ServerError { code, errno: 0, why: Some(words.clone()) };
        let ending = Ending::Failed { error: words };
        let plan = Some(parameters.plan);
        self.report_failure(error, &Served { plan, ..Served::nothing(peer, ending, why) });
        PendingConnection::leaving(control, from, self.context.clock.now())
    }

    /// Streams of one client that may be on their way: those by TCP wait at the listener
    /// and in the pending table, hellos in the socket's buffer.
    fn under_way(&self, transport: Transport) -> u32 {
        let of_table =
            u32::try_from(self.pending.most() / pending_table::SHARES).unwrap_or(u32::MAX);
        match transport {
            Transport::Tcp => {
                (linux::tcp::max_backlog() / 2).min(of_table / 2).clamp(1, MOST_UNDER_WAY)
            }
            Transport::Udp => HANDSHAKES_UNDER_WAY,
        }
    }

    /// Gives a test a thread of its own; gives it back if there is none.
    fn begin(&mut self, client: Box<Client>) -> Result<(), Box<Client>> {
        let (log, server) = (Arc::clone(&self.log), self.context.clone());
        let (hand, given) = sync_channel::<Box<Client>>(1);
        let work = move || {
            if let Ok(client) = given.recv() {
                conversation::serve(*client, &server, &*log);
            }
        };
        let thread = std::thread::Builder::new().name("session".to_owned());
        let Ok(session) = thread.stack_size(linux::process::STACK_BYTES).spawn(work) else {
            return Err(client);
        };
        self.sessions.push(session);
        hand.send(client).map_err(|SendError(client)| client)
    }

    /// A client that got as far as a cookie: its failure is reported like that of a test.
    fn give_up(
        &mut self,
        control: Box<Control<Server>>,
        from: SocketAddr,
        error: ProtocolError,
    ) -> PendingConnection {
        let why = match error {
            ProtocolError::TimedOut(_) => Refusal::Timeout,
            _ => Refusal::Parameters,
        };
        self.context.metrics.refuse(why);
        self.note_stranger(false);
        let ending = Ending::Failed { error: error.to_string() };
        let peer = peer(&control, from, "iperf3".to_owned());
        self.report_failure(error, &Served::nothing(peer, ending, why));
        PendingConnection::leaving(control, from, self.context.clock.now())
    }

    fn report_failure(&self, error: ProtocolError, served: &Served) {
        let mut observer = self.log.observer();
        observer.failed(&SessionError::Protocol { peer: served.peer.address, error });
        observer.ended(&served.ending);
        self.log.ended(served);
    }

    pub(super) fn refuse(&self, from: SocketAddr, why: Refusal) {
        self.context.metrics.refuse(why);
        self.log.refused(canonical(from), why);
    }
}

/// A client that got no test.
fn peer(control: &Control<Server>, from: SocketAddr, software: String) -> Peer {
    let local = control.local_address().unwrap_or(from);
    Peer { software, address: canonical(from), local_address: canonical(local) }
}

/// Streams of one client on their way to the acceptor.
const MOST_UNDER_WAY: u32 = 1024;
/// Hellos on their way: the kernel's default buffer holds some 250 short datagrams.
const HANDSHAKES_UNDER_WAY: u32 = 128;
