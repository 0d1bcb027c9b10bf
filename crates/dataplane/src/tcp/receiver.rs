//! Receives a byte stream: counting, goal and end. How the bytes are taken is the
//! business of a [`Sink`].

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

/// Where the bytes of a receiving stream go.
pub trait Sink: Send {
    /// Its entry in the list of engines.
    const ENGINE: &'static Engine;

    /// Takes what has come, up to about a block; how many bytes, 0: the stream has ended.
    ///
    /// # Errors
    /// What the kernel reports, e.g. `EAGAIN`.
    fn take(&mut self, from: &TcpStream, scratch: &mut Scratch) -> io::Result<usize>;

    /// What becomes readable when something has come; none: the socket does.
    fn ring(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// One receiving TCP stream.
pub struct Receiver<S = ReadSink> {
    socket: Arc<TcpStream>,
    sink: S,
    goal: Option<Arc<Goal>>,
    count: StreamCounters,
    published: Arc<Counters>,
}

impl Receiver {
    /// A receiver of whatever comes, which it copies.
    pub fn new(socket: Arc<TcpStream>, published: Arc<Counters>) -> Self {
        Self::with_sink(ReadSink, socket, published)
    }
}

impl<S: Sink> Receiver<S> {
    /// A receiver of whatever comes, which it gives to `sink`.
    pub fn with_sink(sink: S, socket: Arc<TcpStream>, published: Arc<Counters>) -> Self {
        Self { socket, sink, goal: None, count: StreamCounters::default(), published }
    }

    /// Credits what it receives to `goal`.
    #[must_use]
    pub fn with_goal(mut self, goal: Option<Arc<Goal>>) -> Self {
        self.goal = goal;
        self
    }

    fn account(&mut self, read: usize, now: Timestamp) {
        self.count.bytes += read as u64;
        self.count.blocks += 1;
        self.count.last = now;
        self.published.publish(&self.count);
        if let Some(goal) = &self.goal {
            goal.credit(read as u64);
        }
    }

    fn finish(&self, errno: Option<i32>) -> Step {
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
                // stand behind these bytes, and the event that told of it is used up.
                Step::Again
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock => Step::Readable,
                ErrorKind::Interrupted => Step::Again,
                _ => self.finish(error.raw_os_error()),
            },
        }
    }
}
