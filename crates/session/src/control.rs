//! The control connection: carries bytes between a socket and a protocol machine.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use linux::poll::{PollFd, wait};
use measurement::Timestamp;
use protocol::keyed::Seal;

use crate::clock::Clock;

/// What protocol machines have in common: bytes and time in, bytes out.
pub(crate) trait Machine {
    fn take_output(&mut self) -> Vec<u8>;
    fn handle_bytes(&mut self, bytes: &[u8], now: Timestamp);
    fn handle_close(&mut self, reset: bool);
    fn handle_loss(&mut self);
    fn handle_timeout(&mut self, now: Timestamp);
    fn deadline(&self) -> Option<Timestamp>;
}

/// A socket that does not block, and the machine behind it.
pub(crate) struct Control<M> {
    socket: TcpStream,
    pub(crate) machine: M,
    /// Written by the machine, not yet taken by the socket.
    unsent: Vec<u8>,
    open: bool,
    /// The codes of a connection whose ends have a key; none: it has none.
    seal: Option<Box<Seal>>,
    clock: Arc<dyn Clock>,
}

impl<M: Machine> Control<M> {
    pub(crate) fn new(socket: TcpStream, machine: M, clock: Arc<dyn Clock>) -> Self {
        Self { socket, machine, unsent: Vec::new(), open: true, seal: None, clock }
    }

    /// The same with codes for all that is sent and received from now on.
    pub(crate) fn sealed(mut self, seal: Option<Seal>) -> Self {
        self.seal = seal.map(Box::new);
        self
    }

