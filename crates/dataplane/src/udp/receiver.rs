//! Receives datagrams: the handshake is answered, payload is counted, bytes are added to a goal, and
//! a flow of iperf2 ends with the datagram by which its client ends it.
//! The system call that takes them is that of a [`ReceiveMethod`].

use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, mpsc};

use linux::epoll::Interest;
use linux::udp::{ReceiveBatch, Received};
use measurement::{Engine, Timestamp};

use crate::SequenceWidth;
use crate::budget::Goal;
use crate::counters::Counters;
use crate::scratch::Scratch;
use crate::stream::{Step, Stream};
use crate::udp::account::ReceiverAccount;
use crate::udp::poll_backoff::PollBackoff;
use crate::udp::{EarlyDatagram, ReceivedHeader, Recvmmsg};

/// Implementation of receiving datagrams by certain system calls, e.g. recvmmsg(2). A [`Receiver`]
/// drives it.
pub trait ReceiveMethod: Send + Sized {
    /// The entry of this engine in [`measurement::engine::ENGINES`].
    const ENGINE: &'static Engine;

    /// Makes one that takes datagrams of up to `length` bytes from `socket`, on which it sets
    /// its options.
    ///
    /// # Errors
    /// The kernel does not support it (`ENOSYS`, `ENOPROTOOPT`, `EINVAL`), forbids it (`EPERM`),
    /// or has no descriptor or memory for it (`EMFILE`, `ENOMEM`).
    fn open(socket: &UdpSocket, length: usize) -> io::Result<Self>;

    /// Receives the packets that have arrived, without waiting, and returns how many. With GRO
    /// a packet holds several datagrams.
    ///
    /// # Errors
    /// `EAGAIN`: there is none; `EINTR`; `ECONNREFUSED`: an ICMP error of a datagram sent
    /// earlier (udp(7)); any other error ends the stream.
    fn receive(&mut self, from: &UdpSocket, room: &mut ReceiveBatch) -> io::Result<usize>;

    /// The packet at `index` of those received by the last call of [`Self::receive`].
    fn get<'a>(&'a self, room: &'a ReceiveBatch, index: usize) -> Received<'a>;

