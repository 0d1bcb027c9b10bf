//! Opens the client's streams: always outwards (sections 7 and 8); one after another to an
//! iperf3, many at a time to a linerate.

use std::io::{self, ErrorKind, Write};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use linux::event::StopSignals;
use linux::tcp::TcpOptions;
use measurement::{StreamOptions, Timestamp, Transport};
use protocol::iperf3::{
    Client, ClientEvent, ClientPhase, Cookie, Hello, ProtocolError, State, is_reply, stream_id,
};

use crate::clock::Clock;
use crate::connect::connect;
use crate::control::Control;
use crate::error::SessionError;
use crate::request::ClientOptions;
use crate::socket_options::{packet_options, prepare_udp, tcp_options};
use crate::sockets::StreamSocket;

mod extra_ports;
pub(crate) mod parallel;

/// Opens the streams of one test beside its control connection.
pub(crate) struct Opener<'a> {
    pub(crate) control: &'a mut Control<Client>,
    pub(crate) interrupts: Option<&'a StopSignals>,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) server: SocketAddr,
    pub(crate) bind: Option<IpAddr>,
    /// Further addresses to send TCP streams from, in turn.
    pub(crate) further_binds: &'a [IpAddr],
    pub(crate) cookie: &'a Cookie,
    pub(crate) stream: &'a StreamOptions,
    pub(crate) options: &'a ClientOptions,
    pub(crate) connect_timeout: Duration,
    /// The test has streams in both directions.
    pub(crate) both_ways: bool,
    /// The peer is a linerate: a repeated hello does no harm.
    pub(crate) peer_is_linerate: bool,
    /// What is said first on a UDP stream.
    pub(crate) hello: Hello,
    /// Round-trip time of the control connection.
    pub(crate) rtt: Duration,
}

