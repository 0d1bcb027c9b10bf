//! How the streams of a test come, until they are all there.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Duration;

use linux::tcp::TcpOptions;
use measurement::{StreamOptions, Timestamp};
use protocol::iperf3::{ErrorCode, Hello, ServerPhase, stream_id};

use super::Conversation;
use super::setup_deadline::{QUEUED_PATIENCE, Way};
use crate::error::SessionError;
use crate::opening::tcp_options;
use crate::server::registry::{Arrival, ArrivalSocket};
use crate::server::shortage;
use crate::sockets::{Opened, StreamSocket};
use crate::trial::Trial;

impl Conversation<'_> {
    /// Takes the streams that came; a client that brings too few in time has failed.
    pub(super) fn receive_streams(&mut self) {
        self.take_arrivals();
        self.answer_repeated_hellos();
        if self.trial.is_none() && dataplane::now() >= self.opening_limit() {
            self.control.machine.refuse(ErrorCode::STREAM_CONNECT, ETIMEDOUT);
        }
    }

    /// When more streams must have come.
    pub(super) fn opening_limit(&self) -> Timestamp {
        let of_lock_waiters = self.ticket.patience_of_others();
        let of_the_queue = self.ticket.is_queued_for().then_some(QUEUED_PATIENCE);
        self.gathering.limit(Way {
            transport: self.parameters.plan.transport,
            rtt: self.setting.rtt,
            others: [of_lock_waiters, of_the_queue].into_iter().flatten().min(),
        })
    }

    fn take_arrivals(&mut self) {
        while let Some(arrival) = self.ticket.arrival() {
            let plan = &self.parameters.plan;
            let Arrival { index, socket } = arrival;
            let next = u32::try_from(self.opened.len()).unwrap_or(u32::MAX);
            let index = index.unwrap_or(next);
            let send_timeout = self.server.options.send_timeout;
            let socket = match socket {
                ArrivalSocket::Tcp(socket) => accepted(socket, &plan.options, send_timeout),
                ArrivalSocket::Udp(socket) => Ok(StreamSocket::udp(socket)),
            };
            let Ok(socket) = socket else {
                return self.control.machine.refuse(ErrorCode::STREAM_CONNECT, 0);
            };
            // Clause 7.5: the client's sending streams come first.
            let sender = index >= plan.sending_streams();
            if let StreamSocket::Udp { socket } = &socket
                && sender
                && plan.options.window.is_none()
            {
                // Nobody reads what a client sends there, and it must not fill the memory.
                _ = linux::udp::minimize_receive_buffer(socket);
            }
            let wanted = plan.streams_in_all();
            self.opened.push(Opened { id: stream_id(index), sender, socket });
            if next + 1 == wanted {
                return self.start();
            }
            self.gathering.watch_last(&self.opened);
            let now = dataplane::now();
            self.gathering.came(next + 1, now);
            self.control.machine.stream_came(now);
        }
        self.gathering.tell(self.opened.len(), &mut self.control.machine);
    }

    fn start(&mut self) {
        self.ticket.close();
        self.gathering.finish();
        let mut opened = std::mem::take(&mut self.opened);
        // Those that tell their numbers come in any order.
        opened.sort_by_key(|one| one.id);
        let (control, ticket) = (&mut self.control, &self.ticket);
        let mut is_wanted = || {
            control.pump();
            control.machine.phase() == ServerPhase::Opening && !ticket.is_stopping()
        };
        match Trial::prepare(&self.parameters, opened, self.setting.clone(), &mut is_wanted) {
            Ok(trial) if self.server.options.exact_window && trial.clamped_window().is_some() => {
                self.control.machine.refuse(ErrorCode::WINDOW_NOT_SET, 0);
            }
            Ok(mut trial) => {
                let plan = &self.parameters.plan;
                self.ticket.begin();
                self.log.began(&self.peer, plan);
                self.observer.opened(trial.streams());
                self.observer.started(&self.peer, plan);
                self.control.machine.streams_open(dataplane::now());
                self.control.pump();
                // A probe takes nothing away from anybody.
                if !plan.exchange.is_some_and(|exchange| exchange.is_probe()) {
                    let client = self.peer.address.ip();
                    self.presence = Some(self.server.concurrent.enter(client, trial.counters()));
                }
                trial.start();
                self.trial = Some(trial);
            }
            Err(error) => self.cannot_start(&error),
        }
    }

    fn cannot_start(&mut self, error: &SessionError) {
        let errno = match error {
            // The next look at the server, or at the client, tells why.
            SessionError::Interrupted => return,
            SessionError::System { error, .. } => error.raw_os_error().unwrap_or(0),
            _ => 0,
        };
        match shortage::of_system(error) {
            Some(excess) => {
                self.control.machine.refuse_because(excess.code, &excess.words);
                self.refusal = Some((excess.why, excess.words));
            }
            None => self.control.machine.refuse(ErrorCode::STREAM_CONNECT, errno),
        }
    }

    /// A client whose reply was lost says hello again, now to the stream's own socket.
    fn answer_repeated_hellos(&self) {
        for index in self.gathering.heard() {
            let one = self.opened.get(index).map(|one| &one.socket);
            let Some(StreamSocket::Udp { socket }) = one else { continue };
            let mut datagram = [0; Hello::LONGEST + 1];
            for _ in 0..MOST_AT_ONCE {
                let Ok(length) = socket.recv(&mut datagram) else { break };
                if let Some(hello) = Hello::recognise(&datagram[..length]) {
                    // If this reply is lost too, the client asks again.
                    _ = socket.send(&hello.reply());
                }
            }
        }
    }
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
        // up root's powers, is no reason to fail. The client is told which one is in effect.
        if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) {
            return Err(error);
        }
        wanted.congestion = None;
        linux::tcp::configure(&socket, &wanted)?;
    }
    Ok(StreamSocket::tcp(socket, 0))
}

/// Datagrams of one stream that are looked at before it is other work's turn.
const MOST_AT_ONCE: usize = 64;
/// `asm-generic/errno.h`.
const ETIMEDOUT: i32 = 110;
