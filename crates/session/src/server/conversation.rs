//! One test, from the parameters to the last word, on a thread of its own.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use host::Vantage;
use measurement::outcome::Ending;
use measurement::plan::PlanDraft;
use measurement::record::PeerStream;
use measurement::{Exchange, Peer, TestPlan, Timestamp, Transport, Way};
use portable_atomic::Ordering::Relaxed;
use protocol::iperf3::{
    ErrorCode, FinalStream, HelloToken, Parameters, PeerEvidence, Place, ProtocolError, Results,
    Server, ServerEvent, ServerPhase,
};

use super::acceptor::canonical;
use super::concurrent_tests::{ConcurrentTests, Presence};
use super::extra_ports::{self, ExtraPort};
use super::limits::{self, Excess, Watch};
use super::metrics::{Refusal, ServerMetrics};
use super::progress::Progress;
use super::registry::{Registry, Ticket};
use super::{Evidence, Log, Served, SessionOptions};
use crate::control::Control;
use crate::error::SessionError;
use crate::host_sampler::Interest;
use crate::measured::Side;
use crate::observer::{Introduction, Observer};
use crate::outcome::directions;
use crate::preflight::Host;
use crate::sockets::{FallbackPolicy, Opened};
use crate::trial::{Calls, Setting, Trial};

mod deferred;
mod gathering;
mod setup_deadline;
mod streams;

use deferred::Deferred;
use gathering::Gathering;

/// What all tests of a server have in common.
#[derive(Clone)]
pub(super) struct ServerContext {
    /// Where the server listens.
    pub(super) address: SocketAddr,
    pub(super) options: SessionOptions,
    pub(super) registry: Arc<Registry>,
    pub(super) concurrent: Arc<ConcurrentTests>,
    pub(super) metrics: Arc<ServerMetrics>,
}

/// One who asked for a test and was taken in.
pub(super) struct Client {
    pub(super) control: Control<Server>,
    pub(super) from: SocketAddr,
    pub(super) ticket: Ticket,
    pub(super) parameters: Parameters,
    /// Streams that it may have on their way.
    pub(super) under_way: u32,
}

/// Serves one client.
pub(super) fn serve(client: Client, server: &ServerContext, log: &dyn Log) {
    let from = client.from;
    let mut conversation = Conversation::new(client, server, log);
    server.metrics.waiting.fetch_add(1, Relaxed);
    let ending = match conversation.run() {
        Ok(()) if conversation.cut_short => Ending::Interrupted,
        Ok(()) => Ending::Completed,
        Err(ProtocolError::ClientTerminated) => Ending::Interrupted,
        Err(error) => conversation.failed(error),
    };
    let control = conversation.close(ending);
    server.registry.part_with((Box::new(control), from));
}

/// What the client calls itself.
pub(super) fn software(parameters: &Parameters) -> String {
    match &parameters.announcement {
        Some(announcement) => format!("linerate {}", announcement.version),
        None if parameters.client_version.is_empty() => "iperf3".to_owned(),
        None => format!("iperf3 {}", parameters.client_version),
    }
}

/// Whether a test moves next to nothing: a request now and then on one stream.
fn only_watches(plan: &TestPlan) -> bool {
    let is_seldom = |exchange: Exchange| {
        exchange.is_probe() && !exchange.busy && exchange.every.is_some_and(|every| every >= SELDOM)
    };
    plan.streams == 1 && plan.exchange.is_some_and(is_seldom)
}

/// What is watched of this host meanwhile, if the client at `from` wants to know and may.
fn interest(parameters: &Parameters, options: &SessionOptions, from: IpAddr) -> Option<Interest> {
    let client = parameters.announcement.as_ref()?.shared();
    match options.evidence {
        Evidence::Withheld => None,
        _ if !client.knows_evidence() => None,
        Evidence::Given => Some(Interest::Towards(from)),
        Evidence::Whole => Some(Interest::All),
    }
}

/// From where the CPUs are sampled meanwhile. A probe beside a test leaves that to the test.
fn perf(plan: &TestPlan, options: &SessionOptions) -> Option<Arc<Vantage>> {
    let is_beside = plan.exchange.is_some() && options.evidence != Evidence::Whole;
    options.perf.clone().filter(|_| !is_beside)
}

