//! Answers over TCP, with a connection for each request.

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

/// Who answers the calls of one client.
pub(super) struct AcceptResponder {
    listener: Arc<TcpListener>,
    client: Option<IpAddr>,
    parameters: Parameters,
    /// Calls whose requests have not come whole.
    waiting: Vec<Call>,
    count: StreamCounters,
    published: Arc<Counters>,
}

struct Call {
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

    /// Takes what has come of a request and answers it if it is whole; the call if it waits.
    fn hear(&mut self, mut call: Call, scratch: &mut Scratch, now: Timestamp) -> Option<Call> {
        while call.missing > 0 {
            match (&call.socket).read(scratch.buffer()) {
                Ok(0) => return None,
                Ok(read) => {
                    self.count.bytes += read as u64;
                    call.missing = call.missing.saturating_sub(read);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Some(call),
                // A call that broke is its connect_requester's to tell.
                Err(_) => return None,
            }
        }
        let answer = &scratch.payload()[..self.parameters.response];
        if linux::tcp::send_and_shutdown(&call.socket, answer).is_ok() {
            self.count.blocks += 1;
            self.count.bytes += self.parameters.response as u64;
            self.count.last = now;
        }
        None
    }

    /// Goes on with the calls that wait.
    fn go_on(&mut self, scratch: &mut Scratch, now: Timestamp) {
        for index in (0..self.waiting.len()).rev() {
            let call = self.waiting.remove(index);
            if let Some(call) = self.hear(call, scratch, now) {
                self.waiting.insert(index, call);
            }
        }
    }

    /// Takes a call; a step if it has to be watched.
    fn accept(&mut self, scratch: &mut Scratch, now: Timestamp) -> io::Result<Option<Step>> {
        let (socket, from) = linux::tcp::accept(&self.listener)?;
        let is_known = self.client.is_none_or(|client| client == from.ip().to_canonical());
        if !is_known {
            return Ok(None);
        }
        if self.waiting.len() >= MAX_PENDING {
            // Who has been silent for longest holds up those who ask.
            self.waiting.remove(0);
        }
        let call = Call { socket, missing: self.parameters.request };
        let waits = self.hear(call, scratch, now);
        Ok(waits.map(|call| {
            self.waiting.push(call);
            Step::Watch
        }))
    }
}

impl Stream for AcceptResponder {
    fn interest(&self) -> (BorrowedFd<'_>, Interest) {
        (self.listener.as_fd(), Interest::Readable)
    }

    fn new_descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.waiting.last().map(|call| call.socket.as_fd())
    }

    fn halt(&mut self) {
        self.waiting.clear();
        self.published.finish(None);
    }

    fn step(&mut self, now: Timestamp, scratch: &mut Scratch) -> Step {
        self.go_on(scratch, now);
        let step = match self.accept(scratch, now) {
            Ok(step) => step.unwrap_or(Step::Again),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock => self.parameters.wait(),
                ErrorKind::Interrupted | ErrorKind::ConnectionAborted => Step::Again,
                // No descriptor is free now.
                _ => Step::Until(now.after(PAUSE)),
            },
        };
        self.published.publish(&self.count);
        step
    }
}

/// Calls of one stream without their requests.
pub(super) const MAX_PENDING: usize = 16;
/// How long the system is given to have descriptors again.
const PAUSE: Duration = Duration::from_millis(5);
