//! Streams that ask and answer: what measures time, and not rate.
//!
//! ```text
//!   TCP   tcp_requester   --request-->  tcp_responder       on the stream, which stays
//!         connect_requester         --connect, request-->  accept_responder       on a connection of its own
//!   UDP   udp_requester --request-->  udp_responder
//! ```
//!
//! The client asks. What is asked stands in an [`Exchange`]; how long it took, and what did
//! not come, in a [`RoundTripStatistics`].

mod accept_responder;
mod connect_requester;
mod statistics;
mod tcp_requester;
mod tcp_responder;
mod udp_message;
mod udp_requester;
mod udp_responder;

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use linux::tcp::TcpOptions;
use measurement::{Exchange, Timestamp};

use crate::counters::Counters;
use crate::stream::{Step, Stream};
use accept_responder::AcceptResponder;
use connect_requester::ConnectRequester;
use tcp_requester::TcpRequester;
use tcp_responder::TcpResponder;
use udp_requester::UdpRequester;
use udp_responder::UdpResponder;

pub use statistics::RoundTripStatistics;

/// Connections of one stream whose requests may be on their way to a [`accept_responder`].
pub const MAX_PENDING_CONNECTIONS: usize = accept_responder::MAX_PENDING;

/// What every stream that asks is given.
pub struct RequesterConfig {
    /// What it asks for.
    pub exchange: Exchange,
    /// What it counts: bytes of both ways, answers as blocks.
    pub counters: Arc<Counters>,
    /// Where it notes how long answers took.
    pub statistics: Arc<RoundTripStatistics>,
    /// How long an answer over UDP may take.
    pub patience: Duration,
}

/// Asks over a connected socket.
///
/// # Errors
/// What setsockopt(2) reports of `TCP_NODELAY`.
pub fn requester(socket: Link, config: RequesterConfig) -> std::io::Result<Box<dyn Stream>> {
    Ok(match socket {
        Link::Tcp(socket) => Box::new(TcpRequester::new(socket, config)?),
        Link::Udp(socket) => Box::new(UdpRequester::new(unstamped(socket), config)),
    })
}

/// Answers over a connected socket.
///
/// # Errors
/// What setsockopt(2) reports of `TCP_NODELAY`.
pub fn responder(
    socket: Link,
    exchange: Exchange,
    counters: Arc<Counters>,
) -> std::io::Result<Box<dyn Stream>> {
    Ok(match socket {
        Link::Tcp(socket) => Box::new(TcpResponder::new(socket, exchange, counters)?),
        Link::Udp(socket) => Box::new(UdpResponder::new(unstamped(socket), exchange, counters)),
    })
}

/// A stamp takes the kernel time on the way, and who asks and answers reads the clock anyway.
fn unstamped(socket: Arc<UdpSocket>) -> Arc<UdpSocket> {
    // At worst it costs that time.
    _ = linux::udp::disable_timestamps(&socket);
    socket
}

/// Asks `to` over a connection for each request; `idle` is the stream beside them, which
/// carries nothing.
pub fn connect_requester(
    (to, options): (SocketAddr, TcpOptions),
    idle: Arc<TcpStream>,
    config: RequesterConfig,
) -> Box<dyn Stream> {
    Box::new(ConnectRequester::new((to, options), idle, config))
}

/// Answers whoever connects to `listener` from where `idle` is connected to.
pub fn accept_responder(
    listener: Arc<TcpListener>,
    idle: &TcpStream,
    exchange: Exchange,
    counters: Arc<Counters>,
) -> Box<dyn Stream> {
    Box::new(AcceptResponder::new(listener, idle, exchange, counters))
}

/// What carries requests and answers.
pub enum Link {
    /// A byte stream.
    Tcp(Arc<TcpStream>),
    /// Datagrams.
    Udp(Arc<UdpSocket>),
}

/// What the streams of one exchange know of it, in the types of their work.
#[derive(Clone, Copy, Debug)]
struct Parameters {
    request: usize,
    response: usize,
    depth: usize,
    every: Option<Duration>,
    busy: bool,
    /// Calls wait for what they need, since nobody else has the worker.
    blocking_calls: bool,
}

impl Parameters {
    fn new(exchange: &Exchange) -> Self {
        let bytes = |size: measurement::ByteSize| usize::try_from(size.bytes()).unwrap_or(1).max(1);
        Self {
            request: bytes(exchange.request),
            response: bytes(exchange.response),
            depth: usize::from(exchange.depth).max(1),
            every: exchange.every,
            busy: exchange.busy,
            blocking_calls: false,
        }
    }

    /// Lets calls on `socket` wait, if nothing else has a time; whether they do. Then nobody
    /// asks to be woken.
    fn use_blocking_calls(&mut self, socket: &impl AsFd) -> bool {
        // What does not fit the socket's buffers would wait for the other way.
        let under_way = self.depth.saturating_mul(self.request.max(self.response));
        if self.every.is_some() || self.busy || under_way > MOST_IN_CALLS {
            return false;
        }
        self.blocking_calls = linux::set_call_timeout(socket, LONGEST_CALL).is_ok();
        self.blocking_calls
    }

    /// What becomes of a stream whose turn came to `result`.
    fn conclude(&self, result: io::Result<Step>, published: &Counters) -> Step {
        result.unwrap_or_else(|error| match error.kind() {
            ErrorKind::WouldBlock => self.wait(),
            // The latter is that of an earlier datagram (udp(7)).
            ErrorKind::Interrupted | ErrorKind::ConnectionRefused => Step::Again,
            _ => {
                published.finish(error.raw_os_error());
                Step::Done
            }
        })
    }

    /// Whether who waits in its calls, and began this step at `began`, may go on after `now`.
    fn goes_on(&self, began: Timestamp, now: Timestamp) -> bool {
        self.blocking_calls && now.since(began) < LONGEST_STEP
    }

    /// Whether it asks the kernel again without having been woken.
    const fn is_awake(&self) -> bool {
        self.busy || self.blocking_calls
    }

    /// How one waits who has nothing to do until something comes.
    const fn wait(&self) -> Step {
        if self.is_awake() { Step::Again } else { Step::Readable }
    }
}

/// When the next request is due.
#[derive(Clone, Copy, Debug)]
struct Schedule {
    every: Option<Duration>,
    next: Option<Timestamp>,
}

impl Schedule {
    const fn new(every: Option<Duration>) -> Self {
        Self { every, next: None }
    }

    /// When it is due; none: now.
    fn due(&self, now: Timestamp) -> Option<Timestamp> {
        self.next.filter(|next| *next > now)
    }

    /// A request was sent; how many times were missed, which are not made up for.
    fn sent(&mut self, now: Timestamp) -> u64 {
        let Some(every) = self.every else { return 0 };
        let next = self.next.unwrap_or(now).after(every);
        let late = now.since(next).as_nanos() / every.as_nanos().max(1);
        let missed = if next > now { 0 } else { u64::try_from(late).unwrap_or(u64::MAX) + 1 };
        self.next = Some(if next > now { next } else { now.after(every) });
        missed
    }
}

/// How long a step may go on from one response to the next request.
const LONGEST_STEP: Duration = Duration::from_millis(1);
/// Requests that are answered in one step, where the next one is waited for in a call.
const MAX_TURNS: u32 = 8;
/// Bytes on their way for which there is always room.
const MOST_IN_CALLS: usize = 32 * 1024;
/// So late may a worker hear of the end of the test.
const LONGEST_CALL: Duration = Duration::from_millis(10);
