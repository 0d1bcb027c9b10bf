//! The TCP connections of one iperf2 client that belong together (`-P`): one test.

use std::io::{ErrorKind, Read};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use dataplane::Counters;
use measurement::outcome::{Ending, Throughput};
use measurement::plan::PlanDraft;
use measurement::record::StreamRecord;
use measurement::{
    BitRate, Direction, End, Order, Peer, StreamCounters, TestPlan, Timestamp, Transport,
};
use portable_atomic::Ordering::Relaxed;
use protocol::iperf2::{Asks, Back, BackWay, Bounce};

use super::closing::{Over, TCP_BLOCK, stream};
use super::sending::Sending;
use super::{FIRST, LOOK, SOFTWARE, answering};
use crate::iperf3::server::context::{ServerContext, canonical};
use crate::iperf3::server::registry::{Ticket, Verdict};
use crate::server::concurrent_tests::Presence;
use crate::server::cost::Cost;
use crate::server::limits::{Excess, RateLimit, Watch};
use crate::server::log::Log;
use crate::server::metrics::Refusal;
use crate::server::pace::Pace;
use crate::server::rates::Grant;
use crate::server::status::StatusLine;
use crate::server::stay::Yielding;

/// The connections of one client that belong together. The last one that ends reports the test.
pub(in super::super) struct Group {
    peer: Peer,
    kind: Kind,
    plan: TestPlan,
    /// What a connection takes.
    each: Cost,
    /// What was received, by connection, and then what was sent.
    counters: Vec<Arc<Counters>>,
    /// Of each connection on which this end sends, at most.
    most: Option<BitRate>,
    began: Timestamp,
    ends: Option<Timestamp>,
    yielding: Yielding,
    shared: Mutex<Shared>,
}

/// A connection of a client.
pub(in super::super) struct Connection {
    pub(in super::super) socket: TcpStream,
    /// Its place among those of the test.
    pub(in super::super) index: u32,
    /// Bytes that have been read.
    pub(in super::super) first: u64,
    /// What this end is to do beside to receive.
    pub(in super::super) asks: Asks,
}

/// Connections and direction of a test, as its client announces them with each connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Kind {
    pub(in super::super) connections: u32,
    pub(in super::super) direction: Direction,
    /// The server answers requests.
    pub(in super::super) answers: bool,
}

/// What the connections have in common.
struct Shared {
    ticket: Ticket,
    watch: Watch,
    pace: Pace,
    grant: Option<Grant>,
    status: StatusLine,
    presence: Presence,
    joined: u32,
    /// Whether it is counted among the tests that run.
    is_counted: bool,
    /// When the last byte was received.
    last: Timestamp,
    /// When this end sent.
    sent: Option<(Timestamp, Timestamp)>,
    streams: Vec<StreamRecord>,
    ending: Ending,
    refusal: Option<Refusal>,
}

