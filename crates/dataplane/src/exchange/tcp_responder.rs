//! Responds over a TCP stream that stays open.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use linux::epoll::Interest;
use linux::message;
use measurement::{Exchange, StreamCounters, Timestamp};

use super::Parameters;
use super::exchange_stream::{ExchangeStream, Further, Turn};
use crate::counters::Counters;
use crate::scratch::Scratch;
use crate::stream::Step;

/// The responder of one stream.
pub(super) struct TcpResponder {
    /// Bytes of the next request that have arrived.
    received: usize,
    /// Bytes of responses that the kernel has not taken.
    unsent: usize,
}

impl TcpResponder {
    pub(super) fn stream(
        socket: Arc<TcpStream>,
        exchange: Exchange,
        published: Arc<Counters>,
    ) -> io::Result<ExchangeStream<TcpStream, Self>> {
        socket.set_nodelay(true)?;
        let parameters = Parameters::new(&exchange);
        let count = StreamCounters::default();
        let role = Self { received: 0, unsent: 0 };
        Ok(ExchangeStream { socket, parameters, count, published, role })
    }
}

impl ExchangeStream<TcpStream, TcpResponder> {
    /// Sends responses to the requests that have arrived, or a part of these.
    fn respond(&mut self, scratch: &Scratch) -> io::Result<()> {
        for _ in 0..MAX_PER_STEP {
            if self.role.unsent == 0 {
                break;
            }
            // Each response by a write of its own, as if the requests arrived one by one.
            let length = (self.role.unsent - 1) % self.parameters.response + 1;
            let written = message::send(&*self.socket, &scratch.payload()[..length])?;
            self.role.unsent -= written;
            self.count.blocks +=
                u64::from(self.role.unsent.is_multiple_of(self.parameters.response));
            self.count.bytes += written as u64;
        }
        Ok(())
    }
}

impl Turn for ExchangeStream<TcpStream, TcpResponder> {
    const INTEREST: Interest = Interest::Both;
    const FURTHER: Further = Further::Few;

    fn turn(&mut self, now: Timestamp, scratch: &mut Scratch) -> io::Result<Step> {
        // No request is read before all responses are sent, so that nothing accumulates here.
        self.respond(scratch)?;
        if self.role.unsent > 0 {
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
        self.role.received += read;
        let whole = self.role.received / self.parameters.request;
        self.role.received %= self.parameters.request;
        self.role.unsent += whole * self.parameters.response;
        self.count.bytes += read as u64;
        self.count.last = now;
        let sent = self.respond(scratch);
        self.published.publish(&self.count);
        sent?;
        // A read that did not fill the buffer emptied the socket.
        let is_all = read < room_left && self.role.unsent == 0;
        Ok(if is_all { self.parameters.wait() } else { Step::Again })
    }
}

/// Responses that are sent before it is another stream's turn.
const MAX_PER_STEP: usize = 64;
