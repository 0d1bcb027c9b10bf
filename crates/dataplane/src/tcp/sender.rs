//! Sends blocks of a byte stream: pacing, budget, counting and end. The system call that sends
//! the bytes is that of a [`Source`].

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use linux::epoll::Interest;
use measurement::{Engine, StreamCounters, Timestamp};

use crate::budget::{Budget, HOLD_RETRY};
use crate::counters::Counters;
use crate::pacing::Pacer;
use crate::scratch::Scratch;
use crate::stream::{Step, Stream};
use crate::tcp::WriteSource;

/// Implementation of sending on TCP by certain system calls, e.g. write(2): provides bytes and
/// hands them to the kernel. A [`Sender`] drives it.
pub trait Source: Send {
    /// The entry of this engine in [`measurement::engine::ENGINES`].
    const ENGINE: &'static Engine;

    /// Prepares up to `most` bytes, at least one, and returns how many; 0: the source is at its
    /// end.
    ///
    /// # Errors
    /// `EAGAIN`: none can be prepared before earlier ones are sent; `EINTR`; any other error,
    /// e.g. of read(2) on a file, ends the stream.
    fn offer(&mut self, most: usize, scratch: &Scratch) -> io::Result<usize>;

    /// Sends `count` of the bytes that were offered, and returns how many the kernel took.
    ///
    /// # Errors
    /// `EAGAIN`: the socket buffer is full; `EINTR`; `EPIPE`, `ECONNRESET` and others: the
    /// connection broke.
    fn send(&mut self, to: &TcpStream, count: usize, scratch: &Scratch) -> io::Result<usize>;

    /// The descriptor of the ring that becomes readable when a send has completed. None: the
    /// socket becomes writable.
    fn ring(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Ends the sending, and returns the bytes that the kernel took since the last
    /// [`Self::send`].
    fn finish(&mut self, _to: &TcpStream) -> u64 {
        0
    }
}

/// One sending TCP stream: a [`Stream`] that hands its payload to the kernel by `S`, a [`Source`].
pub struct Sender<S = WriteSource> {
    socket: Arc<TcpStream>,
    source: S,
    block: u64,
    /// Bytes of the current block that the socket has not taken.
    rest: u64,
    bytes: Option<Arc<Budget>>,
    pacer: Option<Pacer>,
    shares_cpu: bool,
    count: StreamCounters,
    published: Arc<Counters>,
}

impl Sender {
    /// A sender of blocks of `block` bytes to `socket` by write(2), which publishes its counters in
    /// `published`.
    pub fn new(socket: Arc<TcpStream>, block: u64, published: Arc<Counters>) -> Self {
        Self::with_source(WriteSource, socket, block, published)
    }
}

impl<S: Source> Sender<S> {
    /// A sender of blocks of `block` bytes to `socket` by `source`, which publishes its counters in
    /// `published`.
    pub fn with_source(
        source: S,
        socket: Arc<TcpStream>,
        block: u64,
        published: Arc<Counters>,
    ) -> Self {
        Self {
            socket,
            source,
            block,
            rest: 0,
            bytes: None,
            pacer: None,
            shares_cpu: false,
            count: StreamCounters::default(),
            published,
        }
    }

    /// Lets the stream end when `budget`, the bytes that all senders of the test may still send, is
    /// used up. `None`: the stream sends without end.
    #[must_use]
    pub fn with_bytes(mut self, budget: Option<Arc<Budget>>) -> Self {
        self.bytes = budget;
        self
    }

    /// Lets `pacer` space the blocks. `None`: the stream sends as fast as it can.
    #[must_use]
    pub fn with_pacer(mut self, pacer: Option<Pacer>) -> Self {
        self.pacer = pacer;
        self
    }

    /// Lets other threads have the CPU after each call ([`Step::AgainAfterOthers`]).
    #[must_use]
    pub const fn with_cpu_sharing(mut self, shares_cpu: bool) -> Self {
        self.shares_cpu = shares_cpu;
        self
    }

    /// Begins a block and returns its bytes; 0: the budget is spent. `None`: it is on hold.
    fn begin_block(&self) -> Option<u64> {
        self.bytes.as_ref().map_or(Some(self.block), |budget| budget.take(self.block))
    }

    fn account(&mut self, written: u64, now: Timestamp) {
        self.rest -= written;
        self.count.bytes += written;
        self.count.blocks += u64::from(self.rest == 0);
        self.count.last = now;
        self.published.publish(&self.count);
    }

    fn refused(&mut self, error: &io::Error) -> Step {
        match error.kind() {
            ErrorKind::WouldBlock => Step::Writable,
            ErrorKind::Interrupted => Step::Again,
            _ => self.finish(error.raw_os_error()),
        }
    }

    fn finish(&mut self, errno: Option<i32>) -> Step {
        self.count.bytes += self.source.finish(&self.socket);
        self.published.publish(&self.count);
        self.published.finish(errno);
        Step::Done
    }
}

impl<S: Source> Stream for Sender<S> {
    fn interest(&self) -> (BorrowedFd<'_>, Interest) {
        match self.source.ring() {
            Some(ring) => (ring, Interest::Readable),
            None => (self.socket.as_fd(), Interest::Writable),
        }
    }

    fn continues_in_kernel(&self) -> bool {
        self.source.ring().is_some()
    }

    fn halt(&mut self) {
        self.finish(None);
    }

    fn step(&mut self, now: Timestamp, scratch: &mut Scratch) -> Step {
        if self.rest == 0 {
            if let Some(pacer) = &mut self.pacer
                && let Err(wait) = pacer.step(now, 1, &scratch.statistics.pacing)
            {
                return wait.into();
            }
            match self.begin_block() {
                Some(0) => return self.finish(None),
                Some(bytes) => self.rest = bytes,
                None => return Step::Until(now.after(HOLD_RETRY)),
            }
            if let Some(pacer) = &mut self.pacer {
                pacer.sent(1);
            }
        }
        // Little at first, so that all streams of a test begin at about the same time.
        let most = if self.count.bytes == 0 { FIRST } else { scratch.most_sent };
        let rest = usize::try_from(self.rest).map_or(most, |rest| rest.min(most));
        let offered = match self.source.offer(rest, scratch) {
            Ok(0) => return self.finish(None),
            Ok(offered) => offered,
            Err(error) => return self.refused(&error),
        };
        match self.source.send(&self.socket, offered, scratch) {
            Ok(sent) => {
                self.account(sent as u64, now);
                // A short write means a full buffer, as good as EAGAIN (epoll(7)).
                if sent < offered && self.source.ring().is_none() {
                    Step::Writable
                } else if self.shares_cpu {
                    Step::AgainAfterOthers
                } else {
                    Step::Again
                }
            }
            Err(error) => self.refused(&error),
        }
    }
}

/// Bytes that each of thousands of streams can send within some ten milliseconds.
const FIRST: usize = 4096;
