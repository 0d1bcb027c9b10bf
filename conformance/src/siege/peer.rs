//! One raw peer: a control connection, its streams, and where its script stands.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use linux::epoll::{Epoll, Events, Interest};
use socket2::{Domain, SockAddr, SockRef, Socket, Type};

use super::peers::End;
use super::random::Random;
use super::script::{ACCESS_DENIED, COOKIE_LENGTH, Claim, EXTENSION, SERVER_ERROR, Script, Step};
use crate::ask::Transport;

/// One look at a peer.
#[derive(Clone, Copy)]
pub(super) struct Turn<'a> {
    pub(super) watches: &'a Watches,
    /// What readiness of the peer's sockets is reported with.
    pub(super) token: u64,
    pub(super) now: Instant,
}

/// What the thread waits for. Each descriptor can be in both.
pub(super) struct Watches {
    pub(super) reading: Epoll,
    pub(super) writing: Epoll,
}

impl Watches {
    /// Waits for readiness no longer than `time`.
    pub(super) fn wait(
        &self,
        events: &mut Events,
        time: Duration,
        mut ready: impl FnMut(u64),
    ) -> std::io::Result<()> {
        // What becomes writable is a connection that has just been made: that can wait
        // for the tick.
        self.writing.wait(events, Some(Duration::ZERO), &mut ready)?;
        self.reading.wait(events, Some(time), &mut ready)
    }
}

/// A peer that follows its script.
pub(super) struct Peer {
    server: SocketAddr,
    script: Script,
    /// The step that it is at.
    at: usize,
    /// When a step that takes time began.
    since: Option<Instant>,
    gives_up_at: Option<Instant>,
    cookie: [u8; COOKIE_LENGTH],
    control: TcpStream,
    is_connected: bool,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    streams: Vec<Stream>,
    /// The stream that is being opened.
    opening: Option<Stream>,
}

/// A stream of a peer.
enum Stream {
    Tcp(TcpStream),
    Udp { socket: UdpSocket, sent: u32, asked_at: Instant },
}

/// Where a peer stands.
pub(super) enum Progress {
    /// It has something to do at that time, or when the server has said something.
    Waiting(Option<Instant>),
    Over(End),
}

impl Peer {
    /// Begins to connect.
    pub(super) fn connect(
        server: SocketAddr,
        script: Script,
        turn: Turn<'_>,
        random: &mut Random,
    ) -> std::io::Result<Self> {
        let control = begin_to_connect(server, script.from)?;
        turn.watches.reading.add(&control, Interest::Readable, turn.token)?;
        turn.watches.writing.add(&control, Interest::Writable, turn.token)?;
        let mut cookie = [0; COOKIE_LENGTH];
        for byte in &mut cookie[..COOKIE_LENGTH - 1] {
            *byte = *random.one_of(LETTERS);
        }
        Ok(Self {
            server,
            at: 0,
            since: None,
            gives_up_at: script.patience.map(|patience| turn.now + patience),
            script,
            cookie,
            control,
            is_connected: false,
            inbox: Vec::new(),
            outbox: Vec::new(),
            streams: Vec::new(),
            opening: None,
        })
    }

    /// Whether nothing comes after what it does now.
    pub(super) const fn is_at_its_last_step(&self) -> bool {
        self.at + 1 >= self.script.steps.len()
    }

    /// Plays on until it has to wait.
    pub(super) fn advance(&mut self, turn: Turn<'_>) -> Progress {
        let now = turn.now;
        if self.gives_up_at.is_some_and(|at| now >= at) {
            return Progress::Over(End::Finished);
        }
        if !self.is_connected {
            match is_connected(&self.control) {
                Ok(false) => return self.wait_until(Some(now + CONNECT_LOOK)),
                Ok(true) => self.is_connected = true,
                Err(_) => return Progress::Over(End::Closed),
            }
        }
        loop {
            if let Some(end) = self.exchange() {
                return Progress::Over(end);
            }
            if !self.outbox.is_empty() {
                return self.wait_until(Some(now + RETRY));
            }
            let Some(step) = self.script.steps.get(self.at).cloned() else {
                return Progress::Over(End::Finished);
            };
            match self.take(&step, turn) {
                None => (self.at, self.since) = (self.at + 1, None),
                Some(Progress::Waiting(until)) => return self.wait_until(until),
                Some(over) => return over,
            }
        }
    }

