//! One test with the TCP connections of a client that belong together (`-P`), on a thread of its own.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use linux::poll::{PollFd, wait};
use measurement::outcome::{DirectionOutcome, Ending, Throughput};
use measurement::plan::PlanDraft;
use measurement::{Direction, Peer, TestPlan, Timestamp, Transport};
use portable_atomic::Ordering::Relaxed;
use protocol::iperf2::{Asks, Back, BackWay, Opening, Settings, WriteMarks};

use super::{SOFTWARE, asked, connections, failed};
use crate::measured::Side;
use crate::server::concurrent_tests::Presence;
use crate::server::context::ServerContext;
use crate::server::limits::{self, Excess, Limits, RateLimit};
use crate::server::log::{Log, Served};
use crate::server::metrics::Refusal;
use crate::server::minded::{Failure, MindedTrial};
use crate::server::pace::Pace;
use crate::server::rates::Grant;
use crate::server::registry::{ArrivalSocket, Ticket};
use crate::server::status::StatusLine;
use crate::server::sums::Sums;
use crate::setting::{Amounts, FallbackPolicy, Iperf2Parts, Setting};
use crate::sockets::Opened;
use crate::spec::RunSpec;
use crate::trial::Trial;

/// A client whose first connection has come.
pub(crate) struct Client {
    pub(crate) ticket: Ticket,
    pub(crate) address: SocketAddr,
    pub(crate) local_address: SocketAddr,
    pub(crate) settings: Settings,
}

/// A test that was taken in.
pub(crate) struct Test {
    ticket: Ticket,
    settings: Settings,
    peer: Peer,
    plan: TestPlan,
    limits: Limits,
    grant: Option<Grant>,
    status: StatusLine,
    /// When it is to end as if its client had ended it.
    ends: Option<Timestamp>,
    /// When its first connection came.
    came: Timestamp,
    refusal: Option<Refusal>,
    sums: Sums,
    /// Payload bytes of each stream of `sums`.
    carried: Vec<u64>,
    presence: Option<Presence>,
}

impl Test {
    /// Takes the test's part of the server's rates.
    ///
    /// # Errors
    /// Why there is no test.
    pub(crate) fn new(client: Client, server: &ServerContext) -> Result<Self, Refusal> {
        let Client { ticket, address, local_address, settings } = client;
        let mut limits = server.options.limits;
        if limits.streams.is_some_and(|most| settings.connections > most) {
            return Err(Refusal::Streams);
        }
        let wanted = limits.rate.map(|limit| limit.most);
        let grant = server.rates.grant(address.ip(), wanted).map_err(|_| Refusal::TotalRate)?;
        if let Some(grant) = &grant {
            let window = limits.rate.map_or(WINDOW, |limit| limit.window);
            limits.rate = Some(RateLimit { most: grant.rate(), window });
        }
        let plan = asked::plan(Transport::Tcp, &settings).map_err(|_| Refusal::Parameters)?;
        let peer = Peer { software: SOFTWARE.to_owned(), address, local_address };
        let status = server.status.enter(&peer, &plan);
        status.opens(limits.rate.map(|limit| limit.most));
        ticket.begin();
        let came = server.clock.now();
        Ok(Self {
            ticket,
            settings,
            peer,
            plan,
            limits,
            grant,
            status,
            ends: server.options.ends_after.map(|time| came.after(time)),
            came,
            refusal: None,
            sums: Sums::default(),
            carried: Vec::new(),
            presence: None,
        })
    }

    /// Runs the test to its end, and reports it.
    pub(crate) fn serve(mut self, server: &ServerContext, log: &dyn Log) {
        server.metrics.running.fetch_add(1, Relaxed);
        let ending = self.run(server, log).err().unwrap_or(Ending::Completed);
        if let Some(why) = self.refusal {
            server.metrics.refuse(why);
        }
        let registry = std::sync::Arc::clone(&server.registry);
        let Self { ticket, settings, peer, plan, grant, status, refusal, sums, carried, .. } = self;
        let shared = self.presence.as_ref().map(Presence::shared).unwrap_or_default();
        // Whoever reads the log's line may have the place.
        drop((self.presence, grant, status, ticket));
        let over = Served { refusal, carried, shared, ..Served::of((peer, plan), ending, sums) };
        over.count(&server.metrics, true);
        log.ended(&over);
        (0..settings.connections).for_each(|_| registry.note_stream());
    }

    /// # Errors
    /// How it ended, unless as it was to end.
    fn run(&mut self, server: &ServerContext, log: &dyn Log) -> Result<(), Ending> {
        let sockets = self.gather(server)?;
        self.ticket.close();
        let mut draft = PlanDraft::clone(&self.plan);
        draft.streams = u32::try_from(sockets.len()).unwrap_or(draft.streams);
        self.plan = draft.check().map_err(|error| failed(&error.to_string()))?;
        log.began(&self.peer, &self.plan);
        let first = Opening::LENGTH as u64;
        match self.settings.asks {
            Asks::Back(back) => {
                let rest = connections::rest_of_headers(&sockets, back.rest, &*server.clock)?;
                self.send_back(sockets, &back, &rest, server)
            }
            Asks::Nothing | Asks::Answers(_) | Asks::Refused => {
                let opened = connections::receiving(sockets, first);
                self.carry(&asked::receiving(&self.plan), opened, server)
            }
        }
    }

