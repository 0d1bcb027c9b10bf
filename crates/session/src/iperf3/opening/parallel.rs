//! Opens streams many at a time, with a linerate that hears their numbers (clause 13.12).
//!
//! ```text
//!  next --connect--> under way --connected: cookie and number--> open --counted by the server-->
//!       --hello----> under way --reply-------------------------> open
//! ```

use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use linux::epoll::{Epoll, Events, Interest};
use linux::event::StopSignals;
use measurement::{Timestamp, Transport};
use protocol::iperf3::{ClientPhase, Cookie, Hello, HelloToken, stream_id};

use super::extra_ports::ServerPorts;
use super::{HELLO_LIMIT, Opener, introduce, send_hello};
use crate::connect::ETIMEDOUT;
use crate::error::SessionError;
use crate::sockets::StreamSocket;

/// How many streams, and how.
pub(crate) struct Order {
    pub(crate) transport: Transport,
    pub(crate) count: u32,
    /// Streams that may be on their way: connected and not counted by the server.
    pub(crate) under_way: u32,
    /// What the hellos bear.
    pub(crate) token: Option<HelloToken>,
    /// Ports of the server beside its own.
    pub(crate) ports: Vec<u16>,
}

/// What came of it.
pub(crate) struct OpenedStreams {
    /// Every stream in order.
    pub(crate) sockets: Vec<StreamSocket>,
    /// Extra ports that could not be reached, and why.
    pub(crate) shut: Vec<(u16, io::Error)>,
}

/// The streams of one test while they are opened.
pub(crate) struct ParallelOpener<'o, 'a> {
    opener: &'o mut Opener<'a>,
    order: Order,
    epoll: Epoll,
    events: Events,
    places: Vec<Place>,
    /// When which stream is to be looked at although nothing came.
    due: BTreeSet<(Timestamp, u32)>,
    /// Where TCP streams go.
    ports: ServerPorts,
    next: u32,
    /// Streams before `next` that have to be begun again, at another port.
    again: Vec<u32>,
    open: u32,
}

/// Where one stream stands.
enum Place {
    Unborn,
    Connecting { socket: TcpStream, to: SocketAddr, due: Timestamp },
    Greeting { socket: UdpSocket, pause: Duration, since: Timestamp, due: Timestamp },
    Open(StreamSocket),
}

impl<'o, 'a> ParallelOpener<'o, 'a> {
    pub(crate) fn new(opener: &'o mut Opener<'a>, order: Order) -> Result<Self, SessionError> {
        let epoll = Epoll::new().map_err(SessionError::system("an epoll"))?;
        Ok(Self {
            epoll,
            events: Events::with_capacity(MOST_EVENTS),
            places: (0..order.count).map(|_| Place::Unborn).collect(),
            due: BTreeSet::new(),
            ports: ServerPorts::new(opener.server, &order.ports, order.count),
            next: 0,
            again: Vec::new(),
            open: 0,
            opener,
            order,
        })
    }

    /// Opens them all; `progress` hears now and then how many there are.
    pub(crate) fn open(
        mut self,
        mut progress: impl FnMut(u32),
    ) -> Result<OpenedStreams, SessionError> {
        let mut ready = Vec::with_capacity(MOST_EVENTS);
        while self.open < self.order.count {
            self.check_phase()?;
            self.begin_more()?;
            self.wait()?;
            self.epoll
                .wait(&mut self.events, Some(Duration::ZERO), |token| ready.push(token))
                .map_err(SessionError::system("an epoll"))?;
            for token in ready.drain(..) {
                self.go_on(u32::try_from(token).unwrap_or(u32::MAX))?;
            }
            self.mind_the_time()?;
            progress(self.open);
        }
        let sockets = self.places.into_iter().filter_map(|place| match place {
            Place::Open(socket) => Some(socket),
            _ => None,
        });
        Ok(OpenedStreams { sockets: sockets.collect(), shut: self.ports.into_shut() })
    }

    /// Whether the server still wants streams. It counts one over UDP by its hello, and may start
    /// while the reply is lost on the way: it answers the next hello all the same.
    fn check_phase(&mut self) -> Result<(), SessionError> {
        self.opener.control.pump();
        let phase = self.opener.control.machine.phase();
        let has_started = matches!(phase, ClientPhase::Starting | ClientPhase::Running);
        match self.order.transport {
            Transport::Udp if has_started => Ok(()),
            _ => self.opener.check_phase(),
        }
    }

    /// A stream by TCP is under way until the server has counted it: it may wait in the
    /// server's backlog, which has an end. A reply to a hello counts it too.
    fn begin_more(&mut self) -> Result<(), SessionError> {
        let counted = match self.order.transport {
            Transport::Tcp => self.opener.control.machine.arrived(),
            Transport::Udp => self.open,
        };
        let end = counted.saturating_add(self.order.under_way).min(self.order.count);
        while self.begun() < end {
            match self.order.transport {
                Transport::Tcp => {
                    let Some(port) = self.ports.next() else { break };
                    let index = self.take_next();
                    self.connect(index, port)?;
                }
                Transport::Udp => {
                    let index = self.take_next();
                    self.greet(index)?;
                }
            }
        }
        Ok(())
    }

    /// Streams that are open or under way.
    fn begun(&self) -> u32 {
        self.next - u32::try_from(self.again.len()).unwrap_or(u32::MAX)
    }

    fn take_next(&mut self) -> u32 {
        self.again.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }

