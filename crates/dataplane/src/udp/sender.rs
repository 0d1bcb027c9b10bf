//! Sends datagrams: headers, pacing, budget, counting. The system call that takes a batch of them
//! is that of a [`SendMethod`].

use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use linux::epoll::Interest;
use linux::udp::SendBatch;
use measurement::{Engine, StreamCounters, Timestamp};

use crate::SequenceWidth;
use crate::budget::{Budget, HOLD_RETRY};
use crate::counters::Counters;
use crate::pacing::Pacer;
use crate::scratch::Scratch;
use crate::stream::{Step, Stream};
use crate::udp::{DatagramHeader, Gso, Sendmmsg};

/// Implementation of sending a batch of datagrams by certain system calls, e.g. sendmmsg(2). A
/// [`Sender`] drives it.
pub trait SendMethod: Send + Sized {
    /// The entry of this engine in [`measurement::engine::ENGINES`].
    const ENGINE: &'static Engine;

    /// The most datagrams that it takes in one call.
    const MOST: usize = usize::MAX;

    /// Makes one that sends datagrams of `length` bytes over a connected socket.
    ///
    /// # Errors
    /// The kernel does not support it (`ENOSYS`, `ENOPROTOOPT`), forbids it (`EPERM`), or has no
    /// descriptor or memory for it (`EMFILE`, `ENOMEM`); or it does not take datagrams of this
    /// length on this path.
    fn open(socket: &UdpSocket, length: usize) -> io::Result<Self>;

    /// Sends the first `count` datagrams of the batch, and returns how many the kernel took.
    ///
    /// # Errors
    /// The error of the first datagram. `EAGAIN`: the socket buffer is full; `ENOBUFS`: a queue
    /// of the device is full; `ECONNREFUSED`: an ICMP error of an earlier datagram; any other
    /// error ends the stream.
    fn send(&mut self, batch: &mut SendBatch, to: &UdpSocket, count: usize) -> io::Result<usize>;
}

/// One sending UDP stream: a [`Stream`] that hands datagrams to the kernel by `O`, a
/// [`SendMethod`].
pub struct Sender<O = Sendmmsg> {
    engine: O,
    socket: Arc<UdpSocket>,
    header: DatagramHeader,
    datagrams: Option<Arc<Budget>>,
    /// Datagrams that were taken from the budget and are not sent.
    held: usize,
    pacer: Option<Pacer>,
    /// Nanoseconds that the kernel needed for each datagram of the last batch.
    each: u64,
    count: StreamCounters,
    published: Arc<Counters>,
}

impl Sender {
    /// A sender of datagrams over a connected socket by sendmmsg(2), which publishes its counters
    /// in `published`. `width` is that of the sequence numbers.
    pub fn new(socket: Arc<UdpSocket>, width: SequenceWidth, published: Arc<Counters>) -> Self {
        Self::with_engine(Sendmmsg, socket, width.into(), published)
    }
}

impl Sender<Gso> {
    /// A sender of datagrams over a connected socket by GSO, which publishes its counters in
    /// `published`. It does not check whether the kernel and the path support GSO;
    /// [`SendMethod::open`] does.
    pub fn gso(socket: Arc<UdpSocket>, width: SequenceWidth, published: Arc<Counters>) -> Self {
        Self::with_engine(Gso, socket, width.into(), published)
    }
}

impl<O: SendMethod> Sender<O> {
    pub(crate) fn with_engine(
        engine: O,
        socket: Arc<UdpSocket>,
        header: DatagramHeader,
        published: Arc<Counters>,
    ) -> Self {
        Self {
            engine,
            socket,
            header,
            datagrams: None,
            held: 0,
            pacer: None,
            each: 0,
            count: StreamCounters::default(),
            published,
        }
    }

    /// Lets the stream end when `budget`, the datagrams that all senders of the test may still
    /// send, is used up. `None`: the stream sends without end.
    #[must_use]
    pub fn with_datagrams(mut self, budget: Option<Arc<Budget>>) -> Self {
        self.datagrams = budget;
        self
    }

    /// Lets `pacer` space the datagrams. `None`: the stream sends as fast as it can.
    #[must_use]
    pub fn with_pacer(mut self, pacer: Option<Pacer>) -> Self {
        self.pacer = pacer;
        self
    }

