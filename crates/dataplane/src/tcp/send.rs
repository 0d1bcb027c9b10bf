//! Sends blocks with write(2).

use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use linux::epoll::Interest;
use measurement::{StreamCounters, Timestamp};

use crate::budget::Budget;
use crate::counters::Counters;
use crate::pacing::Pacer;
use crate::scratch::Scratch;
use crate::stream::{Step, Stream};

/// One sending TCP stream.
pub struct Sender {
    socket: Arc<TcpStream>,
    block: u64,
    /// What write(2) has not taken of the current block.
    rest: u64,
    bytes: Option<Arc<Budget>>,
    pacer: Option<Pacer>,
    count: StreamCounters,
    published: Arc<Counters>,
}

impl Sender {
    /// A sender of blocks of `block` bytes, paced and limited as told.
    pub fn new(socket: Arc<TcpStream>, block: u64, published: Arc<Counters>) -> Self {
        Self {
            socket,
            block,
            rest: 0,
            bytes: None,
            pacer: None,
            count: StreamCounters::default(),
            published,
        }
    }

    /// Stops when `budget` has no bytes left.
    #[must_use]
    pub fn with_bytes(mut self, budget: Option<Arc<Budget>>) -> Self {
        self.bytes = budget;
        self
    }

    /// Paces the blocks.
    #[must_use]
    pub fn with_pacer(mut self, pacer: Option<Pacer>) -> Self {
        self.pacer = pacer;
        self
    }

    /// Begins a block; how many bytes it has, 0: the budget is spent.
    fn begin_block(&self) -> u64 {
        self.bytes.as_ref().map_or(self.block, |budget| budget.take(self.block))
    }

    fn account(&mut self, written: u64, now: Timestamp) {
        self.rest -= written;
        self.count.bytes += written;
        self.count.blocks += u64::from(self.rest == 0);
        self.count.last = now;
        self.published.publish(&self.count);
    }

    fn finish(&self, errno: Option<i32>) -> Step {
        self.published.finish(errno);
        Step::Done
    }
}

impl Stream for Sender {
    fn interest(&self) -> (BorrowedFd<'_>, Interest) {
        (self.socket.as_fd(), Interest::Writable)
    }

    fn halt(&mut self) {
        self.published.finish(None);
    }

    fn step(&mut self, now: Timestamp, scratch: &mut Scratch) -> Step {
        if self.rest == 0 {
            if let Some(pacer) = &mut self.pacer {
                match pacer.allowance(now, 1) {
                    Ok(_) => pacer.sent(1),
                    Err(due) => return Step::Until(due),
                }
            }
            self.rest = self.begin_block();
            if self.rest == 0 {
                return self.finish(None);
            }
        }
        let rest = usize::try_from(self.rest).unwrap_or(usize::MAX).min(scratch.payload.len());
        match (&*self.socket).write(&scratch.payload[..rest]) {
            Ok(written) => {
                self.account(written as u64, now);
                // A short write means a full buffer, as good as EAGAIN (epoll(7)).
                if written < rest { Step::Writable } else { Step::Again }
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock => Step::Writable,
                ErrorKind::Interrupted => Step::Again,
                _ => self.finish(error.raw_os_error()),
            },
        }
    }
}