struct Conversation<'a> {
    control: Control<Server>,
    ticket: Ticket,
    cookie: String,
    segment: Option<u32>,
    setting: Setting,
    server: &'a ServerContext,
    log: &'a dyn Log,
    observer: Box<dyn Observer>,
    watch: Watch,
    progress: Option<Progress>,
    /// Nothing was received for too long.
    silence: Deferred,
    /// The client should have ended the test.
    grace: Deferred,
    peer: Peer,
    parameters: Parameters,
    /// The last word to a client that waits for its turn, and when.
    told: Option<(Place, Timestamp)>,
    /// The client has been let in.
    admitted: bool,
    /// Why it is not served.
    refusal: Option<(Refusal, String)>,
    opened: Vec<Opened>,
    gathering: Gathering,
    trial: Option<Trial>,
    presence: Option<Presence>,
    peer_streams: Vec<PeerStream>,
    /// The observer has heard the end.
    concluded: bool,
    /// The client ended the test in order, but long before its time.
    cut_short: bool,
}

impl<'a> Conversation<'a> {
    fn new(client: Client, server: &'a ServerContext, log: &'a dyn Log) -> Self {
        let Client { control, from, ticket, mut parameters, under_way } = client;
        let options = &server.options;
        let path = control.path();
        let software = software(&parameters);
        let local = control.local_address().unwrap_or(from);
        if let Some(interval) = options.interval {
            let mut draft = PlanDraft::clone(&parameters.plan);
            draft.interval = interval;
            parameters.plan = draft.check().unwrap_or(parameters.plan);
        }
        let gathering = Gathering::new(&parameters, under_way);
        Self {
            cookie: ticket.cookie().text(),
            segment: Some(path.snd_mss).filter(|segment| *segment > 0),
            setting: Setting {
                side: Side::Server,
                pinned: options.cpus.clone(),
                rtt: Duration::from_micros(path.rtt.into()),
                peer_is_linerate: parameters.announcement.is_some(),
                fallback: FallbackPolicy::Substitute,
                watched: options.interval.is_some(),
                file: options.file.clone(),
                calls: None,
                sampled: interest(&parameters, options, canonical(from).ip()),
                perf: perf(&parameters.plan, options),
            },
            server,
            log,
            observer: log.observer(),
            watch: Watch::new(&options.limits),
            progress: options.stall.map(|patience| Progress::new(patience, &parameters)),
            silence: Deferred::default(),
            grace: Deferred::default(),
            peer: Peer { software, address: canonical(from), local_address: canonical(local) },
            parameters,
            told: None,
            admitted: false,
            refusal: None,
            opened: Vec::new(),
            gathering,
            trial: None,
            presence: None,
            peer_streams: Vec::new(),
            concluded: false,
            cut_short: false,
            control,
            ticket,
        }
    }

    fn run(&mut self) -> Result<(), ProtocolError> {
        self.begin();
        loop {
            // What this end has refused the client hears when its place is free again.
            if self.handle_events()? {
                return Ok(());
            }
            self.control.pump();
            if self.handle_events()? {
                return Ok(());
            }
            self.ticket.wake().clear();
            if self.ticket.is_stopping() {
                self.control.machine.terminate();
                continue;
            }
            match self.control.machine.phase() {
                ServerPhase::Judging => self.await_turn(),
                ServerPhase::Opening => self.receive_streams(),
                ServerPhase::Running => self.mind_the_trial(),
                _ => {}
            }
            if self.control.machine.phase() != ServerPhase::Failed && self.wait().is_err() {
                self.control.machine.refuse(ErrorCode::STREAM_CONNECT, 0);
            }
        }
    }

    fn begin(&mut self) {
        if self.server.options.evidence == Evidence::Withheld {
            self.control.machine.withhold_evidence();
        }
        self.observer.introduced(&Introduction {
            peer: &self.peer,
            cookie: &self.cookie,
            parameters: &self.parameters,
            segment: self.segment,
        });
        if let Some((excess, errno)) = self.objection() {
            self.server.metrics.refuse(excess.why);
            // Who may not test hears no more than that.
            if errno == 0 && excess.why != Refusal::Authentication {
                self.control.machine.refuse_because(excess.code, &excess.words);
            } else {
                self.control.machine.refuse(excess.code, errno);
            }
            self.refusal = Some((excess.why, excess.words));
        }
    }

