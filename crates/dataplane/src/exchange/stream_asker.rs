//! Asks over a TCP stream that stays open.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use linux::epoll::Interest;
use measurement::{Probe, StreamCounters, Timestamp};

use super::{Asking, RoundTripTally, Schedule, Terms};
use crate::counters::Counters;
use crate::scratch::Scratch;
use crate::stream::{Step, Stream};

/// One stream.
pub(super) struct StreamAsker {
    socket: Arc<TcpStream>,
    terms: Terms,
    schedule: Schedule,
    /// When each request left that has no answer yet, the oldest first.
    waiting: VecDeque<Timestamp>,
    /// When an answer came in this step; zero: none did, or a request has that time.
    latest: Timestamp,
    /// Bytes of the next answer that have come.
    came: usize,
    /// Bytes of the last request that the kernel has not taken.
    unsent: usize,
    count: StreamCounters,
    published: Arc<Counters>,
    tally: Arc<RoundTripTally>,
}

impl StreamAsker {
    pub(super) fn new(socket: Arc<TcpStream>, asking: Asking) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        let terms = Terms::of(&asking.exchange);
        Ok(Self {
            socket,
            terms,
            schedule: Schedule::new(terms.every),
            waiting: VecDeque::with_capacity(terms.depth),
            latest: Timestamp::default(),
            came: 0,
            unsent: 0,
            count: StreamCounters::default(),
            published: asking.counters,
            tally: asking.tally,
        })
    }

    /// Takes answers; whether there may be more of them.
    fn listen(&mut self, scratch: &mut Scratch) -> io::Result<bool> {
        let room = scratch.buffer();
        let wanted = room.len().min(self.waiting.len() * self.terms.response);
        let read = match (&*self.socket).read(&mut room[..wanted]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        };
        let now = crate::now();
        self.latest = now;
        self.count.bytes += read as u64;
        self.count.last = now;
        self.came += read;
        while self.came >= self.terms.response {
            self.came -= self.terms.response;
            let Some(sent) = self.waiting.pop_front() else { break };
            self.count.blocks += 1;
            let time = now.since(sent);
            self.tally.came(time);
            if self.terms.every.is_some() {
                self.tally.note(&Probe { sent, round_trip: Some(time), ..Probe::default() });
            }
        }
        Ok(read == wanted && !self.waiting.is_empty())
    }

    /// Sends what may be sent; what is waited for then.
    fn ask(&mut self, now: Timestamp, scratch: &Scratch) -> io::Result<Step> {
        loop {
            if self.unsent == 0 {
                if self.waiting.len() >= self.terms.depth {
                    return Ok(self.terms.wait());
                }
                if let Some(due) = self.schedule.due(now) {
                    return Ok(Step::ReadableOr(due));
                }
                self.unsent = self.terms.request;
                // The moment of the answer is that of the next request.
                let sent = std::mem::take(&mut self.latest);
                let sent = if sent == Timestamp::default() { crate::now() } else { sent };
                self.waiting.push_back(sent);
                self.tally.skipped(self.schedule.sent(now));
            }
            match (&*self.socket).write(&scratch.payload()[..self.unsent]) {
                Ok(written) => {
                    self.unsent -= written;
                    self.count.bytes += written as u64;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Ok(self.terms.wait());
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn go_on(&mut self, now: Timestamp, scratch: &mut Scratch) -> io::Result<Step> {
        let mut before = self.count.blocks;
        let mut step = self.turn(now, scratch);
        // Where calls wait, turns follow each other without a detour.
        while self.count.blocks > before
            && self.terms.goes_on(now, self.count.last)
            && matches!(step, Ok(Step::Again))
        {
            before = self.count.blocks;
            step = self.turn(self.count.last, scratch);
        }
        step
    }

    fn turn(&mut self, now: Timestamp, scratch: &mut Scratch) -> io::Result<Step> {
        self.latest = Timestamp::default();
        let more = !self.waiting.is_empty() && self.listen(scratch)?;
        let step = self.ask(now, scratch)?;
        self.count.sequence = self.count.blocks + self.waiting.len() as u64;
        self.published.publish(&self.count);
        Ok(if more { Step::Again } else { step })
    }
}

impl Stream for StreamAsker {
    fn interest(&self) -> (BorrowedFd<'_>, Interest) {
        (self.socket.as_fd(), Interest::Both)
    }

    fn wait_in_calls(&mut self) -> bool {
        self.terms.wait_in_calls(&*self.socket)
    }

    fn halt(&mut self) {
        self.published.finish(None);
    }

    fn step(&mut self, now: Timestamp, scratch: &mut Scratch) -> Step {
        let result = self.go_on(now, scratch);
        self.terms.conclude(result, &self.published)
    }
}
