//! A connection that has not yet said what it wants: the socket around the machines that read
//! its first bytes.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use measurement::Timestamp;
use protocol::iperf3::{
    Cookie, ErrorCode, Greeting, GreetingEvent, Parameters, ProtocolError, Server, ServerEvent,
    ServerPhase, State,
};

use protocol::keyed::{KeyedHost, Seal};
use protocol::tuning::SharedKey;

use crate::clock::Clock;
use crate::control::Control;
use crate::server::test_id::TestId;

/// Collects the cookie (clause 3.1) and then the parameters, and never waits.
pub(super) struct PendingConnection {
    pub(super) from: SocketAddr,
    /// The test whose extra port it came to; none: it came to the server's own.
    pub(super) extra_port: Option<TestId>,
    stage: Stage,
}

enum Stage {
    /// The first bytes of the connection are not complete.
    Greeting { socket: TcpStream, greeting: Greeting },
    /// The client is to prove that it has the key, and then to send the cookie.
    Proving { socket: TcpStream, machine: Box<KeyedHost>, until: Timestamp },
    /// The server requested the parameters.
    Asking { control: Box<Control<Server>>, cookie: Cookie },
    /// The server sent its answer; the client is given a short time to read it.
    Leaving { control: Box<Control<Server>>, until: Timestamp },
}

/// A connection whose cookie is complete; not one byte more was read.
pub(super) struct Named {
    pub(super) socket: TcpStream,
    pub(super) cookie: Cookie,
    pub(super) greeting: Greeting,
}

/// How far a pending connection came.
pub(super) enum Progress {
    /// Further messages are expected.
    Waiting(PendingConnection),
    /// The cookie is complete.
    Named(Named),
    /// The connection is a numbered stream.
    Numbered { socket: TcpStream, cookie: Cookie, index: u32 },
    /// Both ends have proved the key, and the cookie came.
    Keyed { socket: TcpStream, cookie: Cookie, seal: Box<Seal> },
    /// The client does not prove the key.
    Unproved { socket: TcpStream },
    /// The client sent its parameters.
    Asks { control: Box<Control<Server>>, cookie: Cookie, parameters: Box<Parameters> },
    /// The client sent a cookie, and then an invalid message, or none in time.
    Failed { control: Box<Control<Server>>, error: ProtocolError },
    /// The client closed the connection before a complete message.
    Gone,
    /// The cookie was not complete in time.
    Silent,
}

impl Named {
    /// A stream that is to send its number.
    pub(super) fn numbered(mut self, from: SocketAddr, now: Timestamp) -> PendingConnection {
        self.greeting.await_number(now);
        let stage = Stage::Greeting { socket: self.socket, greeting: self.greeting };
        PendingConnection { from, extra_port: None, stage }
    }

    /// A client that is to prove that it has the `key`; none: there is no randomness.
    pub(super) fn proving(
        self,
        from: SocketAddr,
        key: &SharedKey,
        now: Timestamp,
    ) -> Option<PendingConnection> {
        let nonce = linux::entropy::random().ok()?;
        let machine = Box::new(KeyedHost::new(key, nonce));
        let stage = Stage::Proving { socket: self.socket, machine, until: now.after(PROOF) };
        Some(PendingConnection { from, extra_port: None, stage })
    }

    /// A new client, which is asked for its parameters.
    pub(super) fn asked(
        self,
        from: SocketAddr,
        clock: Arc<dyn Clock>,
    ) -> Option<PendingConnection> {
        let Self { socket, cookie, greeting } = self;
        let server = greeting.into_server(clock.now())?;
        let control = Control::new(socket, server, clock);
        Some(PendingConnection::asking(from, control, cookie))
    }
}

impl PendingConnection {
    /// One that was accepted `now`.
    pub(super) fn new(socket: TcpStream, from: SocketAddr, now: Timestamp) -> Self {
        let stage = Stage::Greeting { socket, greeting: Greeting::new(now) };
        Self { from, extra_port: None, stage }
    }

    /// One that came to an extra port of `test`.
    pub(super) fn through(self, test: TestId) -> Self {
        Self { extra_port: Some(test), ..self }
    }

    /// One that has its answer. Closed at once it might never see it: a close with unread
    /// data is a reset (RFC 9293, section 3.6.1).
    pub(super) fn leaving(
        mut control: Box<Control<Server>>,
        from: SocketAddr,
        now: Timestamp,
    ) -> Self {
        control.end_sending();
        let stage = Stage::Leaving { control, until: now.after(GOODBYE) };
        Self { from, extra_port: None, stage }
    }

    /// The same connection with the answer that its address is not admitted (clause 13.22). None: it
    /// has said something already.
    pub(super) fn denied(self, clock: Arc<dyn Clock>) -> Option<Self> {
        let Stage::Greeting { socket, .. } = self.stage else { return None };
        Some(Self::refused(socket, self.from, ErrorCode::EACCES, clock))
    }

    /// A client that may not use this server, with the answer that says so by `errno`.
    pub(super) fn refused(
        socket: TcpStream,
        from: SocketAddr,
        errno: i32,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let now = clock.now();
        let mut control = Box::new(Control::new(socket, Server::new(now), clock));
        control.machine.refuse(ErrorCode::AUTHENTICATION, errno);
        Self::leaving(control, from, now)
    }

