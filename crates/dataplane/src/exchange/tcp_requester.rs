//! Sends requests over a TCP stream that stays open.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use linux::epoll::Interest;
use linux::message;
use measurement::{Probe, StreamCounters, Timestamp};

use super::{Parameters, RequesterConfig, RoundTripStatistics, Schedule};
use crate::counters::Counters;
use crate::scratch::Scratch;
use crate::stream::{Step, Stream};

/// The requester of one stream.
pub(super) struct TcpRequester {
    socket: Arc<TcpStream>,
    parameters: Parameters,
    schedule: Schedule,
    /// The sending times of the requests that have no response yet, the oldest first.
    waiting: VecDeque<Timestamp>,
    /// The arrival time of a response in this step; zero: none arrived, or a request was sent
    /// with that time.
    latest: Timestamp,
    /// Bytes of the next response that have arrived.
    received: usize,
    /// Bytes of the last request that the kernel has not taken.
    unsent: usize,
    count: StreamCounters,
    published: Arc<Counters>,
    statistics: Arc<RoundTripStatistics>,
    /// Each request; none: bytes of the payload.
    message: Option<Arc<[u8]>>,
}

impl TcpRequester {
    pub(super) fn new(socket: Arc<TcpStream>, config: RequesterConfig) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        let mut parameters = Parameters::new(&config.exchange);
        parameters.request = config.message.as_ref().map_or(parameters.request, |one| one.len());
        Ok(Self {
            socket,
            parameters,
            schedule: Schedule::new(parameters.every),
            waiting: VecDeque::with_capacity(parameters.depth),
            latest: Timestamp::default(),
            received: 0,
            unsent: 0,
            count: StreamCounters::default(),
            published: config.counters,
            statistics: config.statistics,
            message: config.message,
        })
    }

    /// Reads responses. Returns whether there may be more of them.
    fn receive(&mut self, scratch: &mut Scratch) -> io::Result<bool> {
        let room = scratch.buffer();
        let wanted = room.len().min(self.waiting.len() * self.parameters.response);
        let read = match message::receive(&*self.socket, &mut room[..wanted]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        };
        let now = crate::now();
        self.latest = now;
        self.count.bytes += read as u64;
        self.count.last = now;
        self.received += read;
        while self.received >= self.parameters.response {
            self.received -= self.parameters.response;
            let Some(sent) = self.waiting.pop_front() else { break };
            self.count.blocks += 1;
            let time = now.since(sent);
            self.statistics.add(time);
            if self.parameters.every.is_some() {
                self.statistics.keep(&Probe { sent, round_trip: Some(time), ..Probe::default() });
            }
        }
        Ok(read == wanted && !self.waiting.is_empty())
    }

    /// Sends what may be sent; what is waited for then.
    fn send(&mut self, now: Timestamp, scratch: &Scratch) -> io::Result<Step> {
        loop {
            if self.unsent == 0 {
                if self.waiting.len() >= self.parameters.depth || self.statistics.is_closed() {
                    return Ok(self.parameters.wait());
                }
                if let Some(due) = self.schedule.due(now) {
                    return Ok(Step::ReadableOr(due));
                }
                self.unsent = self.parameters.request;
                // The arrival of a response and the next request share one reading of the clock.
                let sent = std::mem::take(&mut self.latest);
                let sent = if sent == Timestamp::default() { crate::now() } else { sent };
                self.waiting.push_back(sent);
                self.statistics.add_unsent(self.schedule.sent(now));
            }
            let rest = match &self.message {
                Some(message) => &message[message.len() - self.unsent..],
                None => &scratch.payload()[..self.unsent],
            };
            match message::send(&*self.socket, rest) {
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

    fn run_turns(&mut self, now: Timestamp, scratch: &mut Scratch) -> io::Result<Step> {
        let mut before = self.count.blocks;
        let mut step = self.turn(now, scratch);
        // Where system calls wait, turns follow each other without a return to the runtime.
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
        let more = !self.waiting.is_empty() && self.receive(scratch)?;
        let step = self.send(now, scratch)?;
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
        let result = self.run_turns(now, scratch);
        self.parameters.conclude(result, &self.published)
    }
}
