//! One request for all that comes.

use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::{IoUring, cqueue, opcode, types};

use super::{next, result, ring, submit};
use crate::memory::Region;

/// A ring that receives one stream into buffers of its own (`IORING_RECV_MULTISHOT` and a
/// ring of provided buffers, Linux 6.0).
pub struct ReceiveRing {
    ring: IoUring,
    /// First the list of buffers that are free, then the buffers.
    memory: Region,
    buffer: usize,
    /// How many buffers were ever given to the kernel, in numbers that wrap.
    given: u16,
    /// The request goes on.
    is_armed: bool,
}

impl ReceiveRing {
    /// A ring with buffers of `buffer` bytes.
    ///
    /// # Errors
    /// What io_uring_setup(2) and io_uring_register(2) report, e.g. `EPERM` where
    /// `kernel.io_uring_disabled` forbids it, or `EINVAL` before Linux 5.19.
    pub fn new(buffer: usize) -> io::Result<Self> {
        let buffer = buffer.max(1).next_multiple_of(PAGE);
        let ring = ring(2 * u32::from(BUFFERS))?;
        let memory = Region::new(PAGE + usize::from(BUFFERS) * buffer)?;
        let mut this = Self { ring, memory, buffer, given: 0, is_armed: false };
        (0..BUFFERS).for_each(|number| this.give(number));
        let list = this.memory.as_ptr() as u64;
        let submitter = this.ring.submitter();
        // SAFETY: the list is at the region's start, a page, and lives until the ring, which
        // is dropped first, has gone.
        unsafe { submitter.register_buf_ring_with_flags(list, BUFFERS, GROUP, 0)? };
        Ok(this)
    }

    /// Gives a buffer to the kernel.
    fn give(&mut self, number: u16) {
        let list: *mut types::BufRingEntry = self.memory.as_mut_ptr().cast();
        let start = PAGE + usize::from(number) * self.buffer;
        let address = self.memory[start..].as_ptr() as u64;
        // SAFETY: the list has room for all buffers at the region's start, which is aligned
        // for a page; its tail is a number that both sides only ever read or write whole.
        unsafe {
            let entry = &mut *list.add(usize::from(self.given % BUFFERS));
            entry.set_addr(address);
            entry.set_len(u32::try_from(self.buffer).unwrap_or(u32::MAX));
            entry.set_bid(number);
            self.given = self.given.wrapping_add(1);
            let tail = types::BufRingEntry::tail(list).cast_mut();
            AtomicU16::from_ptr(tail).store(self.given, Ordering::Release);
        }
    }

    /// Sees to it that the kernel receives from `stream`.
    ///
    /// # Errors
    /// What io_uring_enter(2) reports.
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

    /// How many bytes came next, 0: the stream has ended; none: nothing has come. They are
    /// gone afterwards.
    ///
    /// # Errors
    /// What the stream reports.
    pub fn reap(&mut self) -> io::Result<Option<usize>> {
        loop {
            let Some(entry) = next(&mut self.ring)? else { return Ok(None) };
            self.is_armed = cqueue::more(entry.flags());
            if let Some(number) = cqueue::buffer_select(entry.flags()) {
                self.give(number);
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
    /// Readable when something has come.
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
        _ = self.ring.submitter().unregister_buf_ring(GROUP);
    }
}

/// A power of two.
const BUFFERS: u16 = 8;
const GROUP: u16 = 0;
/// The list of buffers takes one; of all machines that have io_uring.
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