    /// The descriptor of the ring that becomes readable when packets have arrived. None: the
    /// socket does.
    fn ring(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// One receiving UDP stream: a [`Stream`] that takes datagrams from the kernel by `I`, a
/// [`ReceiveMethod`].
pub struct Receiver<I = Recvmmsg> {
    engine: I,
    socket: Arc<UdpSocket>,
    header: ReceivedHeader,
    early: Option<Early>,
    goal: Option<Arc<Goal>>,
    account: ReceiverAccount,
    backoff: PollBackoff,
    published: Arc<Counters>,
}

/// Datagrams of a flow of iperf2 that came to another socket.
struct Early {
    datagrams: mpsc::Receiver<EarlyDatagram>,
    /// Time until which a datagram may arrive at both sockets. `None`: datagrams arrive at one socket.
    repeats_until: Option<Timestamp>,
    /// Whether the kernel stamps the arrivals of the others.
    has_arrivals: bool,
}

impl Receiver {
    /// A receiver that takes datagrams from a connected socket by recvmmsg(2) and publishes its
    /// counters in `published`. `width` is that of their sequence numbers.
    pub fn new(socket: Arc<UdpSocket>, width: SequenceWidth, published: Arc<Counters>) -> Self {
        Self::with_engine(Recvmmsg, socket, width.into(), published)
    }
}

impl<I: ReceiveMethod> Receiver<I> {
    pub(crate) fn with_engine(
        engine: I,
        socket: Arc<UdpSocket>,
        header: ReceivedHeader,
        published: Arc<Counters>,
    ) -> Self {
        // A completion of a ring interrupts a sleep, so that there is nothing to gain.
        let backoff = if engine.ring().is_some() {
            PollBackoff::disabled()
        } else {
            PollBackoff::new(&socket)
        };
        let mut account = ReceiverAccount::new(header.clone());
        let early = Early::of(&header, &socket);
        account.ignore_repeated(early.as_ref().is_some_and(|early| early.repeats_until.is_some()));
        Self { engine, socket, header, early, goal: None, account, backoff, published }
    }

    /// Lets the stream add the bytes that it receives to `goal`, the number of bytes after which
    /// the test ends. `None`: the test has no such number.
    #[must_use]
    pub fn with_goal(mut self, goal: Option<Arc<Goal>>) -> Self {
        self.goal = goal;
        self
    }

    /// Counts what came to another socket.
    fn take_early(&mut self, now: Timestamp) {
        let Some(early) = &self.early else { return };
        let before = self.account.count().blocks;
        for EarlyDatagram { payload, arrival } in early.datagrams.try_iter() {
            if !self.header.consume(&payload, &self.socket) {
                let arrival = Some(arrival).filter(|_| early.has_arrivals);
                self.account.record_early(&payload, arrival, now);
            }
        }
        if early.repeats_until.is_some_and(|until| now >= until) {
            self.early = None;
            self.account.ignore_repeated(false);
        }
        let count = self.account.count();
        if count.blocks > before {
            self.published.publish_datagrams(count);
        }
    }

    /// Ends the receiver if the client has ended the flow. Returns whether it has.
    fn ends_with_flow(&self) -> bool {
        let ReceivedHeader::Iperf2(flow) = &self.header else { return false };
        let has_ended = flow.end().is_some();
        if has_ended {
            flow.conclude(self.account.transit());
            self.published.finish(None);
        }
        has_ended
    }

    fn refused(&mut self, error: &io::Error, now: Timestamp) -> Step {
        match error.kind() {
            ErrorKind::WouldBlock => self.backoff.wait(now),
            ErrorKind::Interrupted => Step::Again,
            ErrorKind::ConnectionRefused if !self.header.is_answered() => Step::Again,
            _ => {
                self.published.finish(error.raw_os_error());
                Step::Done
            }
        }
    }
}

impl Early {
    fn of(header: &ReceivedHeader, socket: &UdpSocket) -> Option<Self> {
        let ReceivedHeader::Iperf2(flow) = header else { return None };
        let repeats_until = flow.repeats_for().map(|time| crate::now().after(time));
        let has_arrivals = linux::udp::has_timestamps(socket);
        Some(Self { datagrams: flow.take_early()?, repeats_until, has_arrivals })
    }
}

impl<I: ReceiveMethod> Stream for Receiver<I> {
    fn interest(&self) -> (BorrowedFd<'_>, Interest) {
        (self.engine.ring().unwrap_or_else(|| self.socket.as_fd()), Interest::Readable)
    }

    fn halt(&mut self) {
        self.published.finish(None);
    }

    fn step(&mut self, now: Timestamp, scratch: &mut Scratch) -> Step {
        self.take_early(now);
        let packets = match self.engine.receive(&self.socket, &mut scratch.incoming) {
            Ok(packets) => packets,
            Err(_) if self.ends_with_flow() => return Step::Done,
            Err(error) => return self.refused(&error, now),
        };
        let before = self.account.count().bytes;
        for index in 0..packets {
            let received = self.engine.get(&scratch.incoming, index);
            // One look at each datagram: the hot path.
            let consumes = |one: &&[u8]| self.header.consume(one, &self.socket);
            let payload = received.datagrams().filter(|one| !consumes(one));
            let variation = self.account.record_packet(payload, received.arrival, now);
            if let Some(nanos) = variation {
                scratch.statistics.variation.add(nanos);
            }
        }
        let count = self.account.count();
        self.published.publish_datagrams(count);
        let bytes = count.bytes - before;
        self.backoff.record(now, packets, bytes);
        if let Some(goal) = &self.goal {
            goal.credit(bytes);
        }
        if self.ends_with_flow() {
            return Step::Done;
        }
        if packets < scratch.incoming.capacity() { self.backoff.pause(now) } else { Step::Again }
    }
}