    /// Why this client, or this test, is not served, and the errno for it.
    fn objection(&mut self) -> Option<(Excess, i32)> {
        let parameters = &self.parameters;
        let options = &self.server.options;
        if let Some(gate) = &options.gate
            && let Err(why) = gate.admit(parameters.optional.token.as_ref())
        {
            return Some((Excess::unknown_user(&why), 0));
        }
        if options.file.is_some() && parameters.plan.transport == Transport::Udp {
            return Some((Excess::impossible(ErrorCode::FILE_OVER_UDP), 0));
        }
        if let Some(cpu) = parameters.optional.server_cpu {
            let cpu = usize::try_from(cpu).unwrap_or(usize::MAX);
            if linux::host::allowed_cpus().is_ok_and(|cpus| !cpus.contains(&cpu)) {
                return Some((Excess::impossible(ErrorCode::AFFINITY), EINVAL));
            }
            self.setting.pinned = vec![cpu];
        }
        if options.evidence == Evidence::Whole && !only_watches(&parameters.plan) {
            return Some((Excess::only_watched(), 0));
        }
        let excess = options.limits.excess(parameters);
        let plan = &parameters.plan;
        let shortage = || {
            let host = plan.has_many_streams().then(|| Host::this(plan.transport))?;
            host.lacks_memory(plan).map(Excess::shortage)
        };
        excess.or_else(shortage).map(|excess| (excess, 0))
    }

    /// Lets the client open its streams when its turn has come.
    fn await_turn(&mut self) {
        let now = dataplane::now();
        if let Some(place) = self.ticket.place() {
            let is_news =
                self.told.is_none_or(|(told, at)| told != place || now >= at.after(REMIND_EVERY));
            if is_news {
                self.told = Some((place, now));
                self.control.machine.tell_place(place);
            }
            return;
        }
        let plan = &self.parameters.plan;
        let token = self.hello_token();
        match plan.transport {
            Transport::Tcp => {
                self.ticket.open_tcp(plan.streams_in_all(), self.gathering.numbering());
            }
            Transport::Udp if token.is_none() && !self.ticket.takes_handshake_lock() => return,
            Transport::Udp => {
                if token.is_none() {
                    self.gathering.count_arrivals(plan.streams_in_all());
                }
                let numbering = self.gathering.numbering();
                self.ticket.open_udp(plan.streams_in_all(), &plan.options, token, numbering);
            }
        }
        self.admitted = true;
        self.server.metrics.waiting.fetch_sub(1, Relaxed);
        self.server.metrics.running.fetch_add(1, Relaxed);
        self.gathering.begin(now);
        let ports = self.open_extra_ports();
        self.gathering.offer(ports, &mut self.control.machine);
        self.control.machine.accept(token, now);
    }

    /// Opens the extra ports that the client has a use for (clauses 13.15 and 13.18).
    fn open_extra_ports(&mut self) -> Vec<u16> {
        let (server, test) = (self.server, self.ticket.id());
        let place = (server.address, server.options.device.as_deref());
        let exchange = self.parameters.plan.exchange;
        if exchange.is_some_and(|exchange| exchange.way == Way::Connection) {
            // Without one, the client says what is missing.
            let Some((listener, port)) = extra_ports::listen(place) else { return Vec::new() };
            self.setting.calls = Some(Calls::At(Arc::new(listener)));
            return vec![port];
        }
        let count = limits::extra_ports(&self.parameters);
        let extra_ports = ExtraPort::open(count, place, (test, self.peer.address.ip()));
        let ports = extra_ports.iter().map(ExtraPort::port).collect();
        server.registry.open_extra_ports(extra_ports);
        ports
    }

