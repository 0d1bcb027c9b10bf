//! Answers the requests of an iperf2 client that measures round trips (`--bounceback`; clauses 3.11
//! to 3.13 of docs/protocol/iperf2.md): each is sent back with the times of this end.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use linux::epoll::Interest;
use linux::message;
use measurement::{StreamCounters, Timestamp};
use protocol::iperf2::Bounce;

use super::exchange_stream::{ExchangeStream, Further, Turn};
use super::{Exchange, Parameters};
use crate::counters::Counters;
use crate::scratch::Scratch;
use crate::stream::Step;

/// The responder of one stream.
pub(super) struct BounceResponder {
    /// The request that arrives, and then its answer.
    message: Box<[u8]>,
    /// Bytes of the request that have arrived.
    received: usize,
    /// Bytes of the answer that the kernel has not taken.
    unsent: usize,
    /// Arrival of a whole request, by the time of day and by the monotonic clock. `None`: the request is
    /// not whole, or its answer is on its way.
    arrived: Option<(Duration, Timestamp)>,
}

impl BounceResponder {
    pub(super) fn stream(
        socket: Arc<TcpStream>,
        bounce: &Bounce,
        published: Arc<Counters>,
    ) -> io::Result<ExchangeStream<TcpStream, Self>> {
        socket.set_nodelay(true)?;
        let mut message = vec![0; bounce.length()].into_boxed_slice();
        let received = bounce.opening().len();
        message[..received].copy_from_slice(bounce.opening());
        let count = StreamCounters { bytes: received as u64, ..StreamCounters::default() };
        let role = Self { message, received, unsent: 0, arrived: None };
        let parameters = Parameters::new(&Exchange::default());
        Ok(ExchangeStream { socket, parameters, count, published, role })
    }
}

impl ExchangeStream<TcpStream, BounceResponder> {
    /// Takes what has arrived of a request. Returns whether the client has ended the connection.
    fn receive(&mut self) -> io::Result<bool> {
        let read = message::receive(&*self.socket, &mut self.role.message[self.role.received..])?;
        // The call may have waited.
        let now = crate::now();
        self.role.received += read;
        self.count.bytes += read as u64;
        if self.role.received == self.role.message.len() {
            self.count.last = now;
            self.role.arrived = Some((linux::clock::realtime(), now));
        }
        Ok(read == 0)
    }

    /// Turns the request into its answer, unless it is to wait. Returns when it may go.
    fn answer(&mut self, now: Timestamp) -> Option<Timestamp> {
        let (of_day, arrived) = self.role.arrived?;
        let hold = Bounce::hold(&self.role.message).min(LONGEST_HOLD);
        let due = arrived.after(hold);
        if !hold.is_zero() && now < due {
            return Some(due);
        }
        Bounce::answer(&mut self.role.message, of_day, linux::clock::realtime());
        (self.role.arrived, self.role.received) = (None, 0);
        self.role.unsent = self.role.message.len();
        None
    }

    fn send(&mut self) -> io::Result<()> {
        while self.role.unsent > 0 {
            let from = self.role.message.len() - self.role.unsent;
            let written = message::send(&*self.socket, &self.role.message[from..])?;
            self.role.unsent -= written;
            self.count.bytes += written as u64;
        }
        self.count.blocks += 1;
        Ok(())
    }
}

impl Turn for ExchangeStream<TcpStream, BounceResponder> {
    const INTEREST: Interest = Interest::Both;
    const FURTHER: Further = Further::Few;

    fn turn(&mut self, _now: Timestamp, _scratch: &mut Scratch) -> io::Result<Step> {
        if self.role.unsent == 0 && self.role.arrived.is_none() && self.receive()? {
            self.published.publish(&self.count);
            self.published.finish(None);
            return Ok(Step::Done);
        }
        if let Some(due) = self.answer(crate::now()) {
            return Ok(Step::SleepUntil(due));
        }
        let sent = if self.role.unsent > 0 { self.send() } else { Ok(()) };
        self.published.publish(&self.count);
        sent?;
        Ok(Step::Again)
    }
}

/// The longest time for which a client may ask.
const LONGEST_HOLD: Duration = Duration::from_secs(10);