    fn wait_until(&self, until: Option<Instant>) -> Progress {
        Progress::Waiting(until.into_iter().chain(self.gives_up_at).min())
    }

    /// Takes a step; what it comes to if it is not done.
    fn take(&mut self, step: &Step, turn: Turn<'_>) -> Option<Progress> {
        let now = turn.now;
        match step {
            Step::Send(bytes) => self.outbox.extend(bytes),
            Step::Cookie(count) => self.outbox.extend(&self.cookie[..(*count).min(COOKIE_LENGTH)]),
            Step::Await(state) => return self.await_state(*state),
            Step::Stream(transport, claim) => {
                return self.open(*transport, *claim, turn).unwrap_or(None);
            }
            Step::Flow { senders, length, time } => {
                let since = *self.since.get_or_insert(now);
                if now < since + *time {
                    self.flow(*senders, *length);
                    return Some(Progress::Waiting(Some(now + FLOW_TURN)));
                }
            }
            Step::Trickle(every) => {
                let next = *self.since.get_or_insert(now);
                if now >= next {
                    self.flow(usize::MAX, 1);
                    self.since = Some(now + *every);
                }
                return Some(Progress::Waiting(self.since));
            }
            Step::Pause(time) => {
                let since = *self.since.get_or_insert(now);
                if now < since + *time {
                    return Some(Progress::Waiting(Some(since + *time)));
                }
            }
            Step::Hold => return Some(Progress::Waiting(None)),
            Step::Close => return Some(Progress::Over(End::Finished)),
            Step::Reset => {
                // Without it the close is a regular one, which is as good for a peer.
                _ = SockRef::from(&self.control).set_linger(Some(Duration::ZERO));
                return Some(Progress::Over(End::Finished));
            }
        }
        None
    }

