//! Responds over UDP.

use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use linux::epoll::Interest;
use linux::message;
use measurement::{Exchange, StreamCounters, Timestamp};

use super::{MAX_TURNS, Parameters, udp_message};
use crate::counters::Counters;
use crate::scratch::Scratch;
use crate::stream::{Step, Stream};
use crate::udp::handshake;

/// The responder of one stream.
pub(super) struct UdpResponder {
    socket: Arc<UdpSocket>,
    parameters: Parameters,
    response: Box<[u8]>,
    count: StreamCounters,
    published: Arc<Counters>,
}

impl UdpResponder {
    pub(super) fn new(
        socket: Arc<UdpSocket>,
        exchange: Exchange,
        published: Arc<Counters>,
    ) -> Self {
        let parameters = Parameters::new(&exchange);
        let response = vec![0; parameters.response].into_boxed_slice();
        Self { socket, parameters, response, count: StreamCounters::default(), published }
    }

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
        udp_message::write_number(&mut self.response, number);
        udp_message::write_times(&mut self.response, arrived, arrived);
        // A response that cannot be sent is lost like one that does not arrive.
        let sent = message::send(&*self.socket, &self.response).unwrap_or(0);
        self.count.bytes += (length + sent) as u64;
        self.count.blocks += 1;
        self.count.unique += 1;
        self.count.sequence = self.count.sequence.max(self.count.unique);
        self.count.last = arrived;
    }

    fn take(&mut self, scratch: &mut Scratch) -> std::io::Result<()> {
        let room = scratch.buffer();
        let most = if self.parameters.blocking_calls { MAX_TURNS } else { MAX_PER_STEP };
        for _ in 0..most {
            let length = message::receive_datagram(&*self.socket, room)?;
            self.respond(&room[..length.min(room.len())], length);
            self.published.publish_datagrams(&self.count);
        }
        Ok(())
    }
}

impl Stream for UdpResponder {
    fn interest(&self) -> (BorrowedFd<'_>, Interest) {
        (self.socket.as_fd(), Interest::Readable)
    }

    fn use_blocking_calls(&mut self) -> bool {
        self.parameters.use_blocking_calls(&*self.socket)
    }

    fn halt(&mut self) {
        self.published.finish(None);
    }

    fn step(&mut self, _: Timestamp, scratch: &mut Scratch) -> Step {
        let result = self.take(scratch).map(|()| Step::Again);
        self.parameters.conclude(result, &self.published)
    }
}

/// Requests that are answered before it is another stream's turn.
const MAX_PER_STEP: u32 = 64;
