//! Sending a TCP stream with several sends in flight.

use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;

use io_uring::{IoUring, cqueue, opcode, types};

use super::{SendCompletion, SendMode, next, result, ring, submit};
use crate::memory::Region;

/// An io_uring(7) for the sends of one TCP stream, all from one payload.
pub struct SendRing {
    ring: IoUring,
    payload: Arc<Region>,
    mode: SendMode,
    /// Sends without a completion.
    in_flight: u32,
    /// Notifications to come that belong to failed sends and are ignored.
    unheard: u32,
}

impl SendRing {
    /// A ring that sends bytes of `payload`, with or without a copy as `mode` says.
    ///
    /// # Errors
    /// `EPERM` if io_uring is forbidden (`kernel.io_uring_disabled`, seccomp(2)), `ENOMEM`
    /// if the limit of locked memory is reached, `Unsupported` if the kernel does not
    /// support `mode`.
    pub fn new(payload: Arc<Region>, mode: SendMode) -> io::Result<Self> {
        let ring = ring(1, RESULTS)?;
        let mut probe = io_uring::Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        let code = match mode {
            SendMode::Copy => opcode::Send::CODE,
            SendMode::ZeroCopy => opcode::SendZc::CODE,
        };
        if !probe.is_supported(code) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok(Self { ring, payload, mode, in_flight: 0, unheard: 0 })
    }

    /// Sends nothing over `stream`, to find out whether the socket supports the ring's
    /// mode: some do not support zero copy, such as those accepted by a Multipath TCP
    /// listener.
    ///
    /// # Errors
    /// `Unsupported` if it does not; else the errors of send(2), e.g. `ECONNRESET`.
    pub fn probe(&mut self, stream: &TcpStream) -> io::Result<()> {
        self.send(stream, 0)?;
        let entry = loop {
            match next(&mut self.ring)? {
                Some(entry) => break entry,
                None => self.ring.submit_and_wait(1)?,
            };
        };
        self.in_flight -= 1;
        self.unheard += u32::from(cqueue::more(entry.flags()));
        match result(&entry) {
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                Err(io::Error::new(io::ErrorKind::Unsupported, NOT_OVER_THIS))
            }
            result => result.map(drop),
        }
    }

    /// Number of sends that were submitted and have no completion yet.
    pub const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Starts to send the first `count` bytes of the payload over `stream`, all of them
    /// (`MSG_WAITALL`).
    ///
    /// # Errors
    /// The errors of io_uring_enter(2); none is expected.
    pub fn send(&mut self, stream: &TcpStream, count: usize) -> io::Result<()> {
        self.send_by(self.mode, stream, count)
    }

    /// Starts to send the first `count` bytes of the payload over `stream` with a copy,
    /// whatever the mode of the ring.
    ///
    /// # Errors
    /// The errors of io_uring_enter(2); none is expected.
    pub fn send_copying(&mut self, stream: &TcpStream, count: usize) -> io::Result<()> {
        self.send_by(SendMode::Copy, stream, count)
    }

    fn send_by(&mut self, mode: SendMode, stream: &TcpStream, count: usize) -> io::Result<()> {
        let bytes = &self.payload[..count.min(self.payload.len())];
        let (fd, length) = (types::Fd(stream.as_raw_fd()), u32::try_from(bytes.len()));
        let length = length.unwrap_or(u32::MAX);
        let flags = libc::MSG_WAITALL | libc::MSG_NOSIGNAL;
        let entry = match mode {
            SendMode::Copy => opcode::Send::new(fd, bytes.as_ptr(), length).flags(flags).build(),
            SendMode::ZeroCopy => opcode::SendZc::new(fd, bytes.as_ptr(), length)
                .flags(flags)
                .zc_flags(REPORT_USAGE)
                .build(),
        };
        // SAFETY: the payload is kept until no send is in flight, and nobody can change it; the
        // kernel holds the socket.
        unsafe { submit(&mut self.ring, &entry)? };
        self.in_flight += 1;
        Ok(())
    }

    /// The next completion of a send. `None` if no completion has arrived.
    ///
    /// # Errors
    /// The errors of io_uring_enter(2); none is expected.
    pub fn reap(&mut self) -> io::Result<Option<SendCompletion>> {
        while let Some(entry) = next(&mut self.ring)? {
            if !cqueue::notif(entry.flags()) {
                return Ok(Some(self.end(&entry)));
            }
            if self.unheard == 0 {
                // The kernel's numbers have their highest bit set then.
                return Ok(Some(SendCompletion::Released { copied: entry.result() < 0 }));
            }
            // The order does not matter to a caller that counts.
            self.unheard -= 1;
        }
        Ok(None)
    }

    /// Decodes the completion of a send; its pages may be released later.
    fn end(&mut self, entry: &cqueue::Entry) -> SendCompletion {
        self.in_flight -= 1;
        match result(entry) {
            Ok(bytes) => SendCompletion::Bytes(bytes),
            Err(error) => {
                self.unheard += u32::from(cqueue::more(entry.flags()));
                SendCompletion::Failed(error)
            }
        }
    }

    /// Cancels all sends in flight and waits for their completions, which [`Self::reap`] then
    /// returns. Each reports the bytes that it has sent.
    ///
    /// # Errors
    /// The errors of io_uring_enter(2); none is expected.
    pub fn cancel(&mut self) -> io::Result<()> {
        if self.in_flight > 0 {
            // Results of sends that had just finished are as good.
            _ = self.ring.submitter().register_sync_cancel(None, types::CancelBuilder::any());
        }
        self.ring.submit().map(drop)
    }
}

