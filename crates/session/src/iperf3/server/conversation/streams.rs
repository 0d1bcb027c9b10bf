//! Second stage: the streams of a test come, until they are all there.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Duration;

use linux::tcp::TcpOptions;
use measurement::{Order, StreamOptions, Timestamp};
use protocol::iperf3::{ErrorCode, Parameters, ServerPhase, stream_id};

use super::setup::StreamSetup;
use super::{Conversation, Stage};
use crate::error::SessionError;
use crate::iperf3::server::request_cost::{error_code, need, run_spec};
use crate::server::limits::Excess;
use crate::server::minded::MindedTrial;
use crate::server::pace::Pace;
use crate::server::registry::{Arrival, ArrivalSocket};
use crate::server::setup_deadline::{Conditions, QUEUED_PATIENCE};
use crate::server::shortage;
use crate::socket_options::tcp_options;
use crate::sockets::{Opened, StreamSocket};
use crate::trial::Trial;

impl Conversation<'_> {
    /// Takes the streams that came; a client that brings too few in time has failed.
    pub(super) fn receive_streams(&mut self) {
        if !self.take_arrivals() {
            return;
        }
        let Stage::Opening(setup) = &self.stage else { return };
        setup.answer_repeated_hellos();
        if self.server.clock.now() >= self.opening_limit(setup) {
            self.control.machine.refuse(ErrorCode::STREAM_CONNECT, ETIMEDOUT);
        }
    }

    /// While its streams come as they must if others wait, the test keeps its place.
    pub(super) fn tell_until_when_it_may_open(&self) {
        let Stage::Opening(setup) = &self.stage else { return };
        let limit = setup.gathering.limit(self.conditions(Some(QUEUED_PATIENCE)));
        self.ticket.stay().be_busy_until(limit);
    }

    /// When more streams must have come.
    pub(super) fn opening_limit(&self, setup: &StreamSetup) -> Timestamp {
        let of_lock_waiters = self.ticket.patience_of_others();
        let of_the_queue = self.ticket.is_queued_for().then_some(QUEUED_PATIENCE);
        let others = [of_lock_waiters, of_the_queue].into_iter().flatten().min();
        setup.gathering.limit(self.conditions(others))
    }

    fn conditions(&self, others: Option<Duration>) -> Conditions {
        let transport = self.parameters.plan.transport;
        Conditions { transport, rtt: self.setting.rtt, others }
    }

    /// Takes the streams that came; whether more are to come.
    fn take_arrivals(&mut self) -> bool {
        while let Some(arrival) = self.ticket.arrival() {
            let Stage::Opening(setup) = &mut self.stage else { return false };
            let wanted = self.parameters.plan.streams_in_all();
            let next = u32::try_from(setup.opened.len()).unwrap_or(u32::MAX);
            let send_timeout = self.server.options.send_timeout;
            let Ok(opened) = taken(arrival, next, &self.parameters, send_timeout) else {
                self.control.machine.refuse(ErrorCode::STREAM_CONNECT, 0);
                return false;
            };
            setup.opened.push(opened);
            if next + 1 == wanted {
                self.start();
                return false;
            }
            setup.gathering.watch_last(&setup.opened);
            let now = self.server.clock.now();
            setup.gathering.came(next + 1, now);
            self.control.machine.stream_accepted(now);
        }
        self.tell_until_when_it_may_open();
        if let Stage::Opening(setup) = &mut self.stage {
            setup.gathering.report(setup.opened.len(), &mut self.control.machine);
        }
        true
    }

    /// All streams are there: puts them under workers, and lets the test run.
    fn start(&mut self) {
        self.ticket.close();
        let Stage::Opening(setup) = &mut self.stage else { return };
        setup.gathering.finish();
        let mut opened = std::mem::take(&mut setup.opened);
        // Those that send their numbers come in any order.
        opened.order_by_key(|one| one.id);
        if let Err(why) = self.ticket.grow(need(&self.parameters).workers) {
            return self.refuse_for(Excess::left(why));
        }
        let (control, ticket) = (&mut self.control, &self.ticket);
        let mut is_wanted = || {
            control.pump();
            let is_opening = control.machine.phase() == ServerPhase::Opening;
            is_opening && !ticket.is_stopping() && ticket.verdict().is_none()
        };
        let spec = run_spec(&self.parameters);
        match Trial::prepare(spec, opened, self.setting.clone(), &mut is_wanted) {
            Ok(trial) if self.server.options.exact_window && trial.clamped_window().is_some() => {
                self.control.machine.refuse(ErrorCode::WINDOW_NOT_SET, 0);
            }
            Ok(trial) => self.run_trial(trial),
            Err(error) => self.cannot_start(&error),
        }
    }

    fn run_trial(&mut self, mut trial: Trial) {
        let (plan, clock) = (&self.parameters.plan, &*self.server.clock);
        self.ticket.begin();
        self.log.began(&self.peer, plan);
        self.observer.opened(trial.streams());
        self.observer.started(&self.peer, plan);
        self.control.machine.streams_open(clock.now());
        self.control.pump();
        // A probe takes nothing away from other tests.
        let is_probe = plan.exchange.is_some_and(|exchange| exchange.is_probe());
        let client = self.peer.address.ip();
        let presence = (!is_probe).then(|| self.server.concurrent.enter(client, trial.counters()));
        trial.start(clock);
        if let Some(status) = &self.status {
            status.runs(clock.now(), trial.time_is_up_at(), trial.counters());
        }
        let options = &self.server.options;
        let has_exchange = run_spec(&self.parameters).plan.exchange.is_some();
        let pace = Pace::new(self.server.yielding.below, has_exchange, clock.now());
        let limits = (options, &self.watched_limits());
        let minded = Box::new(MindedTrial::new(
            trial,
            presence,
            limits,
            (&run_spec(&self.parameters), pace),
        ));
        self.stage = Stage::Running(minded.into());
    }

    fn cannot_start(&mut self, error: &SessionError) {
        let errno = match error {
            // The next look at the server, or at the client, shows why.
            SessionError::Interrupted => return,
            SessionError::System { error, .. } => error.raw_os_error().unwrap_or(0),
            _ => 0,
        };
        match shortage::of_system(error) {
            Some(excess) => {
                self.control.machine.refuse_because(error_code(excess.why), &excess.words);
                self.refusal = Some((excess.why, excess.words));
            }
            None => self.control.machine.refuse(ErrorCode::STREAM_CONNECT, errno),
        }
    }
}