    fn connect(&mut self, index: u32, to: SocketAddr) -> Result<(), SessionError> {
        let started = self.opener.tcp_options(index, to).and_then(|options| {
            let socket = linux::tcp::start_connect(to, &options)?;
            self.epoll.add(&socket, Interest::Writable, index.into())?;
            Ok(socket)
        });
        match started {
            Ok(socket) => {
                let due = self.opener.clock.now().after(self.connect_limit(to));
                self.due.insert((due, index));
                self.places[index as usize] = Place::Connecting { socket, to, due };
                Ok(())
            }
            Err(error) => self.knock_elsewhere(index, to, error),
        }
    }

    /// How long a connect may take. One to a extra port that has never answered may meet
    /// a firewall that drops it, while others of the test wait for that.
    fn connect_limit(&self, to: SocketAddr) -> Duration {
        let whole = self.opener.connect_timeout;
        if self.ports.is_proven(to) { whole } else { whole.min(FIRST_ANSWER + 4 * self.opener.rtt) }
    }

    /// A connect failed. A extra port may be behind a firewall: then the others are used,
    /// for all that would have gone there.
    fn knock_elsewhere(
        &mut self,
        index: u32,
        to: SocketAddr,
        error: io::Error,
    ) -> Result<(), SessionError> {
        if to == self.opener.server {
            return Err(self.opener.tcp_failure(stream_id(index), error));
        }
        self.ports.give_up(to, error);
        self.again.push(index);
        Ok(())
    }

    fn greet(&mut self, index: u32) -> Result<(), SessionError> {
        let failed = |error| SessionError::OpenStream { id: stream_id(index), error };
        let socket = self.opener.udp_socket(index).map_err(failed)?;
        self.epoll.add(&socket, Interest::Readable, index.into()).map_err(failed)?;
        let pause = self.opener.first_pause();
        self.say_hello(index, socket, pause, self.opener.clock.now())
    }

    fn say_hello(
        &mut self,
        index: u32,
        socket: UdpSocket,
        pause: Duration,
        since: Timestamp,
    ) -> Result<(), SessionError> {
        let hello = match self.order.token {
            Some(token) => Hello::Numbered(token, index),
            None => Hello::Current,
        };
        send_hello(&socket, hello)
            .map_err(|error| SessionError::OpenStream { id: stream_id(index), error })?;
        let due = self.opener.clock.now().after(pause);
        self.due.insert((due, index));
        self.places[index as usize] =
            Place::Greeting { socket, pause: self.opener.next_pause(pause), since, due };
        Ok(())
    }

    /// Something came on a stream.
    fn go_on(&mut self, index: u32) -> Result<(), SessionError> {
        let Some(place) = self.places.get_mut(index as usize) else { return Ok(()) };
        match std::mem::replace(place, Place::Unborn) {
            Place::Connecting { socket, to, due } => {
                self.due.remove(&(due, index));
                match linux::tcp::connect_result(&socket) {
                    Ok(()) => {
                        self.ports.prove(to);
                        self.introduce(index, socket)
                    }
                    Err(error) => self.knock_elsewhere(index, to, error),
                }
            }
            Place::Greeting { socket, pause, since, due } => {
                let failed = |error| SessionError::OpenStream { id: stream_id(index), error };
                if self.opener.is_answered(&socket, false).map_err(failed)? {
                    self.due.remove(&(due, index));
                    self.settle(index, StreamSocket::udp(socket));
                } else {
                    let place = Place::Greeting { socket, pause, since, due };
                    self.places[index as usize] = place;
                }
                Ok(())
            }
            other => {
                self.places[index as usize] = other;
                Ok(())
            }
        }
    }

    /// A stream is connected: it says whose it is, and which.
    fn introduce(&mut self, index: u32, socket: TcpStream) -> Result<(), SessionError> {
        let words = self.opener.cookie.numbered(index);
        let stream = StreamSocket::tcp(socket, (Cookie::LENGTH + Cookie::INDEX_LENGTH) as u64);
        introduce(&stream, &words)
            .map_err(|error| self.opener.tcp_failure(stream_id(index), error))?;
        self.settle(index, stream);
        Ok(())
    }

    fn settle(&mut self, index: u32, socket: StreamSocket) {
        self.places[index as usize] = Place::Open(socket);
        self.open += 1;
    }

    /// Gives up connects that took too long, and repeats hellos (clause 13.5).
    fn mind_the_time(&mut self) -> Result<(), SessionError> {
        let now = self.opener.clock.now();
        while let Some((at, index)) = self.due.first().copied().filter(|(at, _)| *at <= now) {
            self.due.remove(&(at, index));
            let place = &mut self.places[index as usize];
            match std::mem::replace(place, Place::Unborn) {
                Place::Connecting { to, .. } => {
                    let late = io::Error::from_raw_os_error(ETIMEDOUT);
                    self.knock_elsewhere(index, to, late)?;
                }
                Place::Greeting { since, .. } if now >= since.after(HELLO_LIMIT) => {
                    return Err(SessionError::NoReply { to: self.opener.server });
                }
                Place::Greeting { socket, pause, since, .. } => {
                    self.say_hello(index, socket, pause, since)?;
                }
                other => *place = other,
            }
        }
        Ok(())
    }

    fn wait(&mut self) -> Result<(), SessionError> {
        let until = self.due.first().map(|(at, _)| *at);
        let mut others = vec![self.epoll.as_fd()];
        others.extend(self.opener.interrupts.map(AsFd::as_fd));
        self.opener.control.wait(&others, until).map_err(SessionError::system("poll"))?;
        if self.opener.interrupts.is_some_and(StopSignals::arrived) {
            return Err(SessionError::Interrupted);
        }
        Ok(())
    }
}

const MOST_EVENTS: usize = 256;
/// How long an extra port may take for its first answer, beside four round trips.
const FIRST_ANSWER: Duration = Duration::from_millis(500);
