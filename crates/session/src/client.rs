//! Runs one test against a server and returns its record.

use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use host::Vantage;
use linux::event::StopSignals;
use linux::tcp::{Keepalive, TcpOptions};
use measurement::outcome::{CpuUse, Ending, Outcome};
use measurement::record::{Neighbour, PeerStream, RecordSchema};
use measurement::{
    Direction, Engines, Environment, HostEvidence, PacingReport, Peer, Pulse, Role, Runtime,
    TestRecord, Timestamp, Transport, Way,
};
use protocol::iperf3::{
    Announcement, Client, ClientEvent, ClientPhase, Cookie, FinalStream, Hello, Parameters,
    PeerEvidence, ProtocolError, stream_id,
};

use crate::batches::Pieces;
use crate::blocks::{block_length, fragmentation};
use crate::control::Control;
use crate::error::SessionError;
use crate::host_sampler::Interest;
use crate::measured::Side;
use crate::notes;
use crate::observer::{Introduction, Observer};
use crate::opening::crowd::{Crowd, Gathered, Order};
use crate::opening::{Opener, connect, tcp_options};
use crate::outcome::directions;
use crate::preflight::Host;
use crate::resolve::resolve;
use crate::sockets::{FallbackPolicy, Opened};
use crate::trial::{Calls, Setting, Trial};

mod request;

pub use crate::batches::Batching;
pub use request::{ClientOptions, DatagramDefault, Request, Watching};

/// Runs one test. A test that began gives a record, whatever ended it.
///
/// # Errors
/// Why it could not begin.
pub fn run(
    request: &Request,
    observer: &mut dyn Observer,
    interrupts: Option<&StopSignals>,
) -> Result<TestRecord, SessionError> {
    let host = Host::this(request.plan.transport);
    if let Some(shortage) = host.lacks_as_client(&request.plan) {
        return Err(SessionError::Shortage(shortage));
    }
    let (socket, server) = connect_control(request, interrupts)?;
    let local = socket.local_addr().map_err(SessionError::system("an address"))?;
    // Where the kernel does not tell, the defaults must do.
    let path = linux::tcp::info(&socket).unwrap_or_default();
    let block = block_length(request, server, &path);
    let random = linux::entropy::random().map_err(SessionError::system("random bytes"))?;
    let cookie = Cookie::from_random(random);
    let optional = request.options.optional.clone();
    let mut parameters = Parameters::new(&request.plan, block).with_optional(optional);
    let pieces = Pieces::chosen(request, server, block, path.pmtu);
    if pieces.is_some() {
        parameters.plan = Pieces::put_into(&parameters.plan);
    }
    parameters.counter_width = request.options.counter_width;
    if let Some(announcement) = &mut parameters.announcement {
        announcement.further_ports = host.further_ports(&request.plan);
        if request.options.watching == Watching::Nothing {
            *announcement = std::mem::take(announcement).without_evidence();
        }
    }
    let machine = Client::new(parameters.clone(), &cookie, dataplane::now());
    let mut conversation = Conversation {
        request,
        parameters,
        pieces,
        control: Control::new(socket, machine),
        interrupts,
        observer,
        cookie,
        server,
        rtt: Duration::from_micros(path.rtt.into()),
        segment: Some(path.snd_mss).filter(|segment| *segment > 0),
        peer: Peer { software: "iperf3".to_owned(), address: server, local_address: local },
        announcement: None,
        finals: None,
        trial: None,
        peer_streams: Vec::new(),
        peer_cpu: None,
        peer_congestion: None,
        shared: Vec::new(),
        peer_pacing: None,
        peer_runtime: None,
        peer_engines: Engines::default(),
        peer_evidence: None,
        breakdown: None,
        doubts: fragmentation(&request.plan, server, block, path.pmtu).into_iter().collect(),
        interrupted: false,
        started_at: linux::clock::utc_rfc3339(),
        introduced: false,
    };
    let ending = conversation.run();
    conversation.into_record(ending)
}