impl Opener<'_> {
    /// Whether the server still waits for streams. One before 3.7 does not know two
    /// directions at once and starts when it has half of them (clause 7.7).
    pub(crate) fn check_phase(&mut self) -> Result<(), SessionError> {
        self.control.pump();
        match self.control.machine.phase() {
            ClientPhase::Opening => Ok(()),
            ClientPhase::Starting | ClientPhase::Running => Err(SessionError::Protocol {
                peer: self.server,
                error: if self.both_ways {
                    ProtocolError::NoBidirectional
                } else {
                    let phase = ClientPhase::Opening.doing();
                    ProtocolError::UnexpectedState { state: State::TestStart, phase }
                },
            }),
            _ => Err(self.reason().unwrap_or(SessionError::Interrupted)),
        }
    }

    /// Why the server ended the test, if it did.
    pub(crate) fn reason(&mut self) -> Option<SessionError> {
        // Its word may come a moment after the stream was cut off.
        let soon = self.clock.now().after(LAST_WORD);
        while self.clock.now() < soon {
            while let Some(event) = self.control.machine.poll_event() {
                if let ClientEvent::Failed(error) = event {
                    return Some(SessionError::Protocol { peer: self.server, error });
                }
            }
            self.control.wait(&[], Some(soon)).ok()?;
        }
        None
    }

    /// Opens `count` streams one by one.
    pub(crate) fn one_after_another(
        &mut self,
        transport: Transport,
        count: u32,
    ) -> Result<Vec<StreamSocket>, SessionError> {
        let open = |index| {
            self.check_phase()?;
            match transport {
                Transport::Tcp => self.tcp(index),
                Transport::Udp => self.udp(index, index + 1 == count),
            }
        };
        (0..count).map(open).collect()
    }

    /// The `index`th stream over TCP: connect, then the cookie (clauses 7.1 and 7.2).
    fn tcp(&self, index: u32) -> Result<StreamSocket, SessionError> {
        let failed = |error| self.tcp_failure(stream_id(index), error);
        let options = self.tcp_options(index, self.server).map_err(failed)?;
        let socket =
            connect(self.server, &options, self.connect_timeout, (self.interrupts, self.clock))?
                .map_err(failed)?;
        let stream = StreamSocket::tcp(socket, Cookie::LENGTH as u64);
        introduce(&stream, self.cookie.as_bytes()).map_err(failed)?;
        Ok(stream)
    }

    /// The settings of the `index`th stream, which goes to a port of the server.
    fn tcp_options(&self, index: u32, to: SocketAddr) -> io::Result<TcpOptions> {
        let further = self.further_binds.len();
        let turn = if to == self.server { index as usize % (1 + further) } else { 0 };
        let bind = match turn.checked_sub(1) {
            Some(further) => Some(SocketAddr::new(self.further_binds[further], 0)),
            None => self.local(index)?,
        };
        Ok(TcpOptions {
            bind,
            device: self.options.device.clone(),
            multipath: self.stream.multipath,
            mss: self.stream.mss,
            send_timeout: self.options.send_timeout,
            ..tcp_options(self.stream)
        })
    }

    /// Where the `index`th stream is sent from: clause 2.7. None: anywhere.
    fn local(&self, index: u32) -> io::Result<Option<SocketAddr>> {
        let any = linux::udp::any_port_of_family(self.server).ip();
        let Some(first) = self.options.client_port else {
            return Ok(self.bind.map(|bind| SocketAddr::new(bind, 0)));
        };
        let port = u16::try_from(index).ok().and_then(|index| first.checked_add(index));
        let port = port.ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Some(SocketAddr::new(self.bind.unwrap_or(any), port)))
    }

    fn tcp_failure(&self, id: u32, error: io::Error) -> SessionError {
        let is_about_congestion =
            matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied);
        match &self.stream.congestion {
            Some(name) if is_about_congestion => {
                SessionError::Congestion { name: name.clone(), error }
            }
            _ => SessionError::OpenStream { id, error },
        }
    }

    /// The `index`th stream over UDP: hello and reply (clause 8.1); the hello is repeated
    /// (clause 13.5).
    fn udp(&mut self, index: u32, last: bool) -> Result<StreamSocket, SessionError> {
        let failed = |error| SessionError::OpenStream { id: stream_id(index), error };
        let socket = self.udp_socket(index).map_err(failed)?;
        let deadline = self.clock.now().after(HELLO_LIMIT);
        let mut pause = self.first_pause();
        let mut next_hello = Timestamp::default();
        loop {
            let now = self.clock.now();
            if now >= deadline {
                return Err(SessionError::NoReply { to: self.server });
            }
            if now >= next_hello {
                send_hello(&socket, self.hello).map_err(failed)?;
                next_hello = now.after(pause);
                pause = self.next_pause(pause);
            }
            self.wait_for(&socket, next_hello.min(deadline))?;
            if self.is_answered(&socket, last).map_err(failed)? {
                return Ok(StreamSocket::udp(socket));
            }
        }
    }

    fn udp_socket(&self, index: u32) -> io::Result<UdpSocket> {
        let any = linux::udp::any_port_of_family(self.server);
        let local = self.local(index)?.unwrap_or(any);
        let socket = linux::udp::bind_on(self.options.device.as_deref(), local, false, false)?;
        prepare_udp(&socket, self.stream, self.server.ip())?;
        socket.connect(packet_options(self.stream).with_flow_label(&socket, self.server)?)?;
        Ok(socket)
    }

    fn first_pause(&self) -> Duration {
        if self.peer_is_linerate { (3 * self.rtt).max(FIRST_PAUSE) } else { FIRST_PAUSE_IPERF3 }
    }

    /// The pause after the next hello: twice as long, and towards a linerate never so long that little of
    /// [`HELLO_LIMIT`] is left for another.
    fn next_pause(&self, pause: Duration) -> Duration {
        let longest = if self.peer_is_linerate { LONGEST_PAUSE.max(pause) } else { HELLO_LIMIT };
        (2 * pause).min(longest)
    }

    fn wait_for(&mut self, socket: &UdpSocket, until: Timestamp) -> Result<(), SessionError> {
        let mut others = vec![socket.as_fd()];
        others.extend(self.interrupts.map(AsFd::as_fd));
        self.control.wait(&others, Some(until)).map_err(SessionError::system("poll"))?;
        if self.interrupts.is_some_and(StopSignals::arrived) {
            return Err(SessionError::Interrupted);
        }
        Ok(())
    }

    /// Whether the server knows this stream. Data that overtook the reply stay in the
    /// socket and are counted later (clause 8.7). For the last stream `TEST_START` of an
    /// iperf3 is an answer too (clause 8.10); a linerate answers hellos all the time.
    fn is_answered(&mut self, socket: &UdpSocket, last: bool) -> io::Result<bool> {
        let mut datagram = [0; 64];
        loop {
            match socket.peek(&mut datagram) {
                Ok(length) if is_reply(&datagram[..length]) => {
                    socket.recv(&mut datagram)?;
                    return Ok(true);
                }
                Ok(length) if length >= MIN_HEADER => return Ok(true),
                Ok(_) => _ = socket.recv(&mut datagram)?,
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => break,
                    ErrorKind::Interrupted | ErrorKind::ConnectionRefused => {}
                    _ => return Err(error),
                },
            }
        }
        let phase = self.control.machine.phase();
        let has_failed =
            !matches!(phase, ClientPhase::Opening | ClientPhase::Starting | ClientPhase::Running);
        let started = phase != ClientPhase::Opening;
        Ok(has_failed || (started && last && !self.peer_is_linerate))
    }
}

/// Says on a stream whose it is.
fn introduce(stream: &StreamSocket, words: &[u8]) -> io::Result<()> {
    match stream {
        // An empty send buffer takes some 40 bytes at once.
        StreamSocket::Tcp { socket, .. } => (&**socket).write_all(words),
        StreamSocket::Udp { .. } => Ok(()),
    }
}

fn send_hello(socket: &UdpSocket, hello: Hello) -> io::Result<()> {
    match socket.send(&hello.to_bytes()) {
        // An earlier hello met a closed port; this one may not.
        Err(error) if error.kind() != ErrorKind::ConnectionRefused => Err(error),
        _ => Ok(()),
    }
}

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_millis(800);
const FIRST_PAUSE_IPERF3: Duration = Duration::from_secs(1);
/// How long to wait for the server's reason after a stream failed.
const LAST_WORD: Duration = Duration::from_millis(100);
const HELLO_LIMIT: Duration = Duration::from_secs(5);
/// Nothing shorter can be data (clause 12.1).
const MIN_HEADER: usize = 12;