    /// What the hellos are to bear; none: an iperf3's can bear nothing.
    fn hello_token(&self) -> Option<HelloToken> {
        let announcement = self.parameters.announcement.as_ref()?;
        let is_known = announcement.shared().knows_hello_token();
        let wanted = is_known && self.parameters.plan.transport == Transport::Udp;
        // Without randomness, turns must do.
        wanted.then(linux::entropy::random).and_then(Result::ok).map(HelloToken::from_random)
    }

    /// Ends what the client should have ended: the sending a second after its time, so
    /// that nobody is flooded for longer than asked, and the test after a grace.
    fn mind_the_trial(&mut self) {
        let Some(trial) = self.trial.as_mut() else { return };
        let now = dataplane::now();
        if trial.tick(now) {
            self.observer.sampled(&trial.course());
        }
        let pause = trial.pause() / PARTS_OF_A_LOOK;
        if let Some(excess) = self.watch.excess(now, pause, || trial.moved()) {
            self.control.machine.refuse_because(excess.code, &excess.words);
            return self.refusal = Some((excess.why, excess.words));
        }
        let patience = self.server.options.receive_timeout;
        let deaf = self.silence.is_over(now, || trial.received_last().map(|at| at.after(patience)));
        let stalled =
            self.progress.as_mut().is_some_and(|progress| progress.is_stalled(now, trial));
        if deaf || stalled {
            return self.control.machine.refuse(ErrorCode::NOTHING_RECEIVED, 0);
        }
        if trial.time_is_up_at().is_some_and(|end| now >= end.after(OVERTIME)) {
            trial.stop();
        }
        if self.grace.is_over(now, || trial.give_up_at(self.server.options.grace)) {
            self.control.machine.refuse(ErrorCode::TIME_IS_UP, 0);
        }
    }