    /// Waits for the connections that the client announced; late ones are another test.
    fn gather(&mut self, server: &ServerContext) -> Result<Vec<TcpStream>, Ending> {
        let clock = &*server.clock;
        let until = clock.now().after(TOGETHER);
        let mut sockets = Vec::new();
        loop {
            self.ticket.wake().clear();
            while let Some(arrival) = self.ticket.arrival() {
                if let ArrivalSocket::Tcp(socket) = arrival.socket {
                    sockets.push(socket);
                }
            }
            let left = until.since(clock.now());
            if sockets.len() >= self.settings.connections as usize || left.is_zero() {
                return Ok(sockets);
            }
            self.may_go_on(server)?;
            wait(&mut [PollFd::readable(self.ticket.wake().as_fd())], Some(left))
                .map_err(|error| failed(&crate::reason(&error)))?;
        }
    }

    /// Sends what the client asked for, and receives.
    fn send_back(
        &mut self,
        sockets: Vec<TcpStream>,
        back: &Back,
        rest: &[u8],
        server: &ServerContext,
    ) -> Result<(), Ending> {
        let streams = u32::try_from(sockets.len()).unwrap_or(u32::MAX);
        let read = (Opening::LENGTH + rest.len()) as u64;
        let rates = (Back::rate(rest), self.limits.rate);
        let spec = |direction| asked::sending(&self.plan, direction, back, rates);
        let port = |port| SocketAddr::new(self.peer.address.ip(), port);
        match back.way {
            BackWay::Reverse => {
                let opened = connections::sending(sockets, streams);
                self.carry(&spec(Direction::Receive), opened, server)
            }
            BackWay::FullDuplex => {
                let mut opened = connections::receiving(connections::again(&sockets)?, read);
                opened.extend(connections::sending(sockets, streams));
                self.carry(&spec(Direction::Both), opened, server)
            }
            BackWay::Connect { port: number, at_once: true } => {
                let mut opened = connections::receiving(sockets, read);
                let back = connections::connect(port(number), streams)?;
                opened.extend(connections::sending(back, streams));
                self.carry(&spec(Direction::Both), opened, server)
            }
            BackWay::Connect { port: number, at_once: false } => {
                let (to, spec) = (port(number), spec(Direction::Receive));
                let opened = connections::receiving(sockets, read);
                self.carry(&asked::receiving(&self.plan), opened.clone(), server)?;
                connections::end(&opened);
                drop(opened);
                let opened = connections::sending(connections::connect(to, streams)?, streams);
                self.carry(&spec, opened, server)
            }
        }
    }

    /// Runs the streams to their end.
    fn carry(
        &mut self,
        spec: &RunSpec,
        opened: Vec<Opened>,
        server: &ServerContext,
    ) -> Result<(), Ending> {
        let (clock, options) = (&*server.clock, &server.options);
        if let Err(why) = self.ticket.grow(limits::need(spec, 0, 0).workers) {
            return Err(self.refuse(Excess::left(why)));
        }
        let ticket = &self.ticket;
        let mut is_wanted = || !ticket.is_stopping() && ticket.verdict().is_none();
        let trial = Trial::prepare(spec.clone(), opened, self.setting(server), &mut is_wanted);
        let mut trial = match trial {
            Ok(trial) => trial,
            Err(error) => {
                self.may_go_on(server)?;
                return Err(failed(&error.to_string()));
            }
        };
        let client = self.peer.address.ip();
        let presence = server.concurrent.enter(client, trial.counters());
        if trial.sends() {
            trial.start(clock);
        } else {
            trial.start_as_of(self.came, clock);
        }
        self.status.runs(clock.now(), trial.time_is_up_at(), trial.counters());
        let pace = Pace::new(server.yielding.below, spec.plan.exchange.is_some(), clock.now());
        let mut minded =
            MindedTrial::new(trial, Some(presence), (options, &self.limits), (spec, pace));
        let ending = self.mind(&mut minded, server);
        let MindedTrial { mut trial, presence, .. } = minded;
        self.presence = presence;
        trial.finish(None, clock);
        let moved = trial.moved_each_way();
        self.carried.extend(trial.counters().iter().map(|counters| counters.bytes()));
        let measured = trial.close_in_order();
        let span = measured.span();
        let mut sums = Sums::new(moved, measured, &[]);
        if sums.answered.is_some() {
            sums.directions = exchanged((sums.received, sums.sent), span);
        }
        // What the client has not acknowledged yet is on its way to it.
        sums.directions.iter_mut().for_each(|direction| direction.acknowledged = None);
        self.sums.add(sums);
        if ending == Ending::Completed { Ok(()) } else { Err(ending) }
    }

