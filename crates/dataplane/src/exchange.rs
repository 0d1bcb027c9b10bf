//! Streams that ask and answer: what measures time, and not rate.
//!
//! ```text
//!   TCP   stream_asker   --request-->  stream_answerer       on the stream, which stays
//!         caller         --connect, request-->  callee       on a connection of its own
//!   UDP   datagram_asker --request-->  datagram_answerer
//! ```
//!
//! The client asks. What is asked stands in an [`Exchange`]; how long it took, and what did
//! not come, in a [`RoundTripTally`].

mod callee;
mod caller;
mod datagram;
mod datagram_answerer;
mod datagram_asker;
mod stream_answerer;
mod stream_asker;
mod tally;

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use linux::tcp::TcpOptions;
use measurement::{Exchange, Timestamp};

use crate::counters::Counters;
use crate::stream::{Step, Stream};
use callee::Callee;
use caller::Caller;
use datagram_answerer::DatagramAnswerer;
use datagram_asker::DatagramAsker;
use stream_answerer::StreamAnswerer;
use stream_asker::StreamAsker;

pub use tally::RoundTripTally;

/// Connections of one stream whose requests may be on their way to a [`callee`].
pub const MOST_CALLS: usize = callee::MOST_WAITING;

/// What every stream that asks is given.
pub struct Asking {
    /// What it asks for.
    pub exchange: Exchange,
    /// What it counts: bytes of both ways, answers as blocks.
    pub counters: Arc<Counters>,
    /// Where it notes how long answers took.
    pub tally: Arc<RoundTripTally>,
    /// How long an answer over UDP may take.
    pub patience: Duration,
}

/// Asks over a connected socket.
///
/// # Errors
/// What setsockopt(2) reports of `TCP_NODELAY`.
pub fn asker(socket: Link, asking: Asking) -> std::io::Result<Box<dyn Stream>> {
    Ok(match socket {
        Link::Tcp(socket) => Box::new(StreamAsker::new(socket, asking)?),
        Link::Udp(socket) => Box::new(DatagramAsker::new(unstamped(socket), asking)),
    })
}

/// Answers over a connected socket.
///
/// # Errors
/// What setsockopt(2) reports of `TCP_NODELAY`.
pub fn answerer(
    socket: Link,
    exchange: Exchange,
    counters: Arc<Counters>,
) -> std::io::Result<Box<dyn Stream>> {
    Ok(match socket {
        Link::Tcp(socket) => Box::new(StreamAnswerer::new(socket, exchange, counters)?),
        Link::Udp(socket) => Box::new(DatagramAnswerer::new(unstamped(socket), exchange, counters)),
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
pub fn caller(
    (to, options): (SocketAddr, TcpOptions),
    idle: Arc<TcpStream>,
    asking: Asking,
) -> Box<dyn Stream> {
    Box::new(Caller::new((to, options), idle, asking))
}

/// Answers whoever connects to `listener` from where `idle` is connected to.
pub fn callee(
    listener: Arc<TcpListener>,
    idle: &TcpStream,
    exchange: Exchange,
    counters: Arc<Counters>,
) -> Box<dyn Stream> {
    Box::new(Callee::new(listener, idle, exchange, counters))
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
struct Terms {
    request: usize,
    response: usize,
    depth: usize,
    every: Option<Duration>,
    busy: bool,
    /// Calls wait for what they need, since nobody else has the worker.
    calls_wait: bool,
}

impl Terms {
    fn of(exchange: &Exchange) -> Self {
        let bytes = |size: measurement::ByteSize| usize::try_from(size.bytes()).unwrap_or(1).max(1);
        Self {
            request: bytes(exchange.request),
            response: bytes(exchange.response),
            depth: usize::from(exchange.depth).max(1),
            every: exchange.every,
            busy: exchange.busy,
            calls_wait: false,
        }
    }

    /// Lets calls on `socket` wait, if nothing else has a time; whether they do. Then nobody
    /// asks to be woken.
    fn wait_in_calls(&mut self, socket: &impl AsFd) -> bool {
        // What does not fit the socket's buffers would wait for the other way.
        let under_way = self.depth.saturating_mul(self.request.max(self.response));
        if self.every.is_some() || self.busy || under_way > MOST_IN_CALLS {
            return false;
        }
        self.calls_wait = linux::set_call_timeout(socket, LONGEST_CALL).is_ok();
        self.calls_wait
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
        self.calls_wait && now.since(began) < LONGEST_STEP
    }

    /// Whether it asks the kernel again without having been woken.
    const fn is_awake(&self) -> bool {
        self.busy || self.calls_wait
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
const TURNS: u32 = 8;
/// Bytes on their way for which there is always room.
const MOST_IN_CALLS: usize = 32 * 1024;
/// So late may a worker hear of the end of the test.
const LONGEST_CALL: Duration = Duration::from_millis(10);
