//! Asks over a TCP stream that stays open.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use linux::epoll::Interest;
use measurement::{Probe, StreamCounters, Timestamp};

use super::{Parameters, RequesterConfig, RoundTripStatistics, Schedule};
use crate::counters::Counters;
use crate::scratch::Scratch;
use crate::stream::{Step, Stream};

/// One stream.
pub(super) struct TcpRequester {
    socket: Arc<TcpStream>,
    parameters: Parameters,
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
    statistics: Arc<RoundTripStatistics>,
}

impl TcpRequester {
    pub(super) fn new(socket: Arc<TcpStream>, config: RequesterConfig) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        let parameters = Parameters::new(&config.exchange);
        Ok(Self {
            socket,
            parameters,
            schedule: Schedule::new(parameters.every),
            waiting: VecDeque::with_capacity(parameters.depth),
            latest: Timestamp::default(),
            came: 0,
            unsent: 0,
            count: StreamCounters::default(),
            published: config.counters,
            statistics: config.statistics,
        })
    }

    /// Takes answers; whether there may be more of them.
    fn listen(&mut self, scratch: &mut Scratch) -> io::Result<bool> {
        let room = scratch.buffer();
        let wanted = room.len().min(self.waiting.len() * self.parameters.response);
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
        while self.came >= self.parameters.response {
            self.came -= self.parameters.response;
            let Some(sent) = self.waiting.pop_front() else { break };
            self.count.blocks += 1;
            let time = now.since(sent);
            self.statistics.came(time);
            if self.parameters.every.is_some() {
                self.statistics.note(&Probe { sent, round_trip: Some(time), ..Probe::default() });
            }
        }
        Ok(read == wanted && !self.waiting.is_empty())
    }

    /// Sends what may be sent; what is waited for then.
    fn ask(&mut self, now: Timestamp, scratch: &Scratch) -> io::Result<Step> {
        loop {
            if self.unsent == 0 {
                if self.waiting.len() >= self.parameters.depth {
                    return Ok(self.parameters.wait());
                }
                if let Some(due) = self.schedule.due(now) {
                    return Ok(Step::ReadableOr(due));
                }
                self.unsent = self.parameters.request;
                // The moment of the answer is that of the next request.
                let sent = std::mem::take(&mut self.latest);
                let sent = if sent == Timestamp::default() { crate::now() } else { sent };
                self.waiting.push_back(sent);
                self.statistics.skipped(self.schedule.sent(now));
            }
            match (&*self.socket).write(&scratch.payload()[..self.unsent]) {
                Ok(written) => {
                    self.unsent -= written;
                    self.count.bytes += written as u64;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Ok(self.parameters.wait());
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
            && self.parameters.goes_on(now, self.count.last)
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

impl Stream for TcpRequester {
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
