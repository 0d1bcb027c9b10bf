//! Receives a byte stream: counting, goal and end of stream. The system call that takes the bytes
//! is that of a [`Sink`].

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use linux::epoll::Interest;
use measurement::{Engine, StreamCounters, Timestamp};

use crate::budget::Goal;
use crate::counters::Counters;
use crate::scratch::Scratch;
use crate::stream::{Step, Stream};
use crate::tcp::ReadSink;
use crate::tcp::low_water::LowWater;

/// Implementation of receiving on TCP by certain system calls, e.g. read(2): takes the bytes that
/// have arrived from the kernel. A [`Receiver`] drives it.
pub trait Sink: Send {
    /// The entry of this engine in [`measurement::engine::ENGINES`].
    const ENGINE: &'static Engine;

    /// Takes what has arrived, up to about a block, and returns its bytes; 0: the stream has
    /// ended.
    ///
    /// # Errors
    /// `EAGAIN`: nothing has arrived; `EINTR`; `ECONNRESET` and others: the connection broke.
    fn take(&mut self, from: &TcpStream, scratch: &mut Scratch) -> io::Result<usize>;

    /// The descriptor of the ring that becomes readable when payload has arrived. None: the
    /// socket does.
    fn ring(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// One receiving TCP stream: a [`Stream`] that takes its payload from the kernel by `S`, a
/// [`Sink`].
pub struct Receiver<S = ReadSink> {
    socket: Arc<TcpStream>,
    sink: S,
    goal: Option<Arc<Goal>>,
    low_water: LowWater,
    count: StreamCounters,
    published: Arc<Counters>,
}

impl Receiver {
    /// A receiver that takes the payload of `socket` by recvmsg(2) and publishes its counters in
    /// `published`.
    pub fn new(socket: Arc<TcpStream>, published: Arc<Counters>) -> Self {
        Self::with_sink(ReadSink::new(usize::MAX), socket, published)
    }
}

impl<S: Sink> Receiver<S> {
    /// A receiver that takes the payload of `socket` by `sink` and publishes its counters in
    /// `published`.
    pub fn with_sink(sink: S, socket: Arc<TcpStream>, published: Arc<Counters>) -> Self {
        let (low_water, count) = (LowWater::new(None), StreamCounters::default());
        Self { socket, sink, goal: None, low_water, count, published }
    }

    /// Lets the stream add the bytes that it receives to `goal`, the number of bytes after which
    /// the test ends. `None`: the test has no such number.
    #[must_use]
    pub fn with_goal(mut self, goal: Option<Arc<Goal>>) -> Self {
        self.goal = goal;
        self
    }

    /// Lets the stream be woken only when up to `most` bytes have gathered, as long as it is fast.
    /// `None`: it is woken for whatever comes. A ring tells by itself what has arrived, and of a test
    /// that ends with an amount the last bytes are not to wait.
    #[must_use]
    pub fn with_low_water(mut self, most: Option<u32>) -> Self {
        let can_wait = self.sink.ring().is_none() && self.goal.is_none();
        self.low_water = LowWater::new(most.filter(|_| can_wait));
        self
    }

    /// Lets the stream count `bytes` that were read from its socket before.
    #[must_use]
    pub const fn with_read_before(mut self, bytes: u64) -> Self {
        self.count.bytes = bytes;
        self
    }

    fn account(&mut self, read: usize, now: Timestamp) {
        self.low_water.note(read);
        self.count.bytes += read as u64;
        self.count.blocks += 1;
        self.count.last = now;
        self.published.publish(&self.count);
        if let Some(goal) = &self.goal {
            goal.credit(read as u64);
        }
    }

    fn finish(&self, errno: Option<i32>) -> Step {
        self.published.publish(&self.count);
        self.published.finish(errno);
        Step::Done
    }
}

impl<S: Sink> Stream for Receiver<S> {
    fn interest(&self) -> (BorrowedFd<'_>, Interest) {
        let ring = self.sink.ring();
        (ring.unwrap_or_else(|| self.socket.as_fd()), Interest::Readable)
    }

    fn halt(&mut self) {
        self.published.finish(None);
    }

    fn step(&mut self, now: Timestamp, scratch: &mut Scratch) -> Step {
        match self.sink.take(&self.socket, scratch) {
            Ok(0) => self.finish(None),
            Ok(read) => {
                self.account(read, now);
                // Not Readable, however short the read: an end of stream or an error may
                // follow these bytes, and its edge-triggered event is used up.
                Step::Again
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock => {
                    let again = self.low_water.wait(&self.socket, now);
                    again.map_or(Step::Readable, Step::ReadableOr)
                }
                ErrorKind::Interrupted => Step::Again,
                _ => self.finish(error.raw_os_error()),
            },
        }
    }
}
