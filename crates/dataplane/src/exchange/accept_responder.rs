//! Responds over TCP with a connection for each request.

use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use linux::epoll::Interest;
use measurement::{Exchange, StreamCounters, Timestamp};

use super::Parameters;
use crate::counters::Counters;
use crate::scratch::Scratch;
use crate::stream::{Step, Stream};

/// Answers the requests of one client, one on each connection.
pub(super) struct AcceptResponder {
    listener: Arc<TcpListener>,
    client: Option<IpAddr>,
    parameters: Parameters,
    /// Connections whose requests have not arrived whole, the oldest first.
    waiting: Vec<Pending>,
    count: StreamCounters,
    published: Arc<Counters>,
}

/// A connection whose request has not arrived whole.
struct Pending {
    socket: TcpStream,
    missing: usize,
}

impl AcceptResponder {
    pub(super) fn new(
        listener: Arc<TcpListener>,
        idle: &TcpStream,
        exchange: Exchange,
        published: Arc<Counters>,
    ) -> Self {
        Self {
            listener,
            client: idle.peer_addr().ok().map(|address| address.ip().to_canonical()),
            parameters: Parameters::new(&exchange),
            waiting: Vec::with_capacity(MAX_PENDING),
            count: StreamCounters::default(),
            published,
        }
    }

    /// Reads a request and answers it if it is whole. Returns the connection if it has to wait.
    fn serve(
        &mut self,
        mut pending: Pending,
        scratch: &mut Scratch,
        now: Timestamp,
    ) -> Option<Pending> {
        while pending.missing > 0 {
            match (&pending.socket).read(scratch.buffer()) {
                Ok(0) => return None,
                Ok(read) => {
                    self.count.bytes += read as u64;
                    pending.missing = pending.missing.saturating_sub(read);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Some(pending),
                // The requester reports connections that break.
                Err(_) => return None,
            }
        }
        let answer = &scratch.payload()[..self.parameters.response];
        if linux::tcp::send_and_shutdown(&pending.socket, answer).is_ok() {
            self.count.blocks += 1;
            self.count.bytes += self.parameters.response as u64;
            self.count.last = now;
        }
        None
    }

    /// Continues with the connections that wait.
    fn serve_waiting(&mut self, scratch: &mut Scratch, now: Timestamp) {
        for index in (0..self.waiting.len()).rev() {
            let pending = self.waiting.remove(index);
            if let Some(pending) = self.serve(pending, scratch, now) {
                self.waiting.insert(index, pending);
            }
        }
    }

    /// Accepts a connection. Returns a step if its descriptor has to be registered.
    fn accept(&mut self, scratch: &mut Scratch, now: Timestamp) -> io::Result<Option<Step>> {
        let (socket, from) = linux::tcp::accept(&self.listener)?;
        let is_known = self.client.is_none_or(|client| client == from.ip().to_canonical());
        if !is_known {
            return Ok(None);
        }
        if self.waiting.len() >= MAX_PENDING {
            // The oldest connection has to make room for those that send requests.
            self.waiting.remove(0);
        }
        let pending = Pending { socket, missing: self.parameters.request };
        let waits = self.serve(pending, scratch, now);
        Ok(waits.map(|pending| {
            self.waiting.push(pending);
            Step::Watch
        }))
    }
}

impl Stream for AcceptResponder {
    fn interest(&self) -> (BorrowedFd<'_>, Interest) {
        (self.listener.as_fd(), Interest::Readable)
    }

    fn new_descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.waiting.last().map(|pending| pending.socket.as_fd())
    }

    fn halt(&mut self) {
        self.waiting.clear();
        self.published.finish(None);
    }

    fn step(&mut self, now: Timestamp, scratch: &mut Scratch) -> Step {
        self.serve_waiting(scratch, now);
        let step = match self.accept(scratch, now) {
            Ok(step) => step.unwrap_or(Step::Again),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock => self.parameters.wait(),
                ErrorKind::Interrupted | ErrorKind::ConnectionAborted => Step::Again,
                // No descriptor is free.
                _ => Step::Until(now.after(PAUSE)),
            },
        };
        self.published.publish(&self.count);
        step
    }
}

/// The most connections of one stream whose requests have not arrived whole.
pub(super) const MAX_PENDING: usize = 16;
/// Time until the system may have descriptors again.
const PAUSE: Duration = Duration::from_millis(5);
