//! The ring buffer into which the kernel writes samples (`struct perf_event_mmap_page`,
//! [linux/perf_event.h]).
//!
//! [linux/perf_event.h]: https://github.com/torvalds/linux/blob/v6.12/include/uapi/linux/perf_event.h

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Release};

/// A perf event with its ring buffer. Samples without room are lost and counted.
#[derive(Debug)]
pub(super) struct Ring {
    file: OwnedFd,
    page: NonNull<u8>,
    /// Size of the page with head and tail, in bytes; the data follow.
    head_room: usize,
    /// Size of the data in bytes, a power of two.
    room: usize,
    tail: usize,
}

// SAFETY: the mapping belongs to this value alone and to no thread.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps a ring buffer of at least `room` bytes to the event.
    pub(super) fn new(file: OwnedFd, room: usize) -> io::Result<Self> {
        let head_room = page_size();
        let room = room.next_multiple_of(head_room).next_power_of_two();
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at a address that the kernel chooses touches nothing of ours.
        let page = unsafe {
            let length = head_room + room;
            libc::mmap(std::ptr::null_mut(), length, access, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        let page = NonNull::new(page).filter(|_| page != libc::MAP_FAILED);
        let page = page.ok_or_else(io::Error::last_os_error)?.cast();
        Ok(Self { file, page, head_room, room, tail: 0 })
    }

    pub(super) fn enable(&self) -> io::Result<()> {
        self.order(ENABLE)
    }

    pub(super) fn disable(&self) -> io::Result<()> {
        self.order(DISABLE)
    }

    fn order(&self, order: libc::Ioctl) -> io::Result<()> {
        // SAFETY: both orders take a number and touch no memory of ours.
        let done = unsafe { libc::ioctl(self.file.as_raw_fd(), order, 0) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Appends all new bytes to `into` and gives the room back to the kernel.
    pub(super) fn read(&mut self, into: &mut Vec<u8>) {
        let head = self.word(DATA_HEAD).load(Acquire);
        let length = head.wrapping_sub(self.tail).min(self.room);
        let begin = self.tail % self.room;
        let first = length.min(self.room - begin);
        self.copy(begin, first, into);
        self.copy(0, length - first, into);
        self.tail = head;
        self.word(DATA_TAIL).store(head, Release);
    }

    fn copy(&self, from: usize, length: usize, into: &mut Vec<u8>) {
        into.reserve(length);
        let used = into.len();
        // SAFETY: `from + length` is within the ring, which is mapped behind the first page;
        // the kernel does not write between tail and head; the vector has the room.
        unsafe {
            let source = self.page.as_ptr().add(self.head_room + from);
            std::ptr::copy_nonoverlapping(source, into.as_mut_ptr().add(used), length);
            into.set_len(used + length);
        }
    }

    /// The lower half of a 64-bit word of the first page. On 32-bit hosts the kernel counts
    /// in 32 bits and the upper half stays zero.
    fn word(&self, offset: usize) -> &AtomicUsize {
        // SAFETY: the offset is within the mapped page and aligned to 8 bytes (4 for the lower
        // half); both sides use it atomically, and it lives as long as this value.
        unsafe { AtomicUsize::from_ptr(self.page.as_ptr().add(offset + LOWER_HALF).cast()) }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no reference into it is left.
        unsafe { libc::munmap(self.page.as_ptr().cast(), self.head_room + self.room) };
    }
}

fn page_size() -> usize {
    // SAFETY: this takes one number and touches no memory.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).ok().filter(|size| *size > 0).unwrap_or(4096)
}

const DATA_HEAD: usize = 1024;
const DATA_TAIL: usize = 1032;
const LOWER_HALF: usize =
    if cfg!(all(target_endian = "big", target_pointer_width = "32")) { 4 } else { 0 };
/// `_IO('$', 0)`; some architectures have another word for "no data" (asm/ioctl.h).
const ENABLE: libc::Ioctl = NO_DATA | 0x2400;
/// `_IO('$', 1)`.
const DISABLE: libc::Ioctl = NO_DATA | 0x2401;
/// `_IOC_NONE`; some architectures encode it differently (asm/ioctl.h).
const NO_DATA: libc::Ioctl = if cfg!(any(
    target_arch = "mips",
    target_arch = "mips64",
    target_arch = "powerpc",
    target_arch = "powerpc64",
    target_arch = "sparc64"
)) {
    1 << 29
} else {
    0
};