/// One test while it goes on.
struct Conversation<'a> {
    request: &'a Request,
    parameters: Parameters,
    /// Engines that nobody asked for.
    pieces: Option<Pieces>,
    control: Control<Client>,
    interrupts: Option<&'a StopSignals>,
    observer: &'a mut dyn Observer,
    cookie: Cookie,
    server: SocketAddr,
    rtt: Duration,
    segment: Option<u32>,
    peer: Peer,
    announcement: Option<Announcement>,
    /// What the server says that it sent.
    finals: Option<Vec<FinalStream>>,
    trial: Option<Trial>,
    peer_streams: Vec<PeerStream>,
    peer_cpu: Option<CpuUse>,
    peer_congestion: Option<String>,
    /// Who else used the server.
    shared: Vec<Neighbour>,
    /// How the server's senders kept their rate.
    peer_pacing: Option<PacingReport>,
    peer_runtime: Option<Runtime>,
    peer_engines: Engines,
    peer_evidence: Option<Box<PeerEvidence>>,
    /// Why an amount that was asked did not move.
    breakdown: Option<&'static str>,
    /// What was not as it was meant to be, each one sentence.
    doubts: Vec<String>,
    /// A signal ended the test before its time.
    interrupted: bool,
    started_at: String,
    /// The observer knows who the server is.
    introduced: bool,
}