impl Group {
    /// A test of connections that come from `peer`.
    ///
    /// # Errors
    /// Why there is none.
    pub(in super::super) fn new(
        peer: (std::net::SocketAddr, std::net::SocketAddr),
        kind: Kind,
        (ticket, each): (Ticket, Cost),
        server: &ServerContext,
    ) -> Result<Self, Refusal> {
        let Kind { connections, direction, answers } = kind;
        let (address, local_address) = peer;
        let peer = Peer { software: SOFTWARE.to_owned(), address, local_address };
        let mut limits = server.options.limits;
        if limits.streams.is_some_and(|most| connections > most) {
            return Err(Refusal::Streams);
        }
        let wanted = limits.rate.map(|limit| limit.most);
        let grant = server.rates.grant(address.ip(), wanted).map_err(|_| Refusal::TotalRate)?;
        if let Some(grant) = &grant {
            let window = limits.rate.map_or(WINDOW, |limit| limit.window);
            limits.rate = Some(RateLimit { most: grant.rate(), window });
        }
        let mut draft = PlanDraft::new(Transport::Tcp, direction);
        (draft.streams, draft.end) = (connections, End::Open);
        let plan = draft.check().map_err(|_| Refusal::Parameters)?;
        let sides = if direction.receives() { 2 } else { 1 };
        let counters: Vec<_> = (0..connections * sides).map(|_| Arc::default()).collect();
        let parts = u64::from(connections * if direction == Direction::Both { 2 } else { 1 });
        let most = limits.rate.map(|limit| {
            BitRate::from_bits_per_second(limit.most.bits_per_second() / parts.max(1))
        });
        let status = server.status.enter(&peer, &plan);
        let began = server.clock.now();
        status.runs(began, None, counters.clone());
        ticket.begin();
        let shared = Shared {
            ticket,
            watch: Watch::new(&limits),
            pace: Pace::new(server.yielding.below, answers, began),
            grant,
            status,
            presence: server.concurrent.enter(address.ip(), counters.clone()),
            joined: 0,
            is_counted: false,
            last: began,
            sent: None,
            streams: Vec::new(),
            ending: Ending::Completed,
            refusal: None,
        };
        let ends = server.options.ends_after.map(|time| began.after(time));
        let (yielding, shared) = (server.yielding, Mutex::new(shared));
        Ok(Self { peer, kind, plan, each, counters, most, began, ends, yielding, shared })
    }

    /// Takes the place of one more connection from that address; none: there is none.
    ///
    /// # Errors
    /// Why there is no room for it.
    pub(in super::super) fn join(
        &self,
        from: std::net::IpAddr,
        kind: Kind,
        now: Timestamp,
    ) -> Option<Result<u32, Refusal>> {
        let is_same = self.peer.address.ip() == from && self.kind == kind;
        let mut shared = self.lock();
        let has_room = shared.joined < kind.connections && now.since(self.began) < TOGETHER;
        (is_same && has_room).then(|| {
            shared.ticket.grow(self.each)?;
            shared.joined += 1;
            Ok(shared.joined - 1)
        })
    }

    /// Receives and sends on a connection until its end.
    pub(in super::super) fn carry(
        self: Arc<Self>,
        connection: Connection,
        server: &ServerContext,
        log: &dyn Log,
    ) {
        if !std::mem::replace(&mut self.lock().is_counted, true) {
            server.metrics.running.fetch_add(1, Relaxed);
        }
        let ending = self.serve(&connection, server);
        drop(connection);
        server.registry.note_stream();
        let mut shared = self.lock();
        if shared.ending == Ending::Completed {
            shared.ending = ending;
        }
        drop(shared);
        if let Some(group) = Arc::into_inner(self) {
            group.close(server, log);
        }
    }

    /// Receives, and does what the client asked for.
    fn serve(&self, connection: &Connection, server: &ServerContext) -> Ending {
        match connection.asks {
            Asks::Nothing | Asks::Refused => self.read(connection, 0, server),
            Asks::Back(back) => self.both_ways(&back, connection, server),
            Asks::Answers(bounce) => self.answer(&bounce, connection, server),
        }
    }

    /// Answers requests.
    fn answer(&self, bounce: &Bounce, connection: &Connection, server: &ServerContext) -> Ending {
        let Connection { socket, index, .. } = connection;
        self.note((socket, *index), false);
        let received = &self.counters[*index as usize];
        let options = (server.options.receive_timeout, &*server.clock);
        let must_end = |now| self.must_end(now);
        let ending = self.sending((socket, *index), server, |sent| {
            answering::run(socket, bounce, (received, sent), options, &must_end)
        });
        let mut shared = self.lock();
        shared.last = shared.last.max(server.clock.now());
        ending
    }

