//! Streams that exchange requests and responses, to measure time and not rate.
//!
//! ```text
//!   TCP   tcp_requester      --request-->           tcp_responder      on a stream that stays open
//!         connect_requester  --connect, request-->  accept_responder   a connection per request
//!         iperf2's client    --request-->           bounce_responder   (--bounceback)
//!   UDP   udp_requester      --request-->           udp_responder
//! ```
//!
//! The client is the requester. An [`Exchange`] describes the requests; a
//! [`RoundTripStatistics`] holds the round-trip times and the losses.

mod accept_responder;
mod bounce_responder;
mod connect_requester;
mod exchange_stream;
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
use protocol::iperf2::Bounce;

use crate::counters::Counters;
use crate::stream::{Step, Stream};
use accept_responder::AcceptResponder;
use bounce_responder::BounceResponder;
use connect_requester::ConnectRequester;
use tcp_requester::TcpRequester;
use tcp_responder::TcpResponder;
use udp_requester::UdpRequester;
use udp_responder::UdpResponder;

pub use statistics::RoundTripStatistics;

/// The most connections of one stream that an [`accept_responder`] keeps while their requests
/// have not arrived whole. Each takes a descriptor.
pub const MAX_PENDING_CONNECTIONS: usize = accept_responder::MAX_PENDING;

/// Arguments to build a stream that sends requests ([`requester`], [`connect_requester()`]): the
/// requests, its counters, the statistics of the test, and when a response counts as lost.
pub struct RequesterConfig {
    /// The size, number and spacing of requests.
    pub exchange: Exchange,
    /// Counters that the stream publishes: bytes of requests and responses; responses as blocks.
    pub counters: Arc<Counters>,
    /// The round-trip times and losses, shared by all requesters of a test.
    pub statistics: Arc<RoundTripStatistics>,
    /// Time after which a response over UDP counts as lost.
    pub patience: Duration,
    /// Each request over a TCP connection that stays open; none: bytes of the payload.
    pub message: Option<Arc<[u8]>>,
}

/// Makes a stream that sends requests, as `config` describes them, over a connected socket and
/// measures the time until each response.
///
/// # Errors
/// TCP: `TCP_NODELAY` cannot be set (setsockopt(2)), as the connection is closed. UDP: none.
pub fn requester(socket: Link, config: RequesterConfig) -> std::io::Result<Box<dyn Stream>> {
    Ok(match socket {
        Link::Tcp(socket) => Box::new(TcpRequester::stream(socket, config)?),
        Link::Udp(socket) => Box::new(UdpRequester::stream(unstamped(socket), config)),
    })
}

/// Makes a stream that answers the requests which arrive over a connected socket, as `exchange`
/// describes them. It counts in `counters`.
///
/// # Errors
/// TCP: `TCP_NODELAY` cannot be set (setsockopt(2)), as the connection is closed. UDP: none.
pub fn responder(
    socket: Link,
    exchange: Exchange,
    counters: Arc<Counters>,
) -> std::io::Result<Box<dyn Stream>> {
    Ok(match socket {
        Link::Tcp(socket) => Box::new(TcpResponder::stream(socket, exchange, counters)?),
        Link::Udp(socket) => Box::new(UdpResponder::stream(unstamped(socket), exchange, counters)),
    })
}

/// Makes a stream that sends back each request of an iperf2 client, as `bounce` describes them, with
/// the times at which it arrived and is answered. It counts in `counters`.
///
/// # Errors
/// `TCP_NODELAY` cannot be set (setsockopt(2)), as the connection is closed.
pub fn bounce_responder(
    socket: Arc<TcpStream>,
    bounce: &Bounce,
    counters: Arc<Counters>,
) -> std::io::Result<Box<dyn Stream>> {
    Ok(Box::new(BounceResponder::stream(socket, bounce, counters)?))
}

/// Turns off arrival stamps, which cost time in the kernel: requester and responder read the
/// clock anyway.
fn unstamped(socket: Arc<UdpSocket>) -> Arc<UdpSocket> {
    // If that fails, only that time is lost.
    _ = linux::udp::disable_timestamps(&socket);
    socket
}