impl Conversation<'_> {
    /// Goes on until the test is done; an error is why it ended early.
    fn run(&mut self) -> Result<(), SessionError> {
        loop {
            self.control.pump();
            self.introduce();
            while let Some(event) = self.control.machine.poll_event() {
                if self.handle(event)? {
                    return Ok(());
                }
            }
            self.mind_the_trial()?;
            self.wait()?;
            if self.interrupts.is_some_and(StopSignals::arrived) {
                self.interrupt()?;
            }
        }
    }

    /// Ends a running test early but in order, so that the receiver's numbers come too;
    /// a second signal, or one outside of the test, breaks off.
    fn interrupt(&mut self) -> Result<(), SessionError> {
        let running = self.control.machine.phase() == ClientPhase::Running;
        let Some(trial) = self.trial.as_mut().filter(|_| running) else {
            return Err(SessionError::Interrupted);
        };
        if std::mem::replace(&mut self.interrupted, true) {
            return Err(SessionError::Interrupted);
        }
        trial.stop();
        Ok(())
    }

    /// Does what the protocol asks for; whether the test is done.
    fn handle(&mut self, event: ClientEvent) -> Result<bool, SessionError> {
        match event {
            ClientEvent::PeerAnnounced(announcement) => {
                self.peer.software = format!("linerate {}", announcement.version);
                self.announcement = Some(announcement);
            }
            ClientEvent::Waiting(place) => self.observer.waiting(&self.peer, place),
            ClientEvent::CreateStreams => self.open_streams()?,
            ClientEvent::Start => {}
            ClientEvent::Run => {
                if let Some(trial) = &mut self.trial {
                    trial.start();
                    self.observer.started(&self.peer, &self.request.plan);
                }
            }
            ClientEvent::FinalStreams(streams) => self.finals = Some(streams),
            ClientEvent::ResultsWanted => self.answer(),
            ClientEvent::Results(results) => {
                self.peer_cpu = Some(results.cpu);
                self.peer_congestion = results.congestion_used;
                if let Some(output) = &results.server_output {
                    self.observer.answered(output);
                }
                self.shared = results.shared;
                self.peer_pacing = results.pacing.map(|report| *report);
                self.peer_runtime = results.runtime.map(|runtime| *runtime);
                self.peer_engines = results.engines.map(|engines| *engines).unwrap_or_default();
                self.peer_evidence = results.evidence;
                self.peer_streams = results.streams.into_iter().map(PeerStream::from).collect();
            }
            ClientEvent::Done => return Ok(true),
            ClientEvent::Failed(error) => return Err(self.failure(error)),
        }
        Ok(false)
    }

    fn failure(&self, error: ProtocolError) -> SessionError {
        SessionError::Protocol { peer: self.server, error }
    }

    fn open_streams(&mut self) -> Result<(), SessionError> {
        let plan = &self.request.plan;
        let count = plan.sending_streams() + plan.receiving_streams();
        if plan.exchange.is_some()
            && !self.announcement.as_ref().is_some_and(Announcement::knows_exchange)
        {
            let (to, software) = (self.server, self.peer.software.clone());
            return Err(SessionError::NoAnswers { to, software });
        }
        let calls = self.calls()?;
        let mut opener = Opener {
            control: &mut self.control,
            interrupts: self.interrupts,
            server: self.server,
            bind: self.request.bind,
            cookie: &self.cookie,
            stream: &plan.options,
            options: &self.request.options,
            connect_timeout: self.request.connect_timeout,
            both_ways: plan.direction == Direction::Both,
            peer_is_linerate: self.announcement.is_some(),
            hello: Hello::own(self.announcement.as_ref().and_then(|peer| peer.hello_token)),
            rtt: self.rtt,
        };
        let announcement = self.announcement.as_ref().filter(|peer| peer.knows_many_streams());
        let sockets = match announcement.and_then(|peer| Some((peer, peer.under_way?))) {
            Some((peer, under_way)) => {
                // Those of calls are not for streams.
                let ports = if calls.is_some() { Vec::new() } else { peer.ports.clone() };
                let token = peer.hello_token;
                let order = Order { transport: plan.transport, count, under_way, token, ports };
                let mut said = dataplane::now();
                let observer = &mut *self.observer;
                let gathered = Crowd::new(&mut opener, order)?.gather(|open| {
                    if dataplane::now() >= said.after(SAY_EVERY) {
                        said = dataplane::now();
                        observer.opening(open, count);
                    }
                });
                gathered.map(|Gathered { sockets, shut }| {
                    self.doubts.extend(shut_ports(self.server, &shut));
                    sockets
                })
            }
            None => opener.one_after_another(plan.transport, count),
        };
        // The server's own reason, if it gave one, is the better one.
        let sockets = match sockets {
            Err(SessionError::Interrupted) => return Err(SessionError::Interrupted),
            Err(error) => return Err(opener.reason().unwrap_or(error)),
            Ok(sockets) => sockets,
        };
        // Clause 7.5: client to server first.
        let sending = plan.sending_streams();
        let numbered = (0..).zip(sockets);
        let streams = numbered
            .map(|(index, socket)| Opened { id: stream_id(index), sender: index < sending, socket })
            .collect();
        let setting = Setting {
            side: Side::Client,
            pinned: self.request.cpus.clone(),
            rtt: self.rtt,
            peer_is_linerate: self.announcement.is_some(),
            fallback: if self.pieces.is_some() {
                FallbackPolicy::Substitute
            } else {
                FallbackPolicy::Fail
            },
            watched: true,
            file: self.request.options.file.clone(),
            calls,
            sampled: (self.request.options.watching == Watching::Hosts)
                .then_some(Interest::Towards(self.server.ip())),
            perf: self.request.options.profile.map(|hertz| Arc::new(Vantage::new(hertz))),
        };
        let mut parameters = self.parameters.clone();
        if self.pieces.take_if(|_| self.announcement.is_none()).is_some() {
            parameters.plan = Pieces::taken_out_of(&parameters.plan);
        }
        let interrupts = self.interrupts;
        let mut is_wanted = || !interrupts.is_some_and(StopSignals::arrived);
        let trial = Trial::prepare(&parameters, streams, setting, &mut is_wanted)?;
        if let Some((asked, got)) =
            trial.clamped_window().filter(|_| self.request.options.exact_window)
        {
            return Err(SessionError::Window { asked, got });
        }
        self.observer.opened(trial.streams());
        self.trial = Some(trial);
        Ok(())
    }

    /// Where requests with a connection each go; none: they go otherwise.
    fn calls(&self) -> Result<Option<Calls>, SessionError> {
        let exchange = self.request.plan.exchange;
        if exchange.is_none_or(|exchange| exchange.way != Way::Connection) {
            return Ok(None);
        }
        let port = self.announcement.as_ref().and_then(|peer| peer.ports.first().copied());
        let Some(port) = port else { return Err(SessionError::NoPort { to: self.server }) };
        let mut to = self.server;
        to.set_port(port);
        let options = TcpOptions {
            bind: self.request.bind.map(|bind| SocketAddr::new(bind, 0)),
            device: self.request.options.device.clone(),
            no_delay: true,
            ..tcp_options(&self.request.plan.options)
        };
        Ok(Some(Calls::To(to, options)))
    }

    /// Once the parameters are on their way.
    fn introduce(&mut self) {
        let phase = self.control.machine.phase();
        let is_unknown =
            matches!(phase, ClientPhase::Greeting | ClientPhase::Refused | ClientPhase::Failed);
        if is_unknown || std::mem::replace(&mut self.introduced, true) {
            return;
        }
        self.observer.introduced(&Introduction {
            peer: &self.peer,
            cookie: &self.cookie.text(),
            parameters: &self.parameters,
            segment: self.segment,
        });
    }

    /// Takes samples when they are due and ends the test when it is time.
    fn mind_the_trial(&mut self) -> Result<(), SessionError> {
        let running = self.control.machine.phase() == ClientPhase::Running;
        let grace = self.grace();
        let Some(trial) = self.trial.as_mut().filter(|_| running) else { return Ok(()) };
        let now = dataplane::now();
        if trial.tick(now) {
            self.observer.sampled(&trial.course());
        }
        trial.clear_progress();
        if trial.received_nothing_for(now) > self.request.options.receive_timeout {
            let (peer, patience) = (self.server, self.request.options.receive_timeout);
            return Err(SessionError::NothingReceived { peer, patience });
        }
        let time_is_up = trial.time_is_up_at().is_some_and(|end| now >= end);
        if time_is_up || trial.has_moved_all() {
            trial.stop();
        }
        if let Some(why) = trial.breakdown() {
            self.breakdown.get_or_insert(why);
            trial.stop();
        }
        let ended = trial.stopped_at().is_some_and(|stop| dataplane::now() >= stop.after(grace));
        if ended {
            self.control.machine.end_test(dataplane::now());
        }
        Ok(())
    }

    /// How long after the last byte the server hears of the end. A linerate waits for
    /// what is on its way; an iperf3 throws it away (clause 10.2).
    fn grace(&self) -> Duration {
        let plan = &self.request.plan;
        let has_a_tail = plan.transport == Transport::Udp || plan.end.is_amount();
        if self.announcement.is_none() && plan.direction.sends() && has_a_tail {
            (2 * self.rtt).max(GRACE)
        } else {
            Duration::ZERO
        }
    }

    fn wait(&mut self) -> Result<(), SessionError> {
        let running = self.control.machine.phase() == ClientPhase::Running;
        let mut others: Vec<_> = self.interrupts.map(AsFd::as_fd).into_iter().collect();
        let mut until = None;
        if let Some(trial) = self.trial.as_ref().filter(|_| running) {
            until = if let Some(stop) = trial.stopped_at() {
                Some(stop.after(self.grace()))
            } else {
                others.extend(trial.progress());
                let patience = self.request.options.receive_timeout;
                let received = trial.received_last().map(|last| last.after(patience));
                [trial.next_tick(), trial.time_is_up_at(), next_look(trial), received]
                    .into_iter()
                    .flatten()
                    .min()
            };
        }
        self.control.wait(&others, until).map_err(SessionError::system("poll"))
    }

    fn answer(&mut self) {
        let Some(trial) = &mut self.trial else { return };
        trial.finish(self.finals.as_deref());
        self.observer.sampled(&trial.course());
        let results = trial.results(self.finals.as_deref());
        self.control.machine.send_results(&results, dataplane::now());
    }

    fn into_record(mut self, ending: Result<(), SessionError>) -> Result<TestRecord, SessionError> {
        // A peer that failed is not waited for.
        let patience = if ending.is_ok() { GOODBYE } else { GOODBYE_TO_THE_FAILED };
        if ending.is_err() {
            self.control.machine.terminate();
        }
        let Some(mut trial) = self.trial.take().filter(|trial| trial.began().is_some()) else {
            self.control.finish(patience);
            return Err(ending.err().unwrap_or(SessionError::Interrupted));
        };
        trial.finish(self.finals.as_deref());
        let mut measured = trial.close();
        measured.peer_pacing = self.peer_pacing.take();
        measured.peer_engines = std::mem::take(&mut self.peer_engines);
        if let Some(pieces) = &self.pieces {
            pieces.explain(&mut measured.engines);
            pieces.explain(&mut measured.peer_engines);
        }
        let (hosts, peer_pulses) = self.evidence(std::mem::take(&mut measured.host));
        self.control.finish(patience);
        let ending = match ending {
            Ok(()) if self.interrupted => Ending::Interrupted,
            Ok(()) if self.request.options.file.is_some() && measured.stream_error.is_some() => {
                Ending::Failed { error: measured.stream_error.clone().unwrap_or_default() }
            }
            Ok(()) => self.breakdown.map_or(Ending::Completed, |why| Ending::Failed {
                error: format!("the test with {} failed: {why}", self.server),
            }),
            Err(SessionError::Interrupted) => Ending::Interrupted,
            Err(error) => {
                self.observer.failed(&error);
                Ending::Failed { error: error.to_string() }
            }
        };
        let directions = directions(&measured, &self.peer_streams, Side::Client);
        let mut notes = std::mem::take(&mut self.doubts);
        notes.extend(notes::on_calls(&measured, self.announcement.as_ref()));
        let outcome = Outcome {
            ending,
            directions,
            round_trips: measured.round_trips,
            latency: None,
            cpu: measured.cpu,
            peer_cpu: self.peer_cpu,
            broken: measured.stream_error,
            notes,
        };
        Ok(TestRecord {
            schema: RecordSchema::V1,
            linerate: env!("CARGO_PKG_VERSION").to_owned(),
            tags: self.request.tags.clone(),
            environment: environment(self.started_at)?,
            peer: self.peer,
            plan: self.request.plan.clone(),
            intervals: measured.intervals,
            start: measured.samples.first().map(|sample| sample.at).unwrap_or_default(),
            stopped: measured.stopped.unwrap_or_default(),
            streams: measured.records,
            samples: measured.samples,
            base: measured.base,
            peer_streams: self.peer_streams,
            peer_congestion: self.peer_congestion,
            shared: self.shared,
            runtime: measured.runtime,
            peer_runtime: self.peer_runtime,
            engine_trials: Vec::new(),
            probes: measured.probes,
            pulses: measured.pulses,
            peer_pulses,
            hosts,
            outcome,
            judgement: None,
        })
    }
}