    /// Does all that the protocol asks for now; whether the test is done.
    fn handle_events(&mut self) -> Result<bool, ProtocolError> {
        while let Some(event) = self.control.machine.poll_event() {
            if self.handle(event)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Does what the protocol asks for; whether the test is done.
    fn handle(&mut self, event: ServerEvent) -> Result<bool, ProtocolError> {
        match event {
            // The acceptor has taken them.
            ServerEvent::Asked(_) => {}
            ServerEvent::Ended => self.end(),
            ServerEvent::Results(results) => self.answer(results),
            ServerEvent::Done => return Ok(true),
            ServerEvent::Failed(error) => return Err(error),
        }
        Ok(false)
    }

    fn wait(&mut self) -> std::io::Result<()> {
        let mut others = vec![self.ticket.wake().as_fd()];
        others.extend(self.gathering.repeated_hellos());
        let until = match self.control.machine.phase() {
            ServerPhase::Judging => self.told.map(|(_, at)| at.after(REMIND_EVERY)),
            ServerPhase::Opening => Some(self.opening_limit()),
            ServerPhase::Running => self.trial.as_ref().and_then(|trial| self.next_look(trial)),
            _ => None,
        };
        self.control.wait(&others, until)
    }

    /// When a running test is to be looked at next.
    fn next_look(&self, trial: &Trial) -> Option<Timestamp> {
        let overtime = trial.time_is_up_at().map(|end| end.after(OVERTIME));
        let overtime = overtime.filter(|_| trial.stopped_at().is_none());
        let progress = self.progress.as_ref().map(Progress::next_look);
        let (silence, grace) = (self.silence.next_look(), self.grace.next_look());
        let looks = [overtime, trial.next_tick(), grace, silence, progress];
        looks.into_iter().chain([self.watch.next_look()]).flatten().min()
    }

    fn end(&mut self) {
        let Some(trial) = &mut self.trial else { return };
        let now = dataplane::now();
        // A linerate's time is rounded up to whole seconds on the wire (clause 6.2).
        let early = EARLY + Duration::from_secs(u64::from(self.setting.peer_is_linerate));
        self.cut_short = trial.time_is_up_at().is_some_and(|end| now.after(early) < end);
        trial.stop();
        trial.end_streams();
        let sent = trial.sent();
        self.control.machine.request_results(sent, dataplane::now());
    }

    fn answer(&mut self, results: Results) {
        let Some(trial) = &mut self.trial else { return };
        let sent: Vec<_> = results
            .streams
            .iter()
            .map(|stream| FinalStream {
                id: stream.id,
                bytes: stream.bytes,
                datagrams: stream.packets,
            })
            .collect();
        trial.finish(Some(&sent));
        let mut own = trial.results(Some(&sent));
        let output = self.observer.concluded(&trial.course());
        own.server_output = output.filter(|_| self.parameters.optional.server_output);
        own.shared = self.presence.as_ref().map(Presence::shared).unwrap_or_default();
        if self.server.options.hide_peers {
            own.shared.iter_mut().for_each(|neighbour| neighbour.address = None);
        }
        let clock = Some(self.control.machine.clock(dataplane::now()));
        let told = trial
            .peer_evidence(self.server.options.evidence)
            .map(|told| Box::new(PeerEvidence { clock, ..told }));
        own.evidence = told;
        self.concluded = true;
        self.peer_streams = results.streams.into_iter().map(PeerStream::from).collect();
        self.control.machine.send_results(&own, dataplane::now());
    }

    fn failed(&mut self, error: ProtocolError) -> Ending {
        let told = self.refusal.as_ref().map(|(_, words)| words.clone());
        let text = told.unwrap_or_else(|| error.to_string());
        self.observer.failed(&SessionError::Protocol { peer: self.peer.address, error });
        Ending::Failed { error: text }
    }

    /// Gives up the place before the connection closes: the client may come back at
    /// once when it sees that.
    fn close(mut self, ending: Ending) -> Control<Server> {
        let (mut outcome, mut streams) = (Vec::new(), Vec::new());
        let (mut received, mut sent, mut answered) = (0, 0, None);
        let shared = self.presence.as_ref().map(Presence::shared).unwrap_or_default();
        drop(self.presence.take());
        if let Some(mut trial) = self.trial.take() {
            trial.finish(None);
            if !self.concluded {
                // Nobody waits for what it says of a test that broke off.
                _ = self.observer.concluded(&trial.course());
            }
            (received, sent) = trial.moved_each_way();
            let measured = trial.close();
            if let Some(exchange) = measured.plan.exchange {
                answered = Some(measured.blocks());
                received = measured.blocks().saturating_mul(exchange.request.bytes());
                sent = measured.blocks().saturating_mul(exchange.response.bytes());
            }
            self.server.metrics.received.fetch_add(received, Relaxed);
            self.server.metrics.sent.fetch_add(sent, Relaxed);
            outcome = directions(&measured, &self.peer_streams, Side::Server);
            streams = measured.records;
        }
        self.opened.clear();
        // Whoever reads the log's line may have the place.
        self.ticket.leave();
        self.observer.ended(&ending);
        self.count(&ending);
        self.log.ended(&Served {
            peer: self.peer,
            plan: Some(self.parameters.plan),
            ending,
            refusal: self.refusal.map(|(why, _)| why),
            received,
            sent,
            streams,
            directions: outcome,
            answered,
            shared,
        });
        drop(self.ticket);
        self.control
    }

    fn count(&self, ending: &Ending) {
        let metrics = &self.server.metrics;
        let place = if self.admitted { &metrics.running } else { &metrics.waiting };
        place.fetch_sub(1, Relaxed);
        match ending {
            // Told by its reason already.
            Ending::Failed { .. } if self.refusal.is_some() && !self.admitted => {}
            Ending::Completed => _ = metrics.completed.fetch_add(1, Relaxed),
            Ending::Interrupted => _ = metrics.interrupted.fetch_add(1, Relaxed),
            Ending::Failed { .. } => _ = metrics.failed.fetch_add(1, Relaxed),
        }
    }
}

/// `asm-generic/errno-base.h`.
const EINVAL: i32 = 22;
/// From one request of who only watches to the next, at least.
const SELDOM: Duration = Duration::from_millis(100);
/// How often a client hears that it still waits.
const REMIND_EVERY: Duration = Duration::from_secs(5);
/// So long before its time no test ends by itself.
const EARLY: Duration = Duration::from_millis(500);
/// The counters of a stream are read so many times faster than what the kernel tells of it.
const PARTS_OF_A_LOOK: u32 = 10;
/// How long after its time the client may end the test before the sending stops.
const OVERTIME: Duration = Duration::from_secs(1);
