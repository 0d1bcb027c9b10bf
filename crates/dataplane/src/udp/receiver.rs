//! Receives datagrams and accounts for each. How they are taken from the kernel is the
//! business of an [`ReceiveMethod`].

use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

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
use crate::udp::{Recvmmsg, handshake};

/// How datagrams are taken from the kernel.
pub trait ReceiveMethod: Send + Sized {
    /// Its entry in the list of engines.
    const ENGINE: &'static Engine;

    /// One that takes datagrams of up to `length` bytes from a socket, which it sets up.
    ///
    /// # Errors
    /// Why there is none.
    fn open(socket: &UdpSocket, length: usize) -> io::Result<Self>;

    /// Receives what is there, without waiting; how many datagrams, or pieces of them, came.
    ///
    /// # Errors
    /// What the kernel reports, `EAGAIN` if there is none.
    fn receive(&mut self, from: &UdpSocket, room: &mut ReceiveBatch) -> io::Result<usize>;

    /// Number `index` of those of the last call.
    fn get<'a>(&'a self, room: &'a ReceiveBatch, index: usize) -> Received<'a>;

    /// What becomes readable when something has come; none: the socket itself.
    fn ring(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// One receiving UDP stream.
pub struct Receiver<I = Recvmmsg> {
    engine: I,
    socket: Arc<UdpSocket>,
    goal: Option<Arc<Goal>>,
    account: ReceiverAccount,
    backoff: PollBackoff,
    published: Arc<Counters>,
}

impl Receiver {
    /// A receiver of datagrams of one peer, each on its own unless the socket coalesces them.
    pub fn new(socket: Arc<UdpSocket>, width: SequenceWidth, published: Arc<Counters>) -> Self {
        Self::with_engine(Recvmmsg, socket, width, published)
    }
}

impl<I: ReceiveMethod> Receiver<I> {
    pub(crate) fn with_engine(
        engine: I,
        socket: Arc<UdpSocket>,
        width: SequenceWidth,
        published: Arc<Counters>,
    ) -> Self {
        // What a ring brings interrupts every sleep.
        let backoff = if engine.ring().is_some() {
            PollBackoff::disabled()
        } else {
            PollBackoff::new(&socket)
        };
        Self {
            engine,
            socket,
            goal: None,
            account: ReceiverAccount::new(width),
            backoff,
            published,
        }
    }

    /// Credits what it receives to `goal`.
    #[must_use]
    pub fn with_goal(mut self, goal: Option<Arc<Goal>>) -> Self {
        self.goal = goal;
        self
    }

    fn refused(&mut self, error: &io::Error, now: Timestamp) -> Step {
        match error.kind() {
            ErrorKind::WouldBlock => self.backoff.wait(now),
            ErrorKind::Interrupted | ErrorKind::ConnectionRefused => Step::Again,
            _ => {
                self.published.finish(error.raw_os_error());
                Step::Done
            }
        }
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
        let packets = match self.engine.receive(&self.socket, &mut scratch.incoming) {
            Ok(packets) => packets,
            Err(error) => return self.refused(&error, now),
        };
        let before = self.account.count().bytes;
        for index in 0..packets {
            let received = self.engine.get(&scratch.incoming, index);
            let socket = &self.socket;
            let payload = received.datagrams().filter(|one| !handshake::consume(one, socket));
            self.account.record_packet(payload, received.arrival, now);
        }
        let count = self.account.count();
        self.published.publish_datagrams(count);
        let bytes = count.bytes - before;
        self.backoff.record(packets, bytes);
        if let Some(goal) = &self.goal {
            goal.credit(bytes);
        }
        Step::Again
    }
}
