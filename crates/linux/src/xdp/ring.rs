//! A ring that this process shares with the kernel: one side produces, the other consumes.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// A ring of entries of type `T`: `xdp_desc`, or the address of a frame.
#[derive(Debug)]
pub(super) struct Ring<T> {
    mapped: NonNull<u8>,
    length: usize,
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    flags: NonNull<AtomicU32>,
    entries: NonNull<T>,
    size: u32,
    /// Our own index: as far as we have produced, or consumed.
    own: u32,
    /// The index of the kernel, as last read.
    theirs: u32,
}

// SAFETY: the mapping belongs to this value alone; the kernel is the only other side.
unsafe impl<T> Send for Ring<T> {}

impl<T: Copy> Ring<T> {
    /// Maps a ring of `size` entries, a power of two.
    ///
    /// # Errors
    /// Those of mmap(2).
    pub(super) fn map(
        socket: BorrowedFd<'_>,
        size: u32,
        at: i64,
        offsets: &libc::xdp_ring_offset,
    ) -> io::Result<Self> {
        let offset = |offset: u64| usize::try_from(offset).map_err(io::Error::other);
        let length = offset(offsets.desc)? + size as usize * size_of::<T>();
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        // SAFETY: a new mapping touches no other memory.
        let mapped = unsafe {
            libc::mmap64(std::ptr::null_mut(), length, protection, flags, socket.as_raw_fd(), at)
        };
        let mapped = NonNull::new(mapped).filter(|mapped| mapped.as_ptr() != libc::MAP_FAILED);
        let mapped: NonNull<u8> = mapped.ok_or_else(io::Error::last_os_error)?.cast();
        // SAFETY: the kernel's offsets lie in the mapping, and are aligned for what is there.
        let (producer, consumer, flags, entries) = unsafe {
            (
                mapped.add(offset(offsets.producer)?).cast(),
                mapped.add(offset(offsets.consumer)?).cast(),
                mapped.add(offset(offsets.flags)?).cast(),
                mapped.add(offset(offsets.desc)?).cast(),
            )
        };
        Ok(Self { mapped, length, producer, consumer, flags, entries, size, own: 0, theirs: 0 })
    }

    /// Whether the kernel asks to be woken (`XDP_RING_NEED_WAKEUP`).
    pub(super) fn needs_wakeup(&self) -> bool {
        // SAFETY: the number lies in the mapping, which lives as long as this.
        unsafe { self.flags.as_ref() }.load(Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    /// How many of `most` entries this side may produce.
    pub(super) fn room(&mut self, most: u32) -> u32 {
        let room = self.size - self.own.wrapping_sub(self.theirs);
        if room >= most {
            return most;
        }
        // SAFETY: as above.
        self.theirs = unsafe { self.consumer.as_ref() }.load(Acquire);
        (self.size - self.own.wrapping_sub(self.theirs)).min(most)
    }

    /// Writes the `ahead`th entry after those that were produced; [`Self::room`] has granted it.
    pub(super) fn write(&mut self, ahead: u32, entry: T) {
        let at = self.own.wrapping_add(ahead) & (self.size - 1);
        // SAFETY: the index is below the size of the ring, and the kernel does not read the entry
        // before it is produced.
        unsafe { self.entries.add(at as usize).write(entry) };
    }

    /// Hands `count` entries that were written to the kernel.
    pub(super) fn produce(&mut self, count: u32) {
        self.own = self.own.wrapping_add(count);
        // SAFETY: as above.
        unsafe { self.producer.as_ref() }.store(self.own, Release);
    }

    /// How many of `most` entries this side may consume.
    pub(super) fn waiting(&mut self, most: u32) -> u32 {
        let waiting = self.theirs.wrapping_sub(self.own);
        if waiting >= most {
            return most;
        }
        // SAFETY: as above.
        self.theirs = unsafe { self.producer.as_ref() }.load(Acquire);
        self.theirs.wrapping_sub(self.own).min(most)
    }

    /// The `ahead`th entry after those that were consumed; [`Self::waiting`] has granted it.
    pub(super) fn read(&self, ahead: u32) -> T {
        let at = self.own.wrapping_add(ahead) & (self.size - 1);
        // SAFETY: the index is below the size of the ring; the kernel has written the entry, and
        // does not write it again before it is consumed.
        unsafe { self.entries.add(at as usize).read() }
    }

    /// Gives `count` entries that were read back to the kernel.
    pub(super) fn consume(&mut self, count: u32) {
        self.own = self.own.wrapping_add(count);
        // SAFETY: as above.
        unsafe { self.consumer.as_ref() }.store(self.own, Release);
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no reference to it is left.
        unsafe { libc::munmap(self.mapped.as_ptr().cast(), self.length) };
    }
}
