//! Responds over a TCP stream that stays open.

use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use linux::epoll::Interest;
use linux::message;
use measurement::{Exchange, StreamCounters, Timestamp};

use super::{MAX_TURNS, Parameters};
use crate::counters::Counters;
use crate::scratch::Scratch;
use crate::stream::{Step, Stream};

/// The responder of one stream.
pub(super) struct TcpResponder {
    socket: Arc<TcpStream>,
    parameters: Parameters,
    /// Bytes of the next request that have arrived.
    received: usize,
    /// Bytes of responses that the kernel has not taken.
    unsent: usize,
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
        Ok(Self { socket, parameters, received: 0, unsent: 0, count, published })
    }

    /// Sends responses to the requests that have arrived, or a part of these.
    fn respond(&mut self, scratch: &Scratch) -> io::Result<()> {
        for _ in 0..MAX_PER_STEP {
            if self.unsent == 0 {
                break;
            }
            // Each response by a write of its own, as if the requests arrived one by one.
            let length = (self.unsent - 1) % self.parameters.response + 1;
            let written = message::send(&*self.socket, &scratch.payload()[..length])?;
            self.unsent -= written;
            self.count.blocks += u64::from(self.unsent.is_multiple_of(self.parameters.response));
            self.count.bytes += written as u64;
        }
        Ok(())
    }

    fn run_turns(&mut self, now: Timestamp, scratch: &mut Scratch) -> io::Result<Step> {
        let mut step = self.turn(now, scratch);
        let mut turns = 1;
        // Where system calls wait, turns follow each other without a return to the runtime.
        while self.parameters.blocking_calls && turns < MAX_TURNS && matches!(step, Ok(Step::Again))
        {
            turns += 1;
            step = self.turn(now, scratch);
        }
        step
    }

    fn turn(&mut self, now: Timestamp, scratch: &mut Scratch) -> io::Result<Step> {
        // No request is read before all responses are sent, so that nothing accumulates here.
        self.respond(scratch)?;
        if self.unsent > 0 {
            self.published.publish(&self.count);
            return Ok(Step::Again);
        }
        let room = scratch.buffer();
        let room_left = room.len();
        let read = message::receive(&*self.socket, room)?;
        if read == 0 {
            self.published.finish(None);
            return Ok(Step::Done);
        }
        self.received += read;
        let whole = self.received / self.parameters.request;
        self.received %= self.parameters.request;
        self.unsent += whole * self.parameters.response;
        self.count.bytes += read as u64;
        self.count.last = now;
        let sent = self.respond(scratch);
        self.published.publish(&self.count);
        sent?;
        // A read that did not fill the buffer emptied the socket.
        let is_all = read < room_left && self.unsent == 0;
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
        let result = self.run_turns(now, scratch);
        self.parameters.conclude(result, &self.published)
    }
}

/// Responses that are sent before it is another stream's turn.
const MAX_PER_STEP: usize = 64;