    /// To be watched for what the peer sends.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub(crate) fn local_address(&self) -> Option<SocketAddr> {
        self.socket.local_addr().ok()
    }

    /// What the kernel knows of the connection; all zero where it does not report it.
    pub(crate) fn path(&self) -> linux::tcp::TcpInfo {
        linux::tcp::info(&self.socket).unwrap_or_default()
    }

    /// Whether the peer may still send something.
    pub(crate) const fn is_open(&self) -> bool {
        self.open
    }

    /// Sends what is left, and ends the sending.
    pub(crate) fn end_sending(&mut self) {
        self.flush();
        // A peer that has gone already is what is waited for.
        _ = self.socket.shutdown(std::net::Shutdown::Write);
    }

    /// Moves what can be moved without waiting, and lets the machine see the time.
    /// Whether there may be more to read already.
    pub(crate) fn pump(&mut self) -> bool {
        let more = self.read();
        self.machine.handle_timeout(self.clock.now());
        self.flush();
        more
    }

    /// Waits until the peer sends something, one of `others` becomes readable, or
    /// `until` or the machine's own deadline has come; then pumps.
    pub(crate) fn wait(
        &mut self,
        others: &[BorrowedFd<'_>],
        until: Option<Timestamp>,
    ) -> io::Result<()> {
        self.flush();
        let deadline = [self.machine.deadline(), until].into_iter().flatten().min();
        let timeout = deadline.map(|deadline| deadline.since(self.clock.now()));
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
        let deadline = self.clock.now().after(limit);
        self.flush();
        while self.open && !self.unsent.is_empty() && self.clock.now() < deadline {
            if self.wait(&[], Some(deadline)).is_err() {
                return;
            }
        }
        self.end_sending();
        while self.open && self.clock.now() < deadline {
            if self.wait(&[], Some(deadline)).is_err() {
                return;
            }
        }
    }

    fn flush(&mut self) {
        let mut output = self.machine.take_output();
        match &mut self.seal {
            Some(seal) => self.unsent.extend(seal.seal(&output)),
            None => self.unsent.append(&mut output),
        }
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
                Ok(read) => self.take(&buffer[..read]),
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

    /// Hands received bytes to the machine. After a message that is forged nothing is.
    fn take(&mut self, bytes: &[u8]) {
        let now = self.clock.now();
        match &mut self.seal {
            None => self.machine.handle_bytes(bytes, now),
            Some(seal) => match seal.open(bytes) {
                Ok(bytes) => self.machine.handle_bytes(&bytes, now),
                Err(_) => self.close(false),
            },
        }
    }

    fn close(&mut self, reset: bool) {
        self.machine.handle_close(reset);
        if !reset {
            // A peer that has ended its sending alone may still read.
            self.flush();
        }
        self.open = false;
    }
}

const READS_AT_ONCE: usize = 4;

/// Whether the kernel gave the connection up because the peer does not answer (tcp(7)).
fn is_loss(error: &io::Error) -> bool {
    use ErrorKind::{HostUnreachable, NetworkUnreachable, TimedOut};
    matches!(error.kind(), TimedOut | HostUnreachable | NetworkUnreachable)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;
    use crate::clock::ScriptedClock;

    /// Keeps what it is given, and sends what a test put there.
    #[derive(Default)]
    struct Recorder {
        output: Vec<u8>,
        heard: Vec<u8>,
        closed: Option<bool>,
        deadline: Option<Timestamp>,
        overdue: bool,
    }

    impl Machine for Recorder {
        fn take_output(&mut self) -> Vec<u8> {
            std::mem::take(&mut self.output)
        }
        fn handle_bytes(&mut self, bytes: &[u8], _: Timestamp) {
            self.heard.extend(bytes);
        }
        fn handle_close(&mut self, reset: bool) {
            self.closed = Some(reset);
        }
        fn handle_loss(&mut self) {}
        fn handle_timeout(&mut self, now: Timestamp) {
            self.overdue = self.deadline.is_some_and(|deadline| now >= deadline);
        }
        fn deadline(&self) -> Option<Timestamp> {
            self.deadline
        }
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_nanos(1).after(Duration::from_secs(seconds))
    }

    fn control() -> (Control<Recorder>, TcpStream, Arc<ScriptedClock>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bound");
        let own = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
        own.set_nonblocking(true).expect("set");
        let (peer, _) = listener.accept().expect("accepted");
        let clock = Arc::new(ScriptedClock::at(at(0)));
        let control = Control::new(own, Recorder::default(), Arc::<ScriptedClock>::clone(&clock));
        (control, peer, clock)
    }

    #[test]
    fn bytes_go_both_ways() {
        let (mut control, mut peer, _) = control();
        control.machine.output = b"hello".to_vec();
        control.pump();
        let mut said = [0; 5];
        peer.read_exact(&mut said).expect("sent");
        assert_eq!(&said, b"hello");
        peer.write_all(b"answer").expect("sent");
        control.wait(&[], None).expect("polled");
        assert_eq!(control.machine.heard, b"answer");
        assert!(control.is_open());
    }

    #[test]
    fn a_deadline_that_has_come_is_not_waited_for() {
        let (mut control, _peer, clock) = control();
        control.machine.deadline = Some(at(60));
        control.pump();
        assert!(!control.machine.overdue);
        clock.advance(Duration::from_secs(60));
        control.wait(&[], None).expect("polled");
        assert!(control.machine.overdue);
    }

    #[test]
    fn an_earlier_instant_ends_the_wait_too() {
        let (mut control, _peer, _) = control();
        control.machine.deadline = Some(at(60));
        control.wait(&[], Some(at(0))).expect("polled");
        assert!(!control.machine.overdue && control.is_open());
    }

    #[test]
    fn a_close_in_order_and_a_reset_are_told_apart() {
        let (mut control, peer, _) = control();
        drop(peer);
        control.wait(&[], None).expect("polled");
        assert_eq!((control.machine.closed, control.is_open()), (Some(false), false));
        let (mut control, peer, _) = self::control();
        linux::tcp::abort_on_close(&peer).expect("set");
        drop(peer);
        control.wait(&[], None).expect("polled");
        assert_eq!(control.machine.closed, Some(true));
    }

    #[test]
    fn the_last_message_is_sent_before_the_close() {
        let (mut control, mut peer, _) = control();
        control.machine.output = b"goodbye".to_vec();
        let reader = std::thread::spawn(move || {
            let mut said = Vec::new();
            peer.read_to_end(&mut said).map(|_| said)
        });
        control.finish(Duration::from_secs(5));
        assert_eq!(reader.join().expect("no panic").expect("read"), b"goodbye");
    }
}
