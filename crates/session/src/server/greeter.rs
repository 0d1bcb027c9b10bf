//! A connection that has not yet said whose it is.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use measurement::Timestamp;
use protocol::iperf3::{Cookie, State};

/// Collects the cookie (clause 3.1) without waiting for it.
pub(super) struct Greeter {
    socket: TcpStream,
    from: SocketAddr,
    cookie: [u8; Cookie::LENGTH],
    filled: usize,
    deadline: Timestamp,
}

/// What came of it.
pub(super) enum Greeted {
    /// The cookie is not complete.
    Waiting(Greeter),
    /// It closed, or took too long.
    Gone,
    /// The cookie is complete; not one byte more was read.
    Complete { socket: TcpStream, from: SocketAddr, cookie: Cookie },
}

impl Greeter {
    /// None if the connection is gone already.
    pub(super) fn new(socket: TcpStream, from: SocketAddr) -> Option<Self> {
        socket.set_nonblocking(true).ok()?;
        let deadline = dataplane::now().after(COOKIE_LIMIT);
        Some(Self { socket, from, cookie: [0; Cookie::LENGTH], filled: 0, deadline })
    }

    pub(super) const fn deadline(&self) -> Timestamp {
        self.deadline
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub(super) fn progress(mut self, now: Timestamp) -> Greeted {
        loop {
            match (&self.socket).read(&mut self.cookie[self.filled..]) {
                Ok(0) => return Greeted::Gone,
                Ok(read) => self.filled += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return if now < self.deadline {
                        Greeted::Waiting(self)
                    } else {
                        Greeted::Gone
                    };
                }
                Err(_) => return Greeted::Gone,
            }
            if self.filled == Cookie::LENGTH {
                let Self { socket, from, cookie, .. } = self;
                return Greeted::Complete { socket, from, cookie: Cookie::from_wire(cookie) };
            }
        }
    }
}

/// Tells a client that the server is busy (clause 2.5), or a stream that its cookie is
/// wrong (clause 3.5).
pub(super) fn send_away(socket: &TcpStream) {
    // One byte fits an empty buffer; a client that is gone needs no answer.
    _ = { socket }.write(&[State::AccessDenied.byte()]);
}

/// iperf3 itself gives up after 10 s (clause 2.8).
const COOKIE_LIMIT: Duration = Duration::from_secs(10);