    /// The number of datagrams that may go now; 0: the budget is spent.
    fn allowance(&mut self, now: Timestamp, scratch: &Scratch) -> Result<usize, Step> {
        let mut most = scratch.outgoing.capacity().min(O::MOST);
        if let Some(pacer) = &mut self.pacer {
            pacer.set_wake_cost(scratch.wake_cost);
            most = pacer.step(now, most, &scratch.statistics.pacing)?;
        }
        let Some(budget) = &self.datagrams else { return Ok(most) };
        if self.held < most {
            match budget.take((most - self.held) as u64) {
                Some(granted) => self.held += usize::try_from(granted).unwrap_or(0),
                None if self.held == 0 => return Err(Step::Until(now.after(HOLD_RETRY))),
                None => (),
            }
        }
        Ok(self.held.min(most))
    }

    /// Writes the headers of the next `count` datagrams, and returns the time in the first.
    fn prepare(&self, scratch: &mut Scratch, count: usize) -> Timestamp {
        let first = crate::now();
        // The kernel takes the datagrams of a batch one after another, and each arrives on its own:
        // with the same time in all headers, the batch would appear as jitter.
        let each = if O::ENGINE.is_batched() { 0 } else { self.each };
        // Clause 12.3: the first is 1.
        let sequence = self.count.sequence + 1;
        self.header.write_all(first, each, sequence, scratch.outgoing.payloads_mut(count));
        first
    }

    /// Measures how fast the kernel took the batch that it was given at `first`. A slow one teaches
    /// little: the time in a header must not be later than its datagram, also of a fast one.
    fn learn(&mut self, first: Timestamp, sent: usize) {
        if !O::ENGINE.is_batched() && sent > 1 {
            let span = crate::now().since(first) / u32::try_from(sent).unwrap_or(u32::MAX);
            let span = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
            self.each = span.min(self.each + self.each / SLOWLY + LEAST_MORE).min(MOST_EACH);
        }
    }

    fn account(&mut self, sent: usize, length: usize, now: Timestamp) {
        self.held -= if self.datagrams.is_some() { sent } else { 0 };
        self.count.sequence += sent as u64;
        self.count.blocks += sent as u64;
        self.count.bytes += (sent * length) as u64;
        self.count.last = now;
        if let Some(pacer) = &mut self.pacer {
            pacer.sent(sent);
        }
        self.published.publish_datagrams(&self.count);
    }

    fn refused(&self, error: &io::Error, now: Timestamp) -> Step {
        match error.kind() {
            ErrorKind::WouldBlock => Step::Writable,
            ErrorKind::Interrupted => Step::Again,
            // An ICMP error of an earlier datagram, reported once (udp(7)); the control
            // connection, if there is one, shows whether the peer is gone.
            ErrorKind::ConnectionRefused if !self.header.is_asked_for() => Step::Again,
            // The device queue is full (send(2)); epoll(7) does not report when it has room.
            _ if linux::lacks_buffers(error) => Step::Until(now.after(QUEUE_RETRY)),
            _ => {
                self.published.finish(error.raw_os_error());
                Step::Done
            }
        }
    }
}

impl<O: SendMethod> Stream for Sender<O> {
    fn interest(&self) -> (BorrowedFd<'_>, Interest) {
        (self.socket.as_fd(), Interest::Writable)
    }

    fn halt(&mut self) {
        self.published.finish(None);
    }

    fn step(&mut self, now: Timestamp, scratch: &mut Scratch) -> Step {
        let count = match self.allowance(now, scratch) {
            Ok(0) => {
                self.published.finish(None);
                return Step::Done;
            }
            Ok(count) => count,
            Err(wait) => return wait,
        };
        let first = self.prepare(scratch, count);
        match self.engine.send(&mut scratch.outgoing, &self.socket, count) {
            Ok(sent) => {
                self.learn(first, sent);
                self.account(sent, scratch.outgoing.length(), now);
                Step::Again
            }
            Err(error) => self.refused(&error, now),
        }
    }
}

/// Part of the time between two datagrams of a batch by which a slower batch lengthens it at most.
const SLOWLY: u64 = 256;
/// Nanoseconds that a slower batch adds at least.
const LEAST_MORE: u64 = 10;
/// 10 µs: a batch in which the thread was interrupted does not predict the next one.
const MOST_EACH: u64 = 10_000;
/// Time after which a full device queue has room again.
const QUEUE_RETRY: Duration = Duration::from_micros(50);
