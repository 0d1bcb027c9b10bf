//! Receives with read(2).

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use linux::epoll::Interest;
use measurement::{StreamCounters, Timestamp};

use crate::budget::Goal;
use crate::counters::Counters;
use crate::scratch::Scratch;
use crate::stream::{Step, Stream};

/// One receiving TCP stream.
pub struct Receiver {
    socket: Arc<TcpStream>,
    goal: Option<Arc<Goal>>,
    count: StreamCounters,
    published: Arc<Counters>,
}

impl Receiver {
    /// A receiver of whatever comes.
    pub fn new(socket: Arc<TcpStream>, published: Arc<Counters>) -> Self {
        Self { socket, goal: None, count: StreamCounters::default(), published }
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

impl Stream for Receiver {
    fn interest(&self) -> (BorrowedFd<'_>, Interest) {
        (self.socket.as_fd(), Interest::Readable)
    }

    fn halt(&mut self) {
        self.published.finish(None);
    }

    fn step(&mut self, now: Timestamp, scratch: &mut Scratch) -> Step {
        match (&*self.socket).read(&mut scratch.buffer) {
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