    /// Writes what is to be written and reads what has come; how it ended if it did.
    fn exchange(&mut self) -> Option<End> {
        while !self.outbox.is_empty() {
            match self.control.write(&self.outbox) {
                Ok(count) => drop(self.outbox.drain(..count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // What the server said last is still to be read.
                Err(_) => self.outbox.clear(),
            }
        }
        let mut bytes = [0; 4096];
        // A server may send faster than this reads: others have their turn.
        for _ in 0..READS {
            match self.control.read(&mut bytes) {
                Ok(0) => return Some(self.how_it_was_ended()),
                Ok(count) => self.inbox.extend(&bytes[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return Some(self.how_it_was_ended()),
            }
        }
        if self.inbox.len() > MOST_KEPT {
            self.inbox.drain(..self.inbox.len() - MOST_KEPT);
        }
        None
    }

    fn how_it_was_ended(&self) -> End {
        let is_word = |byte: &u8| [ACCESS_DENIED, SERVER_ERROR].contains(byte);
        if self.inbox.iter().any(is_word) { End::Refused } else { End::Closed }
    }

    fn await_state(&mut self, state: u8) -> Option<Progress> {
        while let [EXTENSION, rest @ ..] = &*self.inbox {
            let text = rest
                .split_first_chunk()
                .filter(|(length, text)| text.len() >= u32::from_be_bytes(**length) as usize);
            let Some((length, _)) = text else { return Some(Progress::Waiting(None)) };
            let end = 5 + u32::from_be_bytes(*length) as usize;
            self.inbox.drain(..end);
        }
        let Some(at) = self.inbox.iter().position(|byte| *byte == state) else {
            return Some(Progress::Waiting(None));
        };
        self.inbox.drain(..=at);
        None
    }

    /// A stream that fails is left out: the server answers for what it does then.
    fn open(
        &mut self,
        transport: Transport,
        claim: Claim,
        Turn { watches, token, now }: Turn<'_>,
    ) -> std::io::Result<Option<Progress>> {
        if self.opening.is_none() {
            let stream = Stream::begin(transport, self.server, self.script.from, now)?;
            match &stream {
                Stream::Tcp(socket) => {
                    watches.writing.add(socket, Interest::Writable, token)?;
                }
                Stream::Udp { socket, .. } => {
                    watches.reading.add(socket, Interest::Readable, token)?;
                }
            }
            self.opening = Some(stream);
        }
        let Some(stream) = self.opening.as_mut() else { return Ok(None) };
        match stream.proceed(&self.cookie, claim, now) {
            Ok(true) => self.streams.extend(self.opening.take()),
            Ok(false) => return Ok(Some(Progress::Waiting(Some(now + RETRY)))),
            Err(_) => drop(self.opening.take()),
        }
        Ok(None)
    }

    /// One turn of payload. Streams that the server has closed say so by an error,
    /// which is no news: the control connection tells what became of the test.
    fn flow(&mut self, senders: usize, length: usize) {
        for (index, stream) in self.streams.iter_mut().enumerate() {
            if index < senders {
                stream.send(length);
            } else {
                stream.receive();
            }
        }
    }
}

impl Stream {
    fn begin(
        transport: Transport,
        server: SocketAddr,
        from: Option<IpAddr>,
        now: Instant,
    ) -> std::io::Result<Self> {
        if transport == Transport::Tcp {
            return begin_to_connect(server, from).map(Self::Tcp);
        }
        let any: IpAddr = match server {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = UdpSocket::bind((from.unwrap_or(any), 0))?;
        socket.connect(server)?;
        socket.set_nonblocking(true)?;
        socket.send(&HELLO)?;
        Ok(Self::Udp { socket, sent: 0, asked_at: now })
    }

    /// Whether it is open.
    fn proceed(
        &mut self,
        cookie: &[u8; COOKIE_LENGTH],
        claim: Claim,
        now: Instant,
    ) -> std::io::Result<bool> {
        match self {
            Self::Tcp(socket) => {
                if !is_connected(socket)? {
                    return Ok(false);
                }
                let wrong = [b'w'; COOKIE_LENGTH];
                socket.write_all(if claim == Claim::Wrong { &wrong } else { cookie })?;
                if let Claim::Numbered(number) = claim {
                    socket.write_all(&number.to_be_bytes())?;
                }
                Ok(true)
            }
            // A stream of nobody is one whose reply nobody waits for.
            Self::Udp { .. } if claim == Claim::Wrong => Ok(true),
            Self::Udp { socket, asked_at, .. } => match socket.recv(&mut [0; 8]) {
                Ok(_) => Ok(true),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if now >= *asked_at + HELLO_AGAIN {
                        *asked_at = now;
                        socket.send(&HELLO)?;
                    }
                    Ok(false)
                }
                Err(error) => Err(error),
            },
        }
    }

    fn send(&mut self, length: usize) {
        match self {
            Self::Tcp(socket) => _ = socket.write(&vec![0; length]),
            Self::Udp { socket, sent, .. } => {
                *sent = sent.wrapping_add(1);
                let mut datagram = vec![0; length.max(16)];
                // Clause 12.1: the sequence number.
                datagram[8..12].copy_from_slice(&sent.to_be_bytes());
                _ = socket.send(&datagram);
            }
        }
    }

    fn receive(&mut self) {
        let mut bytes = [0; 16384];
        for _ in 0..READS_OF_A_TURN {
            let received = match self {
                Self::Tcp(socket) => socket.read(&mut bytes),
                Self::Udp { socket, .. } => socket.recv(&mut bytes),
            };
            if !received.is_ok_and(|count| count > 0) {
                return;
            }
        }
    }
}

fn begin_to_connect(server: SocketAddr, from: Option<IpAddr>) -> std::io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(server), Type::STREAM.nonblocking(), None)?;
    if let Some(from) = from {
        socket.bind(&SockAddr::from(SocketAddr::new(from, 0)))?;
    }
    match socket.connect(&SockAddr::from(server)) {
        Err(error) if error.raw_os_error() != Some(EINPROGRESS) => Err(error),
        _ => Ok(socket.into()),
    }
}

/// Whether a connection is made; an error if it will not be.
fn is_connected(socket: &TcpStream) -> std::io::Result<bool> {
    if let Some(error) = socket.take_error()? {
        return Err(error);
    }
    Ok(socket.peer_addr().is_ok())
}

/// Clause 3.3.
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz234567";
/// Clause 8.2, 3.12+.
const HELLO: [u8; 4] = *b"9876";
const HELLO_AGAIN: Duration = Duration::from_millis(300);
/// `asm-generic/errno.h`.
const EINPROGRESS: i32 = 115;
/// Reads of one turn.
const READS: usize = 64;
/// Bytes of the server that wait for a step that asks for them.
const MOST_KEPT: usize = 16384;
const RETRY: Duration = Duration::from_millis(10);
const CONNECT_LOOK: Duration = Duration::from_millis(100);
const FLOW_TURN: Duration = Duration::from_millis(10);
const READS_OF_A_TURN: usize = 16;
