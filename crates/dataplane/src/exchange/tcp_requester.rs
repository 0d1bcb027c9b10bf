//! Sends requests over a TCP stream that stays open.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::sync::Arc;

use linux::epoll::Interest;
use linux::message;
use measurement::{Probe, StreamCounters, Timestamp};

use super::exchange_stream::{ExchangeStream, Further, Turn};
use super::{Parameters, RequesterConfig, RoundTripStatistics, Schedule};
use crate::scratch::Scratch;
use crate::stream::Step;

/// The requester of one stream.
pub(super) struct TcpRequester {
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
    statistics: Arc<RoundTripStatistics>,
    /// Each request; none: bytes of the payload.
    message: Option<Arc<[u8]>>,
}

impl TcpRequester {
    pub(super) fn stream(
        socket: Arc<TcpStream>,
        config: RequesterConfig,
    ) -> io::Result<ExchangeStream<TcpStream, Self>> {
        socket.set_nodelay(true)?;
        let mut parameters = Parameters::new(&config.exchange);
        parameters.request = config.message.as_ref().map_or(parameters.request, |one| one.len());
        let role = Self {
            schedule: Schedule::new(parameters.every),
            waiting: VecDeque::with_capacity(parameters.depth),
            latest: Timestamp::default(),
            received: 0,
            unsent: 0,
            statistics: config.statistics,
            message: config.message,
        };
        let (count, published) = (StreamCounters::default(), config.counters);
        Ok(ExchangeStream { socket, parameters, count, published, role })
    }
}

impl ExchangeStream<TcpStream, TcpRequester> {
    /// Reads responses. Returns whether there may be more of them.
    fn receive(&mut self, scratch: &mut Scratch) -> io::Result<bool> {
        let room = scratch.buffer();
        let wanted = room.len().min(self.role.waiting.len() * self.parameters.response);
        let read = match message::receive(&*self.socket, &mut room[..wanted]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        };
        let now = crate::now();
        self.role.latest = now;
        self.count.bytes += read as u64;
        self.count.last = now;
        self.role.received += read;
        while self.role.received >= self.parameters.response {
            self.role.received -= self.parameters.response;
            let Some(sent) = self.role.waiting.pop_front() else { break };
            self.count.blocks += 1;
            let time = now.since(sent);
            self.role.statistics.add(time);
            if self.parameters.every.is_some() {
                self.role.statistics.keep(&Probe {
                    sent,
                    round_trip: Some(time),
                    ..Probe::default()
                });
            }
        }
        Ok(read == wanted && !self.role.waiting.is_empty())
    }

    /// Sends what may be sent; what is waited for then.
    fn send(&mut self, now: Timestamp, scratch: &Scratch) -> io::Result<Step> {
        loop {
            if self.role.unsent == 0 {
                if self.role.waiting.len() >= self.parameters.depth
                    || self.role.statistics.is_closed()
                {
                    return Ok(self.parameters.wait());
                }
                if let Some(due) = self.role.schedule.due(now) {
                    return Ok(Step::ReadableOr(due));
                }
                self.role.unsent = self.parameters.request;
                // The arrival of a response and the next request share one reading of the clock.
                let sent = std::mem::take(&mut self.role.latest);
                let sent = if sent == Timestamp::default() { crate::now() } else { sent };
                self.role.waiting.push_back(sent);
                self.role.statistics.add_unsent(self.role.schedule.sent(now));
            }
            let rest = match &self.role.message {
                Some(message) => &message[message.len() - self.role.unsent..],
                None => &scratch.payload()[..self.role.unsent],
            };
            match message::send(&*self.socket, rest) {
                Ok(written) => {
                    self.role.unsent -= written;
                    self.count.bytes += written as u64;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Ok(self.parameters.wait());
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl Turn for ExchangeStream<TcpStream, TcpRequester> {
    const INTEREST: Interest = Interest::Both;
    const FURTHER: Further = Further::AfterResponses;

    fn turn(&mut self, now: Timestamp, scratch: &mut Scratch) -> io::Result<Step> {
        self.role.latest = Timestamp::default();
        let more = !self.role.waiting.is_empty() && self.receive(scratch)?;
        let step = self.send(now, scratch)?;
        self.count.sequence = self.count.blocks + self.role.waiting.len() as u64;
        self.published.publish(&self.count);
        Ok(if more { Step::Again } else { step })
    }
}