    /// Sends what the client asked for, and receives.
    fn both_ways(&self, back: &Back, connection: &Connection, server: &ServerContext) -> Ending {
        let mut rest = vec![0; back.rest];
        let read = linux::set_call_timeout(&connection.socket, HEADER_TIME)
            .and_then(|()| (&connection.socket).read_exact(&mut rest));
        if let Err(error) = read {
            return Ending::Failed { error: format!("no whole header: {}", crate::reason(&error)) };
        }
        let sending = Sending::of(back, &rest, self.most);
        let must_end = |now| self.must_end(now);
        let send = |over: &TcpStream| {
            self.sending((over, connection.index), server, |counters| {
                sending.run(over, counters, &*server.clock, &must_end)
            })
        };
        let send_back = |port| match self.connect(port) {
            Ok(socket) => send(&socket),
            Err(error) => Ending::Failed { error },
        };
        let receive = || self.read(connection, rest.len() as u64, server);
        match back.way {
            BackWay::Reverse => send(&connection.socket),
            BackWay::FullDuplex => at_once(&|| send(&connection.socket), &receive),
            BackWay::Connect { port, at_once: true } => at_once(&|| send_back(port), &receive),
            BackWay::Connect { port, at_once: false } => {
                let received = receive();
                // Its client waits for the end of this connection.
                _ = connection.socket.shutdown(Shutdown::Both);
                worse(received, || send_back(port))
            }
        }
    }

    /// A connection to that port of the client, at the address from which it came.
    fn connect(&self, port: u16) -> Result<TcpStream, String> {
        let to = SocketAddr::new(self.peer.address.ip(), port);
        let socket = TcpStream::connect_timeout(&to, CONNECT_TIME);
        socket.map_err(|error| format!("cannot connect to {to}: {}", crate::reason(&error)))
    }

    /// Notes what `send` sends over a connection, and counts where it is told to.
    fn sending(
        &self,
        (socket, index): (&TcpStream, u32),
        server: &ServerContext,
        send: impl FnOnce(&Counters) -> Ending,
    ) -> Ending {
        let counters = &self.counters[(self.plan.streams + index) as usize];
        self.note((socket, index), true);
        let began = server.clock.now();
        let ending = send(counters);
        let ended = server.clock.now();
        let mut shared = self.lock();
        let (first, last) = shared.sent.unwrap_or((began, ended));
        shared.sent = Some((first.min(began), last.max(ended)));
        ending
    }

    /// Notes a stream, on which this end is the `sender` or receives.
    fn note(&self, (socket, index): (&TcpStream, u32), sender: bool) {
        let stream = StreamRecord {
            sender,
            local: socket.local_addr().ok().map(canonical),
            peer: socket.peer_addr().ok().map(canonical),
            ..stream(&self.peer, index + 1, Transport::Tcp)
        };
        self.lock().streams.push(stream);
    }

    /// Receives until the end, `more` bytes of which have been read beside the first ones.
    fn read(&self, connection: &Connection, more: u64, server: &ServerContext) -> Ending {
        let Connection { socket, index, first, .. } = connection;
        self.note((socket, *index), false);
        let ending = self.read_all(socket, *index, first + more, server);
        let mut shared = self.lock();
        shared.last = shared.last.max(server.clock.now());
        ending
    }

