//! The control connection: carries bytes between a socket and a protocol machine.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use linux::poll::{PollFd, wait};
use measurement::Timestamp;
use protocol::iperf3::{Client, Server};

/// What both protocol machines have in common.
pub(crate) trait Machine {
    fn take_output(&mut self) -> Vec<u8>;
    fn handle_bytes(&mut self, bytes: &[u8], now: Timestamp);
    fn handle_close(&mut self, reset: bool);
    fn handle_loss(&mut self);
    fn handle_timeout(&mut self, now: Timestamp);
    fn deadline(&self) -> Option<Timestamp>;
}

impl Machine for Client {
    fn take_output(&mut self) -> Vec<u8> {
        self.take_output()
    }
    fn handle_bytes(&mut self, bytes: &[u8], now: Timestamp) {
        self.handle_bytes(bytes, now);
    }
    fn handle_close(&mut self, reset: bool) {
        self.handle_close(reset);
    }
    fn handle_loss(&mut self) {
        self.handle_loss();
    }
    fn handle_timeout(&mut self, now: Timestamp) {
        self.handle_timeout(now);
    }
    fn deadline(&self) -> Option<Timestamp> {
        self.deadline()
    }
}

impl Machine for Server {
    fn take_output(&mut self) -> Vec<u8> {
        self.take_output()
    }
    fn handle_bytes(&mut self, bytes: &[u8], now: Timestamp) {
        self.handle_bytes(bytes, now);
    }
    fn handle_close(&mut self, _reset: bool) {
        self.handle_close();
    }
    fn handle_loss(&mut self) {
        self.handle_loss();
    }
    fn handle_timeout(&mut self, now: Timestamp) {
        self.handle_timeout(now);
    }
    fn deadline(&self) -> Option<Timestamp> {
        self.deadline()
    }
}

/// A socket that does not block, and the machine behind it.
pub(crate) struct Control<M> {
    socket: TcpStream,
    pub(crate) machine: M,
    /// Written by the machine, not yet taken by the socket.
    unsent: Vec<u8>,
    open: bool,
}

impl<M: Machine> Control<M> {
    pub(crate) fn new(socket: TcpStream, machine: M) -> Self {
        Self { socket, machine, unsent: Vec::new(), open: true }
    }

    /// To be watched for what the peer says.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub(crate) fn local_address(&self) -> Option<SocketAddr> {
        self.socket.local_addr().ok()
    }

    /// What the kernel knows of the connection; all zero where it does not tell.
    pub(crate) fn path(&self) -> linux::tcp::TcpInfo {
        linux::tcp::info(&self.socket).unwrap_or_default()
    }

    /// Whether the peer may still say something.
    pub(crate) const fn is_open(&self) -> bool {
        self.open
    }

    /// Says what is left, and that it was the last.
    pub(crate) fn end_sending(&mut self) {
        self.flush();
        // A peer that has gone already is what is waited for.
        _ = self.socket.shutdown(std::net::Shutdown::Write);
    }

    /// Moves what can be moved without waiting, and lets the machine see the time.
    /// Tells whether there may be more to read already.
    pub(crate) fn pump(&mut self) -> bool {
        let more = self.read();
        self.machine.handle_timeout(dataplane::now());
        self.flush();
        more
    }

    /// Waits until the peer says something, one of `others` becomes readable, or
    /// `until` or the machine's own deadline has come; then pumps.
    pub(crate) fn wait(
        &mut self,
        others: &[BorrowedFd<'_>],
        until: Option<Timestamp>,
    ) -> io::Result<()> {
        self.flush();
        let deadline = [self.machine.deadline(), until].into_iter().flatten().min();
        let timeout = deadline.map(|deadline| deadline.since(dataplane::now()));
        let mut watches: Vec<_> = others.iter().map(|fd| PollFd::readable(*fd)).collect();
        if self.open {
            watches.push(PollFd::both(self.socket.as_fd(), !self.unsent.is_empty()));
        }
        wait(&mut watches, timeout)?;
        self.pump();
        Ok(())
    }

    /// Sends what is left, then waits for the peer to close, both for at most
    /// `limit`: a close with unread or unsent data would be a reset.
    pub(crate) fn finish(mut self, limit: Duration) {
        let deadline = dataplane::now().after(limit);
        self.flush();
        while self.open && !self.unsent.is_empty() && dataplane::now() < deadline {
            if self.wait(&[], Some(deadline)).is_err() {
                return;
            }
        }
        self.end_sending();
        while self.open && dataplane::now() < deadline {
            if self.wait(&[], Some(deadline)).is_err() {
                return;
            }
        }
    }

    fn flush(&mut self) {
        self.unsent.append(&mut self.machine.take_output());
        while self.open && !self.unsent.is_empty() {
            match self.socket.write(&self.unsent) {
                Ok(sent) => _ = self.unsent.drain(..sent),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.unsent.clear(),
            }
        }
    }

    fn read(&mut self) -> bool {
        let mut buffer = [0; 16 * 1024];
        // A peer that sends faster than this end reads must not keep it from its
        // deadlines; what is left makes the socket readable again.
        for _ in 0..READS_AT_ONCE {
            if !self.open {
                return false;
            }
            match self.socket.read(&mut buffer) {
                Ok(0) => self.close(false),
                Ok(read) => self.machine.handle_bytes(&buffer[..read], dataplane::now()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Err(error) if error.kind() == ErrorKind::ConnectionReset => self.close(true),
                Err(error) if is_loss(&error) => {
                    self.open = false;
                    self.machine.handle_loss();
                }
                Err(_) => self.close(false),
            }
        }
        self.open
    }

    fn close(&mut self, reset: bool) {
        self.open = false;
        self.machine.handle_close(reset);
    }
}

const READS_AT_ONCE: usize = 4;

/// Whether the kernel gave the connection up because the peer does not answer (tcp(7)).
fn is_loss(error: &io::Error) -> bool {
    use ErrorKind::{HostUnreachable, NetworkUnreachable, TimedOut};
    matches!(error.kind(), TimedOut | HostUnreachable | NetworkUnreachable)
}
