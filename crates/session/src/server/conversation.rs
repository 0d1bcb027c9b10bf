//! One test, from the cookie to the last word, on a thread of its own.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use linux::tcp::TcpOptions;
use measurement::outcome::Ending;
use measurement::plan::PlanDraft;
use measurement::record::PeerStream;
use measurement::{Peer, StreamOptions, Transport};
use protocol::iperf3::{
    ErrorCode, FinalStream, Hello, Parameters, ProtocolError, Results, Server, ServerEvent,
    ServerPhase, stream_id,
};

use super::limits::RateWatch;
use super::registry::{Arrival, Ticket};
use super::{Log, Served, SessionOptions};
use crate::control::Control;
use crate::error::SessionError;
use crate::measured::Side;
use crate::observer::{Introduction, Observer};
use crate::opening::tcp_options;
use crate::outcome::directions;
use crate::sockets::{Opened, StreamSocket};
use crate::trial::{Setting, Trial};

/// Serves one client.
pub(super) fn serve(
    socket: TcpStream,
    from: SocketAddr,
    ticket: Ticket,
    options: &SessionOptions,
    log: &dyn Log,
) {
    let Ok(local) = socket.local_addr() else { return };
    if linux::tcp::prepare_control(&socket, &options.keepalive).is_err() {
        return;
    }
    let info = linux::tcp::info(&socket).unwrap_or_default();
    let rtt = Duration::from_micros(info.rtt.into());
    let canonical =
        |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
    let peer = Peer {
        software: "iperf3".to_owned(),
        address: canonical(from),
        local_address: canonical(local),
    };
    let mut conversation = Conversation {
        control: Control::new(socket, Server::new(dataplane::now())),
        cookie: ticket.cookie().text(),
        segment: Some(info.snd_mss).filter(|segment| *segment > 0),
        ticket,
        setting: Setting {
            side: Side::Server,
            pinned: options.cpus.clone(),
            rtt,
            peer_is_linerate: false,
            watched: options.interval.is_some(),
            file: options.file.clone(),
        },
        options,
        log,
        observer: log.observer(),
        rate_watch: options.limits.rate.map(RateWatch::new),
        peer,
        parameters: None,
        opened: Vec::new(),
        trial: None,
        peer_streams: Vec::new(),
        concluded: false,
    };
    let ending = match conversation.run() {
        Ok(()) => Ending::Completed,
        Err(ProtocolError::ClientTerminated) => Ending::Interrupted,
        Err(error) => conversation.failed(error),
    };
    conversation.close(ending);
}

struct Conversation<'a> {
    control: Control<Server>,
    ticket: Ticket,
    cookie: String,
    segment: Option<u32>,
    setting: Setting,
    options: &'a SessionOptions,
    log: &'a dyn Log,
    observer: Box<dyn Observer>,
    rate_watch: Option<RateWatch>,
    peer: Peer,
    parameters: Option<Parameters>,
    opened: Vec<Opened>,
    trial: Option<Trial>,
    peer_streams: Vec<PeerStream>,
    /// The observer has heard the end.
    concluded: bool,
}