/// A stream that arrived as the one after `next` others, with its settings.
fn taken(
    arrival: Arrival,
    next: u32,
    parameters: &Parameters,
    send_timeout: Option<Duration>,
) -> std::io::Result<Opened> {
    let plan = &parameters.plan;
    let index = arrival.index.unwrap_or(next);
    let socket = match arrival.socket {
        ArrivalSocket::Tcp(socket) => accepted(socket, &plan.options, send_timeout)?,
        ArrivalSocket::Udp(socket) => StreamSocket::udp(socket),
    };
    // Clause 7.5: the client's sending streams come first.
    let sender = index >= plan.sending_streams();
    if let StreamSocket::Udp { socket } = &socket
        && sender
        && plan.options.window.is_none()
    {
        // Nothing reads what a client sends there, and it must not fill the memory.
        _ = linux::udp::minimize_receive_buffer(socket);
    }
    Ok(Opened { id: stream_id(index), sender, socket })
}

/// An accepted stream with the options that the client asked for. Its MSS is the
/// client's business: that clamps both directions (tcp(7)).
fn accepted(
    socket: TcpStream,
    options: &StreamOptions,
    send_timeout: Option<Duration>,
) -> std::io::Result<StreamSocket> {
    let mut wanted = TcpOptions { send_timeout, ..tcp_options(options) };
    if let Err(error) = linux::tcp::configure(&socket, &wanted) {
        // Clause 6.4: a congestion control that is not there, or not for a server that gave
        // up root's powers, is no reason to fail. The client hears which one is in effect.
        if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) {
            return Err(error);
        }
        wanted.congestion = None;
        linux::tcp::configure(&socket, &wanted)?;
    }
    Ok(StreamSocket::tcp(socket, 0))
}

/// `asm-generic/errno.h`.
const ETIMEDOUT: i32 = 110;
