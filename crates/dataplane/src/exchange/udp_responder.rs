//! Responds over UDP.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;

use linux::epoll::Interest;
use linux::message;
use measurement::{Exchange, StreamCounters, Timestamp};

use super::exchange_stream::{ExchangeStream, Further, Turn};
use super::{Parameters, udp_message};
use crate::counters::Counters;
use crate::scratch::Scratch;
use crate::stream::Step;
use crate::udp::handshake;

/// The responder of one stream.
pub(super) struct UdpResponder {
    response: Box<[u8]>,
}

impl UdpResponder {
    pub(super) fn stream(
        socket: Arc<UdpSocket>,
        exchange: Exchange,
        published: Arc<Counters>,
    ) -> ExchangeStream<UdpSocket, Self> {
        let parameters = Parameters::new(&exchange);
        let role = Self { response: vec![0; parameters.response].into_boxed_slice() };
        ExchangeStream { socket, parameters, count: StreamCounters::default(), published, role }
    }
}

impl ExchangeStream<UdpSocket, UdpResponder> {
    /// Answers a request, whose datagram had `length` bytes.
    fn respond(&mut self, request: &[u8], length: usize) {
        if handshake::answer_hello(request, &self.socket) {
            return;
        }
        // Only requests of the agreed length are answered: a response may be longer than what
        // asked for it.
        if length != self.parameters.request {
            self.count.malformed += 1;
            self.count.bytes += length as u64;
            return;
        }
        let Some(number) = udp_message::number(request) else { return };
        let arrived = crate::now();
        udp_message::write_number(&mut self.role.response, number);
        udp_message::write_times(&mut self.role.response, arrived, arrived);
        // A response that cannot be sent is lost like one that does not arrive.
        let sent = message::send(&*self.socket, &self.role.response).unwrap_or(0);
        self.count.bytes += (length + sent) as u64;
        self.count.blocks += 1;
        self.count.unique += 1;
        self.count.sequence = self.count.sequence.max(self.count.unique);
        self.count.last = arrived;
    }
}

impl Turn for ExchangeStream<UdpSocket, UdpResponder> {
    const INTEREST: Interest = Interest::Readable;
    const FURTHER: Further = Further::Few;

    fn turn(&mut self, _: Timestamp, scratch: &mut Scratch) -> io::Result<Step> {
        let room = scratch.buffer();
        let most = if self.parameters.blocking_calls { 1 } else { MAX_PER_STEP };
        for _ in 0..most {
            let length = message::receive_datagram(&*self.socket, room)?;
            self.respond(&room[..length.min(room.len())], length);
            self.published.publish_datagrams(&self.count);
        }
        Ok(Step::Again)
    }
}

/// Requests that are answered before it is another stream's turn.
const MAX_PER_STEP: u32 = 64;
