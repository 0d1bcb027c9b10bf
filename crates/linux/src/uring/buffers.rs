//! A ring of provided buffers: the kernel takes free ones, and they come back with received
//! data (`IORING_REGISTER_PBUF_RING`, Linux 5.19).

use std::io;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::{IoUring, types};

use crate::memory::Region;

/// Buffers of one length. They outlive the ring that they are registered with.
pub(super) struct BufferRing {
    /// The list of free buffers, then the buffers.
    memory: Region,
    length: usize,
    count: u16,
    /// Number of buffers given to the kernel so far; it wraps.
    given: u16,
}

impl BufferRing {
    /// Registers `count` buffers of `length` bytes with `ring`; `count` is a power of two
    /// up to 4096.
    ///
    /// # Errors
    /// `EINVAL` before Linux 5.19, `ENOMEM` (io_uring_register(2)).
    pub(super) fn register(ring: &IoUring, count: u16, length: usize) -> io::Result<Self> {
        let memory = Region::new(LIST + usize::from(count) * length)?;
        let mut this = Self { memory, length, count, given: 0 };
        (0..count).for_each(|number| this.give(number));
        let list = this.memory.as_ptr() as u64;
        // SAFETY: the list is at the region's start, a page, and lives until the ring, which
        // is dropped first, has gone.
        unsafe { ring.submitter().register_buf_ring_with_flags(list, count, GROUP, 0)? };
        Ok(this)
    }

    /// Gives a buffer back to the kernel.
    pub(super) fn give(&mut self, number: u16) {
        let list: *mut types::BufRingEntry = self.memory.as_mut_ptr().cast();
        let start = self.start(number);
        let address = self.memory[start..].as_ptr() as u64;
        // SAFETY: the list has room for all buffers at the region's start, which is aligned
        // for a page; its tail is a number that both sides only ever read or write whole.
        unsafe {
            let entry = &mut *list.add(usize::from(self.given % self.count));
            entry.set_addr(address);
            entry.set_len(u32::try_from(self.length).unwrap_or(u32::MAX));
            entry.set_bid(number);
            self.given = self.given.wrapping_add(1);
            let tail = types::BufRingEntry::tail(list).cast_mut();
            AtomicU16::from_ptr(tail).store(self.given, Ordering::Release);
        }
    }

    /// The first `count` bytes of a buffer that has come back from the kernel.
    pub(super) fn bytes(&self, number: u16, count: usize) -> &[u8] {
        &self.memory[self.start(number)..][..count.min(self.length)]
    }

    fn start(&self, number: u16) -> usize {
        LIST + usize::from(number) * self.length
    }
}

/// Unregisters the buffers of `ring`.
pub(super) fn withdraw(ring: &IoUring) {
    _ = ring.submitter().unregister_buf_ring(GROUP);
}

/// Buffer group; each ring has only this one.
pub(super) const GROUP: u16 = 0;
/// Bytes of the list of free buffers: one page of the largest size in use on machines with
/// io_uring.
const LIST: usize = 64 * 1024;