/// Makes a stream that opens a TCP connection to `to`, with `options`, for each request. `idle` is
/// the connection that was opened with the test; it carries no payload.
pub fn connect_requester(
    (to, options): (SocketAddr, TcpOptions),
    idle: Arc<TcpStream>,
    config: RequesterConfig,
) -> Box<dyn Stream> {
    Box::new(ConnectRequester::new((to, options), idle, config))
}

/// Makes a stream that answers one request on each connection to `listener`, if it comes from the
/// address that `idle` is connected to. `idle` was opened with the test and carries no payload.
pub fn accept_responder(
    listener: Arc<TcpListener>,
    idle: &TcpStream,
    exchange: Exchange,
    counters: Arc<Counters>,
) -> Box<dyn Stream> {
    Box::new(AcceptResponder::new(listener, idle, exchange, counters))
}

/// The connected socket that carries requests and responses, TCP or UDP.
pub enum Link {
    /// A TCP connection.
    Tcp(Arc<TcpStream>),
    /// A connected UDP socket.
    Udp(Arc<UdpSocket>),
}

/// The parameters of an [`Exchange`] in the types that its streams work with, and how they wait.
#[derive(Clone, Copy, Debug)]
struct Parameters {
    request: usize,
    response: usize,
    depth: usize,
    every: Option<Duration>,
    busy: bool,
    /// System calls wait for data, since the stream has the worker to itself.
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

    /// Lets system calls on `socket` wait for data, unless the stream polls or sends by the
    /// clock. Returns whether they do.
    fn use_blocking_calls(&mut self, socket: &impl AsFd) -> bool {
        // Requests and responses that do not fit the socket buffers would block each other.
        let under_way = self.depth.saturating_mul(self.request.max(self.response));
        if self.every.is_some() || self.busy || under_way > MOST_IN_CALLS {
            return false;
        }
        self.blocking_calls = linux::set_call_timeout(socket, LONGEST_CALL).is_ok();
        self.blocking_calls
    }

    /// The next step of a stream after a turn with this result.
    fn conclude(&self, result: io::Result<Step>, published: &Counters) -> Step {
        result.unwrap_or_else(|error| match error.kind() {
            ErrorKind::WouldBlock => self.wait(),
            // ConnectionRefused: an ICMP error of an earlier datagram (udp(7)).
            ErrorKind::Interrupted | ErrorKind::ConnectionRefused => Step::Again,
            _ => {
                published.finish(error.raw_os_error());
                Step::Done
            }
        })
    }

    /// Whether the stream calls the kernel again without waiting for readiness.
    const fn is_awake(&self) -> bool {
        self.busy || self.blocking_calls
    }

    /// The step of a stream that has nothing to do until data arrives.
    const fn wait(&self) -> Step {
        if self.is_awake() { Step::Again } else { Step::Readable }
    }
}

/// The times of requests that are sent by the clock.
#[derive(Clone, Copy, Debug)]
struct Schedule {
    every: Option<Duration>,
    next: Option<Timestamp>,
}

impl Schedule {
    const fn new(every: Option<Duration>) -> Self {
        Self { every, next: None }
    }

    /// The time when the next request is due. None: now.
    fn due(&self, now: Timestamp) -> Option<Timestamp> {
        self.next.filter(|next| *next > now)
    }

    /// Notes that a request was sent. Returns how many times were missed; they are not made up
    /// for.
    fn sent(&mut self, now: Timestamp) -> u64 {
        let Some(every) = self.every else { return 0 };
        let next = self.next.unwrap_or(now).after(every);
        let late = now.since(next).as_nanos() / every.as_nanos().max(1);
        let missed = if next > now { 0 } else { u64::try_from(late).unwrap_or(u64::MAX) + 1 };
        self.next = Some(if next > now { next } else { now.after(every) });
        missed
    }
}

/// Bytes in flight for which socket buffers always have room.
const MOST_IN_CALLS: usize = 32 * 1024;
/// The longest wait of a system call: after it the worker notices the end of the test.
const LONGEST_CALL: Duration = Duration::from_millis(10);