    /// A client that has the key and whose cookie came, which is asked for its parameters.
    pub(super) fn keyed(
        (socket, cookie, seal): (TcpStream, Cookie, Seal),
        from: SocketAddr,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let server = Server::new(clock.now());
        Self::asking(from, Control::new(socket, server, clock).sealed(Some(seal)), cookie)
    }

    /// A client that was to be asked for its parameters, with the answer that the server is busy.
    pub(super) fn busy(self, now: Timestamp) -> Option<Self> {
        let Stage::Asking { mut control, .. } = self.stage else { return None };
        control.machine.deny();
        Some(Self::leaving(control, self.from, now))
    }

    fn asking(from: SocketAddr, control: Control<Server>, cookie: Cookie) -> Self {
        let stage = Stage::Asking { control: Box::new(control), cookie };
        Self { from, extra_port: None, stage }
    }

    /// Whether it has its answer, and is owed nothing more.
    pub(super) const fn is_leaving(&self) -> bool {
        matches!(self.stage, Stage::Leaving { .. })
    }

    /// When [`Self::progress`] is due although nothing came.
    pub(super) fn deadline(&self) -> Timestamp {
        match &self.stage {
            Stage::Greeting { greeting, .. } => greeting.deadline(),
            Stage::Leaving { until, .. } | Stage::Proving { until, .. } => *until,
            // The machine limits this phase.
            Stage::Asking { control, .. } => control.machine.deadline().unwrap_or_default(),
        }
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.stage {
            Stage::Greeting { socket, .. } | Stage::Proving { socket, .. } => socket.as_fd(),
            Stage::Asking { control, .. } | Stage::Leaving { control, .. } => control.as_fd(),
        }
    }

    /// Takes it as far as what came allows.
    pub(super) fn progress(self, now: Timestamp) -> Progress {
        let Self { from, extra_port, stage } = self;
        let waiting = |stage| Progress::Waiting(Self { from, extra_port, stage });
        match stage {
            Stage::Greeting { socket, mut greeting } => match read(&socket, &mut greeting) {
                Ok(Some(GreetingEvent::Named(cookie))) => {
                    Progress::Named(Named { socket, cookie, greeting })
                }
                Ok(Some(GreetingEvent::Numbered { cookie, index })) => {
                    Progress::Numbered { socket, cookie, index }
                }
                Ok(None) if greeting.is_overdue(now) => Progress::Silent,
                Ok(None) => waiting(Stage::Greeting { socket, greeting }),
                Err(Closed) => {
                    say_that_it_is_no_cookie(&socket);
                    Progress::Gone
                }
            },
            Stage::Proving { socket, mut machine, until } => match prove(&socket, &mut machine) {
                Ok(Some((cookie, seal))) => {
                    Progress::Keyed { socket, cookie, seal: Box::new(seal) }
                }
                Ok(None) if now >= until => Progress::Silent,
                Ok(None) => waiting(Stage::Proving { socket, machine, until }),
                Err(Closed) => Progress::Unproved { socket },
            },
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

/// The connection ended before its first bytes were complete.
struct Closed;

/// Reads what there is of the first bytes; not one byte more.
fn read(mut socket: &TcpStream, greeting: &mut Greeting) -> Result<Option<GreetingEvent>, Closed> {
    let mut buffer = [0; Cookie::LENGTH];
    while greeting.room() > 0 {
        let room = greeting.room().min(buffer.len());
        match socket.read(&mut buffer[..room]) {
            Ok(0) => return Err(Closed),
            Ok(length) => {
                if let Some(event) = greeting.handle_bytes(&buffer[..length]) {
                    return Ok(Some(event));
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(_) => return Err(Closed),
        }
    }
    Ok(None)
}

/// Moves what there is of the proof of the key and the cookie, and not one byte more.
fn prove(
    mut socket: &TcpStream,
    machine: &mut KeyedHost,
) -> Result<Option<(Cookie, Seal)>, Closed> {
    let mut buffer = [0; 128];
    loop {
        // An idle connection has room for a hundred bytes.
        socket.write_all(&machine.take_output()).map_err(|_| Closed)?;
        let room = machine.room().min(buffer.len());
        match socket.read(&mut buffer[..room]) {
            Ok(0) => return Err(Closed),
            Ok(length) => {
                if let Some(keyed) = machine.receive(&buffer[..length]).map_err(|_| Closed)? {
                    return Ok(Some(keyed));
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(_) => return Err(Closed),
        }
    }
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

/// Tells a client that has ended its sending before the cookie was complete (clause 11.3).
fn say_that_it_is_no_cookie(mut socket: &TcpStream) {
    let code = ErrorCode::COOKIE.0.to_be_bytes();
    let words = [&[State::ServerError.byte()], &code[..], &[0; 4]].concat();
    // As below.
    _ = socket.write(&words);
}

/// For the proof of the key and the cookie.
const PROOF: Duration = Duration::from_secs(5);
/// How long a client may take to read its answer and close.
const GOODBYE: Duration = Duration::from_secs(2);