impl Conversation<'_> {
    fn run(&mut self) -> Result<(), ProtocolError> {
        loop {
            self.control.pump();
            while let Some(event) = self.control.machine.poll_event() {
                if self.handle(event)? {
                    return Ok(());
                }
            }
            if self.ticket.is_stopping() {
                self.control.machine.terminate();
                continue;
            }
            if self.control.machine.phase() == ServerPhase::Opening {
                self.take_arrivals();
                self.answer_repeated_hellos();
            }
            self.mind_the_trial();
            if self.control.machine.phase() == ServerPhase::Failed {
                continue;
            }
            if self.wait().is_err() {
                self.control.machine.refuse(ErrorCode::STREAM_CONNECT, 0);
            }
        }
    }

    /// Ends what the client should have ended: the sending a second after its time, so
    /// that nobody is flooded for longer than asked, and the test after a grace.
    fn mind_the_trial(&mut self) {
        let running = self.control.machine.phase() == ServerPhase::Running;
        let Some(trial) = self.trial.as_mut().filter(|_| running) else { return };
        let now = dataplane::now();
        if trial.tick(now) {
            self.observer.sampled(&trial.course());
        }
        if self.rate_watch.as_mut().is_some_and(|watch| watch.is_exceeded(now, trial.moved())) {
            return self.control.machine.refuse(ErrorCode::TOTAL_RATE, 0);
        }
        if trial.received_nothing_for(now) > self.options.receive_timeout {
            return self.control.machine.refuse(ErrorCode::NOTHING_RECEIVED, 0);
        }
        if trial.time_is_up_at().is_some_and(|end| now >= end.after(OVERTIME)) {
            trial.stop();
        }
        if trial.give_up_at().is_some_and(|limit| now >= limit) {
            self.control.machine.refuse(ErrorCode::TIME_IS_UP, 0);
        }
    }

    /// Does what the protocol asks for; whether the test is done.
    fn handle(&mut self, event: ServerEvent) -> Result<bool, ProtocolError> {
        match event {
            ServerEvent::Asked(parameters) => self.begin(*parameters),
            ServerEvent::Ended => self.end(),
            ServerEvent::Results(results) => self.answer(results),
            ServerEvent::Done => return Ok(true),
            ServerEvent::Failed(error) => return Err(error),
        }
        Ok(false)
    }

    fn begin(&mut self, mut parameters: Parameters) {
        if let Some(interval) = self.options.interval {
            let mut draft = PlanDraft::clone(&parameters.plan);
            draft.interval = interval;
            parameters.plan = draft.check().unwrap_or(parameters.plan);
        }
        if let Some(announcement) = &parameters.announcement {
            self.setting.peer_is_linerate = true;
            self.peer.software = format!("linerate {}", announcement.version);
        } else if !parameters.client_version.is_empty() {
            self.peer.software = format!("iperf3 {}", parameters.client_version);
        }
        self.observer.introduced(&Introduction {
            peer: &self.peer,
            cookie: &self.cookie,
            parameters: &parameters,
            segment: self.segment,
        });
        if let Some((code, errno)) = self.objection(&parameters) {
            self.parameters = Some(parameters);
            return self.control.machine.refuse(code, errno);
        }
        self.ticket.open(parameters.plan.transport, &parameters.plan.options);
        self.control.machine.accept(&parameters, dataplane::now());
        self.parameters = Some(parameters);
    }

    /// Why this client, or this test, is not served.
    fn objection(&mut self, parameters: &Parameters) -> Option<(ErrorCode, i32)> {
        if let Some(gate) = &self.options.gate
            && let Err(why) = gate.admit(parameters.wishes.token.as_ref())
        {
            self.log.refused(self.peer.address, &why);
            return Some((ErrorCode::AUTHENTICATION, 0));
        }
        if self.options.file.is_some() && parameters.plan.transport == Transport::Udp {
            return Some((ErrorCode::FILE_OVER_UDP, 0));
        }
        if let Some(cpu) = parameters.wishes.server_cpu {
            let cpu = usize::try_from(cpu).unwrap_or(usize::MAX);
            if linux::host::allowed_cpus().is_ok_and(|cpus| !cpus.contains(&cpu)) {
                return Some((ErrorCode::AFFINITY, EINVAL));
            }
            self.setting.pinned = vec![cpu];
        }
        self.options.limits.refusal(parameters).map(|code| (code, 0))
    }

    fn take_arrivals(&mut self) {
        self.ticket.wake().clear();
        while let Some(arrival) = self.ticket.arrival() {
            let Some(parameters) = &self.parameters else { return };
            let plan = &parameters.plan;
            let index = u32::try_from(self.opened.len()).unwrap_or(u32::MAX);
            let socket = match arrival {
                Arrival::Tcp(socket) => accepted(socket, &plan.options, self.options.send_timeout),
                Arrival::Udp(socket) => Ok(StreamSocket::udp(socket)),
            };
            let Ok(socket) = socket else {
                return self.control.machine.refuse(ErrorCode::STREAM_CONNECT, 0);
            };
            // Clause 7.5: the client's sending streams come first.
            let sender = index >= plan.sending_streams();
            self.opened.push(Opened { id: stream_id(index), sender, socket });
            let wanted = plan.sending_streams() + plan.receiving_streams();
            if index + 1 == wanted {
                return self.start();
            }
        }
    }

    fn start(&mut self) {
        self.ticket.close();
        let Some(parameters) = &self.parameters else { return };
        let opened = std::mem::take(&mut self.opened);
        match Trial::prepare(parameters, opened, self.setting.clone()) {
            Ok(trial) if self.options.exact_window && trial.clamped_window().is_some() => {
                self.control.machine.refuse(ErrorCode::WINDOW_NOT_SET, 0);
            }
            Ok(mut trial) => {
                self.ticket.begin();
                self.log.began(&self.peer, &parameters.plan);
                self.observer.opened(trial.streams());
                self.observer.started(&self.peer, &parameters.plan);
                self.control.machine.streams_open(dataplane::now());
                self.control.pump();
                trial.start();
                self.trial = Some(trial);
            }
            Err(error) => {
                let errno = match &error {
                    SessionError::System { error, .. } => error.raw_os_error().unwrap_or(0),
                    _ => 0,
                };
                self.control.machine.refuse(ErrorCode::STREAM_CONNECT, errno);
            }
        }
    }

    /// A client whose reply was lost says hello again, now to the stream's own socket.
    fn answer_repeated_hellos(&self) {
        for one in &self.opened {
            let StreamSocket::Udp { socket } = &one.socket else { continue };
            let mut datagram = [0; 8];
            for _ in 0..MOST_AT_ONCE {
                let Ok(length) = socket.recv(&mut datagram) else { break };
                if let Some(hello) = Hello::recognise(&datagram[..length]) {
                    // If this reply is lost too, the client asks again.
                    _ = socket.send(&hello.reply());
                }
            }
        }
    }

    fn wait(&mut self) -> std::io::Result<()> {
        let mut others = vec![self.ticket.wake().as_fd()];
        others.extend(self.opened.iter().filter_map(|one| match &one.socket {
            StreamSocket::Udp { socket } => Some(socket.as_fd()),
            StreamSocket::Tcp { .. } => None,
        }));
        let running = self.control.machine.phase() == ServerPhase::Running;
        let until = self.trial.as_ref().filter(|_| running).and_then(|trial| {
            let overtime = trial.time_is_up_at().map(|end| end.after(OVERTIME));
            let overtime = overtime.filter(|_| trial.stopped_at().is_none());
            let rate = self.rate_watch.as_ref().and_then(RateWatch::next_look);
            let received = trial.received_last().map(|at| at.after(self.options.receive_timeout));
            [trial.next_tick(), overtime, trial.give_up_at(), rate, received]
                .into_iter()
                .flatten()
                .min()
        });
        self.control.wait(&others, until)
    }

    fn end(&mut self) {
        let Some(trial) = &mut self.trial else { return };
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
        let wished = self.parameters.as_ref().is_some_and(|p| p.wishes.server_output);
        own.server_output = output.filter(|_| wished);
        self.concluded = true;
        self.peer_streams = results.streams.into_iter().map(PeerStream::from).collect();
        self.control.machine.send_results(&own, dataplane::now());
    }

    fn failed(&mut self, error: ProtocolError) -> Ending {
        let text = error.to_string();
        self.observer.failed(&SessionError::Protocol { peer: self.peer.address, error });
        Ending::Failed { error: text }
    }

    /// Gives up the place before the connection closes: the client may come back at
    /// once when it sees that.
    fn close(mut self, ending: Ending) {
        let (mut outcome, mut streams) = (Vec::new(), Vec::new());
        if let Some(mut trial) = self.trial.take() {
            trial.finish(None);
            if !self.concluded {
                // Nobody waits for what it says of a test that broke off.
                _ = self.observer.concluded(&trial.course());
            }
            let measured = trial.close();
            outcome = directions(&measured, &self.peer_streams, Side::Server);
            streams = measured.records;
        }
        self.opened.clear();
        self.observer.ended(&ending);
        self.log.ended(&Served {
            peer: self.peer,
            plan: self.parameters.map(|parameters| parameters.plan),
            ending,
            streams,
            directions: outcome,
        });
        drop(self.ticket);
        self.control.finish(GOODBYE);
    }
}

/// An accepted stream with the options that the client asked for. Its MSS is the
/// client's business: that clamps both directions (tcp(7)).
fn accepted(
    socket: TcpStream,
    options: &StreamOptions,
    send_timeout: Option<Duration>,
) -> std::io::Result<StreamSocket> {
    socket.set_nonblocking(true)?;
    let mut wanted = TcpOptions { send_timeout, ..tcp_options(options) };
    if let Err(error) = linux::tcp::configure(&socket, &wanted) {
        // Clause 6.4: a congestion control that is not there is no reason to fail.
        if error.kind() != ErrorKind::NotFound {
            return Err(error);
        }
        wanted.congestion = None;
        linux::tcp::configure(&socket, &wanted)?;
    }
    Ok(StreamSocket::tcp(socket, 0))
}

/// `asm-generic/errno-base.h`.
const EINVAL: i32 = 22;
/// Datagrams of one stream that are looked at before it is other work's turn.
const MOST_AT_ONCE: usize = 64;
/// How long after its time the client may end the test before the sending stops.
const OVERTIME: Duration = Duration::from_secs(1);
/// How long the client may take to close after the last word.
const GOODBYE: Duration = Duration::from_secs(2);