impl AsFd for SendRing {
    /// Readable when a completion is there.
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the ring lives as long as the borrow.
        unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) }
    }
}

impl Drop for SendRing {
    fn drop(&mut self) {
        // The kernel holds pages that are on their way itself.
        _ = self.cancel();
    }
}

/// Room for completions: a large send buffer holds the pages of that many sends. More at a
/// time cost a further system call.
const RESULTS: u32 = 256;
const NOT_OVER_THIS: &str = "io_uring cannot send in place over such a socket";
/// `IORING_SEND_ZC_REPORT_USAGE` of `linux/io_uring.h` (Linux 6.2).
const REPORT_USAGE: u16 = 1 << 3;

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("listens");
        let near = TcpStream::connect(listener.local_addr().expect("bound")).expect("connects");
        near.set_nonblocking(true).expect("set");
        (near, listener.accept().expect("accepts").0)
    }

    fn payload() -> Arc<Region> {
        let mut payload = Region::new(1 << 20).expect("mapped");
        payload.fill(7);
        Arc::new(payload)
    }

    fn wait(ring: &mut SendRing) -> SendCompletion {
        loop {
            if let Some(sent) = ring.reap().expect("reaped") {
                return sent;
            }
            ring.ring.submit_and_wait(1).expect("waits");
        }
    }

    #[test]
    fn a_send_goes_on_until_all_is_sent() {
        let (near, mut far) = pair();
        let mut ring = SendRing::new(payload(), SendMode::Copy).expect("made");
        ring.send(&near, 1 << 20).expect("begun");
        assert!(ring.in_flight() <= 1);
        let reader =
            std::thread::spawn(move || far.read_exact(&mut vec![0; 1 << 20]).expect("read"));
        assert!(matches!(wait(&mut ring), SendCompletion::Bytes(1_048_576)));
        reader.join().expect("read");
        assert_eq!(ring.in_flight(), 0);
    }

    #[test]
    fn a_send_in_place_tells_that_loopback_copied() {
        let (near, mut far) = pair();
        let mut ring = SendRing::new(payload(), SendMode::ZeroCopy).expect("made");
        ring.send(&near, 1_000).expect("begun");
        assert!(matches!(wait(&mut ring), SendCompletion::Bytes(1_000)));
        far.read_exact(&mut [0; 1_000]).expect("read");
        assert!(matches!(wait(&mut ring), SendCompletion::Released { copied: true }));
    }

    #[test]
    fn results_for_which_there_is_no_room_come_all_the_same() {
        let (near, mut far) = pair();
        let mut ring = SendRing::new(payload(), SendMode::ZeroCopy).expect("made");
        let many = 2 * RESULTS;
        (0..many).for_each(|_| ring.send(&near, 10).expect("begun"));
        far.read_exact(&mut vec![0; 10 * many as usize]).expect("read");
        assert!(ring.ring.submission().cq_overflow());
        let (mut went, mut released) = (0, 0);
        while (went, released) != (many, many) {
            match wait(&mut ring) {
                SendCompletion::Bytes(10) => went += 1,
                SendCompletion::Released { .. } => released += 1,
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn what_is_cancelled_says_how_far_it_came() {
        let (near, far) = pair();
        let mut ring = SendRing::new(payload(), SendMode::Copy).expect("made");
        let mut sent = 0;
        // Until it does not go on any more.
        loop {
            ring.send(&near, 1 << 20).expect("begun");
            std::thread::sleep(std::time::Duration::from_millis(1));
            match ring.reap().expect("reaped") {
                Some(SendCompletion::Bytes(bytes)) => sent += bytes,
                Some(other) => panic!("{other:?}"),
                None => break,
            }
        }
        ring.cancel().expect("cancelled");
        if let SendCompletion::Bytes(bytes) = wait(&mut ring) {
            sent += bytes;
        }
        assert_eq!(ring.in_flight(), 0);
        near.shutdown(std::net::Shutdown::Write).expect("shut");
        let mut far = far;
        let mut read = 0;
        let mut room = vec![0; 1 << 20];
        while let Ok(more @ 1..) = far.read(&mut room) {
            read += more;
        }
        assert_eq!(read, sent);
    }
}
