//! A connection that has not yet said what it wants.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use measurement::Timestamp;
use protocol::iperf3::{
    Cookie, Parameters, ProtocolError, Server, ServerEvent, ServerPhase, State,
};

use super::registry::TestId;
use crate::control::Control;

/// Collects the cookie (clause 3.1) and then the parameters, and never waits.
pub(super) struct PendingConnection {
    pub(super) from: SocketAddr,
    /// The test whose extra port it came to; none: it came to the server's own.
    pub(super) extra_port: Option<TestId>,
    stage: Stage,
}

enum Stage {
    /// The cookie is not complete.
    Greeting { socket: TcpStream, cookie: [u8; Cookie::LENGTH], filled: usize, until: Timestamp },
    /// It is a stream, and its number is not complete (clause 13.12).
    Numbering {
        socket: TcpStream,
        cookie: Cookie,
        index: [u8; Cookie::INDEX_LENGTH],
        filled: usize,
        until: Timestamp,
    },
    /// It is asked for its parameters.
    Asking { control: Box<Control<Server>>, cookie: Cookie },
    /// It has its answer, and is given a moment to read it.
    Leaving { control: Box<Control<Server>>, until: Timestamp },
}

/// What came of it.
pub(super) enum Progress {
    /// It has more to say.
    Waiting(PendingConnection),
    /// The cookie is complete; not one byte more was read.
    Greeted { socket: TcpStream, cookie: Cookie },
    /// It is a stream with a number.
    Numbered { socket: TcpStream, cookie: Cookie, index: u32 },
    /// It wants a test.
    Asks { control: Box<Control<Server>>, cookie: Cookie, parameters: Box<Parameters> },
    /// It bore a cookie, and then what it said made no sense, or nothing came.
    Failed { control: Box<Control<Server>>, error: ProtocolError },
    /// It closed before it had said anything that matters.
    Gone,
    /// It took too long for its cookie.
    Silent,
}

impl PendingConnection {
    pub(super) fn new(socket: TcpStream, from: SocketAddr) -> Self {
        let until = dataplane::now().after(COOKIE_LIMIT);
        let stage = Stage::Greeting { socket, cookie: [0; Cookie::LENGTH], filled: 0, until };
        Self { from, extra_port: None, stage }
    }

    /// One that came to a extra port of the test that `extra port` names.
    pub(super) fn through(self, extra_port: TestId) -> Self {
        Self { extra_port: Some(extra_port), ..self }
    }

    /// A stream that is to tell its number.
    pub(super) fn counted(socket: TcpStream, from: SocketAddr, cookie: Cookie) -> Self {
        let until = dataplane::now().after(COOKIE_LIMIT);
        let index = [0; Cookie::INDEX_LENGTH];
        let stage = Stage::Numbering { socket, cookie, index, filled: 0, until };
        Self { from, extra_port: None, stage }
    }

    /// One that is asked for its parameters.
    pub(super) fn asked(socket: TcpStream, from: SocketAddr, cookie: Cookie) -> Self {
        let control = Box::new(Control::new(socket, Server::new(dataplane::now())));
        Self { from, extra_port: None, stage: Stage::Asking { control, cookie } }
    }

    /// One that has its answer. Closed at once it might never see it: a close with unread
    /// data is a reset (RFC 9293, section 3.6.1).
    pub(super) fn leaving(mut control: Box<Control<Server>>, from: SocketAddr) -> Self {
        control.end_sending();
        let until = dataplane::now().after(GOODBYE);
        Self { from, extra_port: None, stage: Stage::Leaving { control, until } }
    }

    /// Whether it has its answer, and is owed nothing more.
    pub(super) const fn is_leaving(&self) -> bool {
        matches!(self.stage, Stage::Leaving { .. })
    }

    /// When [`Self::progress`] is due although nothing came.
    pub(super) fn deadline(&self) -> Timestamp {
        match &self.stage {
            Stage::Greeting { until, .. }
            | Stage::Numbering { until, .. }
            | Stage::Leaving { until, .. } => *until,
            // The machine limits this phase.
            Stage::Asking { control, .. } => control.machine.deadline().unwrap_or_default(),
        }
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.stage {
            Stage::Greeting { socket, .. } | Stage::Numbering { socket, .. } => socket.as_fd(),
            Stage::Asking { control, .. } | Stage::Leaving { control, .. } => control.as_fd(),
        }
    }

    pub(super) fn progress(self, now: Timestamp) -> Progress {
        let Self { from, extra_port, stage } = self;
        let waiting = |stage| Progress::Waiting(Self { from, extra_port, stage });
        match stage {
            Stage::Greeting { socket, mut cookie, mut filled, until } => {
                match fill(&socket, &mut cookie, &mut filled) {
                    Filled::Whole => {
                        Progress::Greeted { socket, cookie: Cookie::from_wire(cookie) }
                    }
                    Filled::Closed => Progress::Gone,
                    Filled::Partly if now >= until => Progress::Silent,
                    Filled::Partly => waiting(Stage::Greeting { socket, cookie, filled, until }),
                }
            }
            Stage::Numbering { socket, cookie, mut index, mut filled, until } => {
                match fill(&socket, &mut index, &mut filled) {
                    Filled::Whole => {
                        Progress::Numbered { socket, cookie, index: u32::from_be_bytes(index) }
                    }
                    Filled::Closed => Progress::Gone,
                    Filled::Partly if now >= until => Progress::Silent,
                    Filled::Partly => {
                        waiting(Stage::Numbering { socket, cookie, index, filled, until })
                    }
                }
            }
            Stage::Asking { control, cookie } => ask(from, control, cookie),
            Stage::Leaving { mut control, until } => {
                control.pump();
                if control.is_open() && now < until {
                    waiting(Stage::Leaving { control, until })
                } else {
                    Progress::Gone
                }
            }
        }
    }
}

/// How far a field of fixed length is there.
enum Filled {
    Whole,
    Partly,
    Closed,
}

/// Reads what there is of a field; not one byte more.
fn fill(mut socket: &TcpStream, field: &mut [u8], filled: &mut usize) -> Filled {
    while *filled < field.len() {
        match socket.read(&mut field[*filled..]) {
            Ok(0) => return Filled::Closed,
            Ok(read) => *filled += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Filled::Partly,
            Err(_) => return Filled::Closed,
        }
    }
    Filled::Whole
}

fn ask(from: SocketAddr, mut control: Box<Control<Server>>, cookie: Cookie) -> Progress {
    // It is watched for what comes anew only; what is wrong or too long ends this.
    while control.pump() && control.machine.phase() == ServerPhase::Asking {}
    match control.machine.poll_event() {
        None => {
            let stage = Stage::Asking { control, cookie };
            Progress::Waiting(PendingConnection { from, extra_port: None, stage })
        }
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