    fn read_all(
        &self,
        socket: &TcpStream,
        index: u32,
        first: u64,
        server: &ServerContext,
    ) -> Ending {
        let (clock, counters) = (&server.clock, &self.counters[index as usize]);
        let mut now = clock.now();
        let mut counted = StreamCounters { bytes: first, last: now, ..StreamCounters::default() };
        if let Err(error) = linux::set_call_timeout(socket, LOOK) {
            return Ending::Failed { error: error.to_string() };
        }
        let mut room = vec![0; usize::try_from(TCP_BLOCK).unwrap_or(usize::MAX)];
        let mut looked = now;
        loop {
            counters.publish(&counted);
            if now.since(looked) >= LOOK {
                looked = now;
                if let Some(ending) = self.must_end(now) {
                    return ending;
                }
            }
            match linux::message::receive(socket, &mut room) {
                Ok(0) => return Ending::Completed,
                Ok(length) => {
                    now = clock.now();
                    counted.bytes += length as u64;
                    counted.blocks += 1;
                    counted.last = now;
                }
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
                {
                    now = clock.now();
                    let is_begun = counted.bytes >= BEGUN_BYTES;
                    let patience = server.options.receive_timeout;
                    let patience = if is_begun { patience } else { patience.min(FIRST) };
                    if now.since(counted.last) > patience {
                        return Ending::Failed {
                            error: "nothing was received for long".to_owned(),
                        };
                    }
                }
                Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                    return Ending::Interrupted;
                }
                Err(error) => return Ending::Failed { error: error.to_string() },
            }
        }
    }

    /// Why the server ends it now, if it does.
    fn must_end(&self, now: Timestamp) -> Option<Ending> {
        if self.ends.is_some_and(|ends| now >= ends) {
            return Some(Ending::Completed);
        }
        let mut shared = self.lock();
        if shared.ticket.is_stopping() {
            return Some(Ending::Failed { error: Refusal::Stopping.to_string() });
        }
        let by_others = shared.ticket.verdict().map(|verdict| match verdict {
            Verdict::Displaced(why) => why.words(&self.yielding),
            Verdict::Short(why) => Excess::left(why),
        });
        let moved = || self.counters.iter().map(|counters| counters.bytes()).sum();
        let Shared { pace, ticket, watch, .. } = &mut *shared;
        pace.look(now, Duration::ZERO, moved, ticket.stay());
        let excess = by_others.or_else(|| watch.excess(now, Duration::ZERO, moved))?;
        shared.refusal = Some(excess.why);
        Some(Ending::Failed { error: excess.words })
    }

    fn close(self, server: &ServerContext, log: &dyn Log) {
        let shared = self.shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Shared { ticket, presence, last, ending, refusal, grant, status, mut streams, .. } =
            shared;
        let sum = |of: &[Arc<Counters>]| of.iter().map(|counters| counters.bytes()).sum();
        let (received, sent) = self.counters.split_at(self.plan.streams as usize);
        let offered =
            shared.sent.map(|(first, last)| Throughput::over(sum(sent), last.since(first)));
        streams.order_by_key(|stream| (stream.sender, stream.id));
        let bytes = |one: &StreamRecord| {
            let of = if one.sender { sent } else { received };
            of.get(one.id as usize - 1).map_or(0, |counters| counters.bytes())
        };
        let carried = streams.iter().map(bytes).collect();
        if let Some(why) = refusal {
            server.metrics.refuse(why);
        }
        let neighbours = presence.shared();
        // Whoever reads the log's line may have the place.
        drop((presence, grant, status, ticket));
        let over = Over {
            peer: self.peer,
            plan: self.plan,
            ending,
            refusal,
            delivered: Throughput::over(sum(received), last.since(self.began)),
            offered,
            datagrams: None,
            streams,
            carried,
            shared: neighbours,
        };
        over.report(server, log);
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Does both at the same time.
fn at_once(one: &(dyn Fn() -> Ending + Sync), other: &dyn Fn() -> Ending) -> Ending {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(linux::process::STACK_BYTES);
        match thread.spawn_scoped(scope, one) {
            Ok(thread) => {
                let ending = other();
                let of_thread = || {
                    let error = "a thread ended in the middle".to_owned();
                    thread.join().unwrap_or(Ending::Failed { error })
                };
                worse(ending, of_thread)
            }
            Err(error) => Ending::Failed { error: format!("cannot start a thread: {error}") },
        }
    })
}

/// The first of both if it did not go well, else the second.
fn worse(first: Ending, second: impl FnOnce() -> Ending) -> Ending {
    let second = second();
    if first == Ending::Completed { second } else { first }
}

/// Within which a client sends its header.
const HEADER_TIME: Duration = Duration::from_secs(5);
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// Bytes from which on a client has sent payload, and not a header alone.
const BEGUN_BYTES: u64 = 1_024;
/// Within which the connections of one test come.
const TOGETHER: Duration = Duration::from_secs(5);
/// Over which the rate of a test is averaged.
const WINDOW: Duration = Duration::from_secs(5);