impl Conversation<'_> {
    /// What both hosts have and did, and what moved at the server in short steps.
    fn evidence(&mut self, own: HostEvidence) -> (Vec<HostEvidence>, Vec<Pulse>) {
        if self.request.options.watching == Watching::Nothing {
            return (Vec::new(), Vec::new());
        }
        let mut hosts = match self.request.options.watching {
            Watching::Hosts => vec![own],
            Watching::Peer | Watching::Nothing => Vec::new(),
        };
        let Some(peer_evidence) = self.peer_evidence.take() else { return (hosts, Vec::new()) };
        let clock = self.control.machine.clock();
        hosts.push(HostEvidence { role: Role::Peer, clock, ..peer_evidence.host });
        (hosts, peer_evidence.pulses)
    }
}

/// Extra ports that could not be reached, each with the reason; one sentence for all.
fn shut_ports(server: SocketAddr, shut: &[(u16, std::io::Error)]) -> Option<String> {
    let (_, error) = shut.first()?;
    let (why, own) = (crate::reason(error), server.port());
    let numbers: Vec<_> = shut.iter().map(|(port, _)| port.to_string()).collect();
    let (ports, their) = if shut.len() == 1 { ("port", "its") } else { ("ports", "their") };
    Some(format!(
        "the server's further {ports} {} cannot be reached ({why}), so that others took {their} \
         streams; does a firewall let only port {own} through?",
        numbers.join(", ")
    ))
}

