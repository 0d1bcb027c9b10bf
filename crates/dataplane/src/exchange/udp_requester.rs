//! Sends requests over UDP, where a response may be lost.

use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Duration;

use linux::epoll::Interest;
use linux::message;
use measurement::{Probe, StreamCounters, Timestamp};

use super::exchange_stream::{ExchangeStream, Further, Turn};
use super::{Parameters, RequesterConfig, RoundTripStatistics, Schedule, udp_message};
use crate::scratch::Scratch;
use crate::stream::Step;

/// The requester of one stream. Requests are numbered from 1. Those from `oldest` to `last` wait
/// for their responses, or have them and follow one that waits.
pub(super) struct UdpRequester {
    patience: Duration,
    schedule: Schedule,
    request: Box<[u8]>,
    /// The sending time of each; zero: it has its response.
    waiting: Box<[Timestamp]>,
    oldest: u64,
    last: u64,
    /// The arrival time of a response in this step; zero: none arrived, or a request was sent
    /// with that time.
    latest: Timestamp,
    statistics: Arc<RoundTripStatistics>,
}

impl UdpRequester {
    pub(super) fn stream(
        socket: Arc<UdpSocket>,
        config: RequesterConfig,
    ) -> ExchangeStream<UdpSocket, Self> {
        let parameters = Parameters::new(&config.exchange);
        let role = Self {
            patience: config.patience,
            schedule: Schedule::new(parameters.every),
            request: vec![0; parameters.request].into_boxed_slice(),
            waiting: vec![Timestamp::default(); parameters.depth].into_boxed_slice(),
            oldest: 1,
            last: 0,
            latest: Timestamp::default(),
            statistics: config.statistics,
        };
        let (count, published) = (StreamCounters::default(), config.counters);
        ExchangeStream { socket, parameters, count, published, role }
    }
}

impl ExchangeStream<UdpSocket, UdpRequester> {
    fn slot(&mut self, number: u64) -> &mut Timestamp {
        let place = number % self.role.waiting.len() as u64;
        &mut self.role.waiting[usize::try_from(place).unwrap_or(0)]
    }

    /// Reads the responses that have arrived. Returns whether there may be more of them.
    fn receive(&mut self, scratch: &mut Scratch) -> io::Result<bool> {
        let room = scratch.buffer();
        for _ in 0..MAX_PER_STEP {
            if self.role.oldest > self.role.last {
                return Ok(false);
            }
            match message::receive_datagram(&*self.socket, room) {
                Ok(length) => self.record(&room[..length.min(room.len())], length),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return Ok(false),
                    // ConnectionRefused: an ICMP error of an earlier request (udp(7)), whose
                    // response will count as lost.
                    ErrorKind::Interrupted | ErrorKind::ConnectionRefused => {}
                    _ => return Err(error),
                },
            }
        }
        Ok(true)
    }

    /// Counts a response, whose datagram had `length` bytes.
    fn record(&mut self, answer: &[u8], length: usize) {
        let now = crate::now();
        self.role.latest = now;
        // A repeated reply of the handshake is shorter than any response.
        let number = udp_message::number(answer).filter(|_| length == self.parameters.response);
        let Some(number) = number.filter(|number| *number <= self.role.last) else {
            self.count.malformed += 1;
            return;
        };
        self.count.bytes += answer.len() as u64;
        self.count.last = now;
        let is_late = number < self.role.oldest;
        let sent = if is_late { Timestamp::default() } else { std::mem::take(self.slot(number)) };
        if sent == Timestamp::default() {
            *(if is_late { &mut self.count.late } else { &mut self.count.duplicate }) += 1;
            return;
        }
        self.count.blocks += 1;
        self.count.unique += 1;
        let time = now.since(sent);
        self.role.statistics.add(time);
        if self.parameters.every.is_some() {
            let (arrived, answered) = udp_message::times(answer);
            self.role.statistics.keep(&Probe { sent, round_trip: Some(time), arrived, answered });
        }
        self.skip_answered();
    }

    /// Moves `oldest` on to the first request that waits.
    fn skip_answered(&mut self) {
        while self.role.oldest <= self.role.last
            && *self.slot(self.role.oldest) == Timestamp::default()
        {
            self.role.oldest += 1;
        }
    }

    /// The time when the response to the oldest request that waits counts as lost.
    fn deadline(&mut self) -> Option<Timestamp> {
        let waits = self.role.oldest <= self.role.last;
        waits.then(|| self.slot(self.role.oldest).after(self.role.patience))
    }

    /// Counts the responses whose deadlines have passed as lost.
    fn give_up(&mut self, now: Timestamp) {
        while self.deadline().is_some_and(|deadline| deadline <= now) {
            let sent = *self.slot(self.role.oldest);
            *self.slot(self.role.oldest) = Timestamp::default();
            self.role.statistics.add_lost();
            if self.parameters.every.is_some() {
                self.role.statistics.keep(&Probe { sent, ..Probe::default() });
            }
            self.skip_answered();
        }
    }

    /// Sends all requests that may be sent, and returns the step after them.
    fn send(&mut self, now: Timestamp) -> io::Result<Step> {
        self.give_up(now);
        loop {
            if self.role.last + 1 - self.role.oldest >= self.parameters.depth as u64 {
                return Ok(self.rest(None));
            }
            if let Some(due) = self.role.schedule.due(now) {
                return Ok(self.rest(Some(due)));
            }
            let number = self.role.last + 1;
            udp_message::write_number(&mut self.role.request, number);
            // The arrival of a response and the next request share one reading of the clock.
            let sent = std::mem::take(&mut self.role.latest);
            let sent = if sent == Timestamp::default() { crate::now() } else { sent };
            match message::send(&*self.socket, &self.role.request) {
                Ok(length) => self.count.bytes += length as u64,
                // The queue is full: this request is lost.
                Err(error) if is_transient(&error) => {}
                Err(error) => return Err(error),
            }
            self.role.statistics.add_unsent(self.role.schedule.sent(now));
            self.role.last = number;
            *self.slot(number) = sent;
            self.count.sequence = number;
        }
    }

    /// The step of waiting for a response, or until one is lost or the next request is due.
    fn rest(&mut self, due: Option<Timestamp>) -> Step {
        match self.deadline().into_iter().chain(due).min() {
            _ if self.parameters.is_awake() => Step::Again,
            Some(until) => Step::ReadableOr(until),
            None => Step::Readable,
        }
    }
}

impl Turn for ExchangeStream<UdpSocket, UdpRequester> {
    const INTEREST: Interest = Interest::Readable;
    const FURTHER: Further = Further::AfterResponses;

    fn turn(&mut self, now: Timestamp, scratch: &mut Scratch) -> io::Result<Step> {
        self.role.latest = Timestamp::default();
        let more = self.receive(scratch)?;
        let step = self.send(now);
        self.published.publish_datagrams(&self.count);
        if more { step.map(|_| Step::Again) } else { step }
    }
}

fn is_transient(error: &io::Error) -> bool {
    let kinds = [ErrorKind::WouldBlock, ErrorKind::Interrupted, ErrorKind::ConnectionRefused];
    kinds.contains(&error.kind()) || linux::lacks_buffers(error)
}

/// Responses that are read before it is another stream's turn.
const MAX_PER_STEP: u32 = 64;
