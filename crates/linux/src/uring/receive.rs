//! Receiving a TCP stream with one multishot request.

use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use io_uring::{IoUring, cqueue, opcode, types};

use super::buffers::{BufferRing, GROUP, withdraw};
use super::{next, result, ring, submit};

/// An io_uring(7) that receives one TCP stream into provided buffers (`IORING_RECV_MULTISHOT`,
/// Linux 6.0).
pub struct ReceiveRing {
    ring: IoUring,
    buffers: BufferRing,
    /// The request is active.
    is_armed: bool,
}

impl ReceiveRing {
    /// A ring whose provided buffers have `buffer` bytes each.
    ///
    /// # Errors
    /// `EPERM` if io_uring is forbidden (`kernel.io_uring_disabled`, seccomp(2)), `EINVAL`
    /// before Linux 5.19, `ENOMEM` if the limit of locked memory is reached.
    pub fn new(buffer: usize) -> io::Result<Self> {
        let buffer = buffer.max(1).next_multiple_of(PAGE);
        let ring = ring(1, 2 * u32::from(BUFFERS))?;
        let buffers = BufferRing::register(&ring, BUFFERS, buffer)?;
        Ok(Self { ring, buffers, is_armed: false })
    }

    /// Submits the multishot receive request for `stream`, unless one is active.
    ///
    /// # Errors
    /// The errors of io_uring_enter(2); none is expected.
    pub fn arm(&mut self, stream: &TcpStream) -> io::Result<()> {
        if self.is_armed {
            return Ok(());
        }
        let entry = opcode::RecvMulti::new(types::Fd(stream.as_raw_fd()), GROUP).build();
        // SAFETY: the entry points to nothing; the buffers live as long as the ring.
        unsafe { submit(&mut self.ring, &entry)? };
        self.is_armed = true;
        Ok(())
    }

    /// The number of bytes in the next completion, 0 at the end of the stream; `None` if
    /// there is no completion. The bytes are discarded.
    ///
    /// # Errors
    /// The errors of the stream, e.g. `ECONNRESET`.
    pub fn reap(&mut self) -> io::Result<Option<usize>> {
        loop {
            let Some(entry) = next(&mut self.ring)? else { return Ok(None) };
            self.is_armed = cqueue::more(entry.flags());
            if let Some(number) = cqueue::buffer_select(entry.flags()) {
                self.buffers.give(number);
            }
            match result(&entry) {
                // All buffers were full: it has to be asked anew.
                Err(error) if crate::lacks_buffers(&error) => {}
                result => return result.map(Some),
            }
        }
    }
}

impl AsFd for ReceiveRing {
    /// Readable when a completion is there.
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the ring lives as long as the borrow.
        unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) }
    }
}

impl Drop for ReceiveRing {
    fn drop(&mut self) {
        // What is received meanwhile goes to the buffers, which are still there.
        if self.is_armed {
            _ = self.ring.submitter().register_sync_cancel(None, types::CancelBuilder::any());
        }
        withdraw(&self.ring);
    }
}

/// Number of buffers, a power of two.
const BUFFERS: u16 = 8;
/// Largest page size of machines with io_uring.
const PAGE: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    #[test]
    fn all_that_comes_is_counted_up_to_the_end() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("listens");
        let mut near = TcpStream::connect(listener.local_addr().expect("bound")).expect("connects");
        let (far, _) = listener.accept().expect("accepts");
        let mut ring = ReceiveRing::new(1 << 16).expect("made");
        ring.arm(&far).expect("armed");
        let writer =
            std::thread::spawn(move || near.write_all(&vec![7; 5_000_000]).expect("written"));
        let mut count = 0;
        loop {
            match ring.reap().expect("received") {
                Some(0) => break,
                Some(more) => count += more,
                None => {
                    ring.arm(&far).expect("armed");
                    ring.ring.submit_and_wait(1).expect("waits");
                }
            }
        }
        writer.join().expect("written");
        assert_eq!(count, 5_000_000);
    }
}