/// When to look whether the last bytes are acknowledged: nothing reports that.
fn next_look(trial: &Trial) -> Option<Timestamp> {
    trial.awaits_the_last().then(|| {
        let pause = if trial.progress().is_empty() { LOOK_OFTEN } else { LOOK_SELDOM };
        let pause = pause.max(trial.pause() / 20);
        dataplane::now().after(pause)
    })
}

/// Tries the server's addresses one after another.
fn connect_control(
    request: &Request,
    interrupts: Option<&StopSignals>,
) -> Result<(TcpStream, SocketAddr), SessionError> {
    let bind = request.bind.map(|bind| SocketAddr::new(bind, 0));
    let usable = |to: &SocketAddr| bind.is_none_or(|bind| bind.is_ipv4() == to.is_ipv4());
    let addresses = resolve(&request.host, request.port, request.family)?;
    let mut last = None;
    for to in addresses.into_iter().filter(usable) {
        // Clause 2.7: from any port, whatever the streams'; never multipath, as with iperf3.
        let device = request.options.device.clone();
        let options = TcpOptions { bind, device, ..TcpOptions::default() };
        match connect(to, &options, request.connect_timeout, interrupts)? {
            Ok(socket) => {
                linux::tcp::prepare_control(&socket, &control_keepalive(&request.options))
                    .map_err(SessionError::system("the control connection's settings"))?;
                return Ok((socket, to));
            }
            Err(error) => last = Some(SessionError::Connect { to, error }),
        }
    }
    Err(last.unwrap_or_else(|| SessionError::BindFamily { host: request.host.clone() }))
}

/// A time limit of sending holds for the control connection too.
fn control_keepalive(options: &ClientOptions) -> Keepalive {
    let user_timeout = options.send_timeout.unwrap_or(options.keepalive.user_timeout);
    Keepalive { user_timeout, ..options.keepalive }
}

fn environment(started_at: String) -> Result<Environment, SessionError> {
    let names = linux::host::system_names();
    let cpus = linux::host::allowed_cpus().map_err(SessionError::system("the list of CPUs"))?;
    Ok(Environment {
        host: names.host,
        kernel: names.kernel,
        architecture: names.architecture,
        cpus: u32::try_from(cpus.len()).unwrap_or(u32::MAX),
        started_at,
    })
}

/// Beside two round trips, for the last datagrams to be read by an iperf3.
const GRACE: Duration = Duration::from_millis(5);
/// How long the server may take to close after the last word.
const GOODBYE: Duration = Duration::from_secs(2);
const GOODBYE_TO_THE_FAILED: Duration = Duration::from_millis(200);
/// How often it is told how many streams are open.
const SAY_EVERY: Duration = Duration::from_millis(100);
const LOOK_OFTEN: Duration = Duration::from_millis(1);
const LOOK_SELDOM: Duration = Duration::from_millis(100);
