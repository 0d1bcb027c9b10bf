//! Answers over a TCP stream that stays open.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use linux::epoll::Interest;
use measurement::{Exchange, StreamCounters, Timestamp};

use super::{MAX_TURNS, Parameters};
use crate::counters::Counters;
use crate::scratch::Scratch;
use crate::stream::{Step, Stream};

/// One stream.
pub(super) struct TcpResponder {
    socket: Arc<TcpStream>,
    parameters: Parameters,
    /// Bytes of the next request that have come.
    came: usize,
    /// Bytes of answers that the kernel has not taken.
    owed: usize,
    count: StreamCounters,
    published: Arc<Counters>,
}

impl TcpResponder {
    pub(super) fn new(
        socket: Arc<TcpStream>,
        exchange: Exchange,
        published: Arc<Counters>,
    ) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        let parameters = Parameters::new(&exchange);
        let count = StreamCounters::default();
        Ok(Self { socket, parameters, came: 0, owed: 0, count, published })
    }

    /// Answers what has come whole, or a part of it.
    fn answer(&mut self, scratch: &Scratch) -> io::Result<()> {
        for _ in 0..MAX_PER_STEP {
            if self.owed == 0 {
                break;
            }
            // Each answer on its own, as it would be if the requests came one by one.
            let length = (self.owed - 1) % self.parameters.response + 1;
            let written = (&*self.socket).write(&scratch.payload()[..length])?;
            self.owed -= written;
            self.count.blocks += u64::from(self.owed.is_multiple_of(self.parameters.response));
            self.count.bytes += written as u64;
        }
        Ok(())
    }

    fn go_on(&mut self, now: Timestamp, scratch: &mut Scratch) -> io::Result<Step> {
        let mut step = self.turn(now, scratch);
        let mut turns = 1;
        // Where calls wait, turns follow each other without a detour.
        while self.parameters.blocking_calls && turns < MAX_TURNS && matches!(step, Ok(Step::Again))
        {
            turns += 1;
            step = self.turn(now, scratch);
        }
        step
    }

    fn turn(&mut self, now: Timestamp, scratch: &mut Scratch) -> io::Result<Step> {
        // Who does not take its answers is not listened to: nothing piles up here.
        self.answer(scratch)?;
        if self.owed > 0 {
            self.published.publish(&self.count);
            return Ok(Step::Again);
        }
        let room = scratch.buffer();
        let room_left = room.len();
        let read = (&*self.socket).read(room)?;
        if read == 0 {
            self.published.finish(None);
            return Ok(Step::Done);
        }
        self.came += read;
        let whole = self.came / self.parameters.request;
        self.came %= self.parameters.request;
        self.owed += whole * self.parameters.response;
        self.count.bytes += read as u64;
        self.count.last = now;
        let answered = self.answer(scratch);
        self.published.publish(&self.count);
        answered?;
        // Less than there was room for was all that there was.
        let is_all = read < room_left && self.owed == 0;
        Ok(if is_all { self.parameters.wait() } else { Step::Again })
    }
}

impl Stream for TcpResponder {
    fn interest(&self) -> (BorrowedFd<'_>, Interest) {
        (self.socket.as_fd(), Interest::Both)
    }

    fn use_blocking_calls(&mut self) -> bool {
        self.parameters.use_blocking_calls(&*self.socket)
    }

    fn halt(&mut self) {
        self.published.finish(None);
    }

    fn step(&mut self, now: Timestamp, scratch: &mut Scratch) -> Step {
        let result = self.go_on(now, scratch);
        self.parameters.conclude(result, &self.published)
    }
}

/// Answers that are sent before it is another stream's turn.
const MAX_PER_STEP: usize = 64;