    /// Under which circumstances this end runs it.
    fn setting(&self, server: &ServerContext) -> Setting {
        let (bounce, is_timed) = match self.settings.asks {
            Asks::Answers(bounce) => (Some(bounce), false),
            Asks::Back(back) => (None, back.is_timed),
            Asks::Nothing | Asks::Refused => (None, false),
        };
        let connections = (self.settings.connections, self.peer.local_address.port());
        Setting {
            side: Side::Server,
            pinned: server.options.cpus.clone(),
            rtt: Duration::ZERO,
            amounts: Amounts::OfEach,
            fallback: FallbackPolicy::Substitute,
            watched: false,
            file: None,
            calls: None,
            iperf2: Iperf2Parts {
                marks: is_timed.then(|| WriteMarks::new(connections, linux::clock::realtime())),
                bounce,
                ..Iperf2Parts::default()
            },
            sampled: None,
            perf: None,
        }
    }

    /// Minds a test that runs; how it ended.
    fn mind(&mut self, minded: &mut MindedTrial, server: &ServerContext) -> Ending {
        let clock = &*server.clock;
        loop {
            self.ticket.wake().clear();
            minded.trial.clear_progress();
            let now = clock.now();
            minded.trial.tick(now);
            minded.look_at_pace(now, self.ticket.stay());
            if let Some(ending) = self.ending(minded, now, server) {
                minded.trial.end_sending(clock);
                return ending;
            }
            let mut watches: Vec<_> =
                minded.trial.progress().into_iter().map(PollFd::readable).collect();
            watches.push(PollFd::readable(self.ticket.wake().as_fd()));
            let until = self.next_look(minded, now);
            if let Err(error) = wait(&mut watches, until.map(|until| until.since(clock.now()))) {
                return failed(&crate::reason(&error));
            }
        }
    }

    /// How the test ends now; none: it goes on.
    fn ending(
        &mut self,
        minded: &mut MindedTrial,
        now: Timestamp,
        server: &ServerContext,
    ) -> Option<Ending> {
        if let Some(error) = minded.trial.stream_error() {
            let is_gone =
                matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe);
            return Some(if is_gone {
                Ending::Interrupted
            } else {
                failed(&crate::reason(&error))
            });
        }
        let trial = &mut minded.trial;
        if trial.has_sent_all(now) {
            if trial.has_received_all() {
                return Some(Ending::Completed);
            }
            if trial.sends() {
                trial.end_sending(&*server.clock);
            }
        }
        if self.ends.is_some_and(|ends| now >= ends) {
            return Some(Ending::Completed);
        }
        if let Err(ending) = self.may_go_on(server) {
            return Some(ending);
        }
        if self.payload_due(minded).is_some_and(|due| now >= due) {
            return Some(failed(SILENT));
        }
        Some(match minded.failure(now, &server.options)? {
            Failure::Excess(excess) => self.refuse(excess),
            Failure::NothingReceived => failed(SILENT),
            Failure::TimeIsUp => failed("the client takes nothing, or does not end"),
        })
    }

    /// When payload must have come from a client of which the header alone has; none: it has.
    fn payload_due(&self, minded: &MindedTrial) -> Option<Timestamp> {
        let trial = &minded.trial;
        let is_awaited = self.plan.exchange.is_none() && !trial.has_received_all();
        let due = trial.began()?.after(FIRST);
        (is_awaited && trial.moved_each_way().0 < BEGUN_BYTES).then_some(due)
    }

    fn next_look(&self, minded: &MindedTrial, now: Timestamp) -> Option<Timestamp> {
        let sending_ends = minded.trial.time_is_up_at().filter(|end| *end > now);
        let looks = [minded.next_look(), sending_ends, self.ends, self.payload_due(minded)];
        looks.into_iter().flatten().min()
    }

    /// # Errors
    /// Others need the test's place, or the server stops.
    fn may_go_on(&mut self, server: &ServerContext) -> Result<(), Ending> {
        if self.ticket.is_stopping() {
            return Err(failed(&Refusal::Stopping.to_string()));
        }
        match self.ticket.verdict() {
            Some(verdict) => Err(self.refuse(verdict.excess(&server.yielding))),
            None => Ok(()),
        }
    }

    fn refuse(&mut self, excess: Excess) -> Ending {
        self.refusal = Some(excess.why);
        Ending::Failed { error: excess.words }
    }
}

/// What requests and their answers came to in each direction.
fn exchanged((received, sent): (u64, u64), span: Duration) -> Vec<DirectionOutcome> {
    let delivered = Some(Throughput::over(received, span));
    let offered = Some(Throughput::over(sent, span));
    vec![
        DirectionOutcome { delivered, ..DirectionOutcome::unknown(Direction::Send) },
        DirectionOutcome { offered, ..DirectionOutcome::unknown(Direction::Receive) },
    ]
}

/// Of a client that sends nothing.
const SILENT: &str = "nothing was received for long";
/// Within which the connections of one test come: a SYN may be lost twice.
const TOGETHER: Duration = Duration::from_secs(3);
/// Longest time from the header of a client to its payload.
const FIRST: Duration = Duration::from_secs(10);
/// Bytes from which on a client has sent payload, and not a header alone.
const BEGUN_BYTES: u64 = 1_024;
/// Over which the rate of a test is averaged.
const WINDOW: Duration = Duration::from_secs(5);
