//! A connection that has not yet said what it wants.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use measurement::Timestamp;
use protocol::iperf3::{
    Cookie, Parameters, ProtocolError, Server, ServerEvent, ServerPhase, State,
};

use crate::control::Control;

/// Collects the cookie (clause 3.1) and then the parameters, and never waits.
pub(super) struct Newcomer {
    pub(super) from: SocketAddr,
    stage: Stage,
}

enum Stage {
    /// The cookie is not complete.
    Greeting { socket: TcpStream, cookie: [u8; Cookie::LENGTH], filled: usize, until: Timestamp },
    /// It is asked for its parameters.
    Asking { control: Box<Control<Server>>, cookie: Cookie },
    /// It has its answer, and is given a moment to read it.
    Leaving { control: Box<Control<Server>>, until: Timestamp },
}

/// What came of it.
pub(super) enum Progress {
    /// It has more to say.
    Waiting(Newcomer),
    /// The cookie is complete; not one byte more was read.
    Greeted { socket: TcpStream, cookie: Cookie },
    /// It wants a test.
    Asks { control: Box<Control<Server>>, cookie: Cookie, parameters: Box<Parameters> },
    /// It bore a cookie, and then what it said made no sense, or nothing came.
    Failed { control: Box<Control<Server>>, error: ProtocolError },
    /// It closed before it had said anything that matters.
    Gone,
    /// It took too long for its cookie.
    Silent,
}

impl Newcomer {
    pub(super) fn new(socket: TcpStream, from: SocketAddr) -> Self {
        let until = dataplane::now().after(COOKIE_LIMIT);
        let stage = Stage::Greeting { socket, cookie: [0; Cookie::LENGTH], filled: 0, until };
        Self { from, stage }
    }

    /// One that is asked for its parameters.
    pub(super) fn asked(socket: TcpStream, from: SocketAddr, cookie: Cookie) -> Self {
        let control = Box::new(Control::new(socket, Server::new(dataplane::now())));
        Self { from, stage: Stage::Asking { control, cookie } }
    }

    /// One that has its answer. Closed at once it might never see it: a close with unread
    /// data is a reset (RFC 9293, section 3.6.1).
    pub(super) fn leaving(mut control: Box<Control<Server>>, from: SocketAddr) -> Self {
        control.end_sending();
        let until = dataplane::now().after(GOODBYE);
        Self { from, stage: Stage::Leaving { control, until } }
    }

    /// Whether it has its answer, and is owed nothing more.
    pub(super) const fn is_leaving(&self) -> bool {
        matches!(self.stage, Stage::Leaving { .. })
    }

    /// When [`Self::progress`] is due although nothing came.
    pub(super) fn deadline(&self) -> Timestamp {
        match &self.stage {
            Stage::Greeting { until, .. } | Stage::Leaving { until, .. } => *until,
            // The machine limits this phase.
            Stage::Asking { control, .. } => control.machine.deadline().unwrap_or_default(),
        }
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.stage {
            Stage::Greeting { socket, .. } => socket.as_fd(),
            Stage::Asking { control, .. } | Stage::Leaving { control, .. } => control.as_fd(),
        }
    }

    pub(super) fn progress(self, now: Timestamp) -> Progress {
        let from = self.from;
        match self.stage {
            Stage::Greeting { socket, cookie, filled, until } => {
                greet(from, socket, cookie, filled, until, now)
            }
            Stage::Asking { control, cookie } => ask(from, control, cookie),
            Stage::Leaving { mut control, until } => {
                control.pump();
                if control.is_open() && now < until {
                    Progress::Waiting(Self { from, stage: Stage::Leaving { control, until } })
                } else {
                    Progress::Gone
                }
            }
        }
    }
}

fn greet(
    from: SocketAddr,
    socket: TcpStream,
    mut cookie: [u8; Cookie::LENGTH],
    mut filled: usize,
    until: Timestamp,
    now: Timestamp,
) -> Progress {
    loop {
        match (&socket).read(&mut cookie[filled..]) {
            Ok(0) => return Progress::Gone,
            Ok(read) => filled += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if now >= until {
                    return Progress::Silent;
                }
                let stage = Stage::Greeting { socket, cookie, filled, until };
                return Progress::Waiting(Newcomer { from, stage });
            }
            Err(_) => return Progress::Gone,
        }
        if filled == Cookie::LENGTH {
            return Progress::Greeted { socket, cookie: Cookie::from_wire(cookie) };
        }
    }
}

fn ask(from: SocketAddr, mut control: Box<Control<Server>>, cookie: Cookie) -> Progress {
    // It is watched for what comes anew only; what is wrong or too long ends this.
    while control.pump() && control.machine.phase() == ServerPhase::Asking {}
    match control.machine.poll_event() {
        None => Progress::Waiting(Newcomer { from, stage: Stage::Asking { control, cookie } }),
        Some(ServerEvent::Asked(parameters)) => Progress::Asks { control, cookie, parameters },
        Some(ServerEvent::Failed(error)) => Progress::Failed { control, error },
        // No other event comes before the parameters are answered.
        Some(ServerEvent::Ended | ServerEvent::Results(_) | ServerEvent::Done) => Progress::Gone,
    }
}

/// Tells a client that the server is busy (clause 2.5), or a stream that its cookie is
/// wrong (clause 3.5).
pub(super) fn send_away(socket: &TcpStream) {
    // One byte fits an empty buffer; a client that is gone needs no answer.
    _ = { socket }.write(&[State::AccessDenied.byte()]);
}

/// Half of what iperf3 itself waits (clause 2.8).
const COOKIE_LIMIT: Duration = Duration::from_secs(5);
const GOODBYE: Duration = Duration::from_secs(2);
