//! A buffer followed by an inaccessible page: the kernel decides how many bytes it writes
//! into it, and that number may grow between the query of the size and the read.

use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Zeroed bytes, followed after less than a page by a page without access (mmap(2)).
#[derive(Debug)]
pub(super) struct Guarded {
    start: NonNull<u8>,
    length: usize,
    mapped: usize,
}

// SAFETY: it owns its mapping alone, as a box owns its allocation.
unsafe impl Send for Guarded {}

impl Guarded {
    pub(super) fn new(length: usize) -> io::Result<Self> {
        let page = page();
        let open = length.max(1).next_multiple_of(page);
        let mapped = open + page;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new anonymous mapping touches no other memory.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), mapped, libc::PROT_NONE, flags, -1, 0) };
        let start = NonNull::new(start).filter(|_| start != libc::MAP_FAILED);
        let start = start.ok_or_else(io::Error::last_os_error)?;
        let region = Self { start: start.cast(), length, mapped };
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the range is the mapping but for its last page.
        match unsafe { libc::mprotect(start.as_ptr(), open, protection) } {
            0 => Ok(region),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

fn page() -> usize {
    // SAFETY: this takes one number and touches no memory.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    // Larger than any page there is, should it not tell: only a multiple of one is needed.
    usize::try_from(page).ok().filter(|page| page.is_power_of_two()).unwrap_or(1 << 21)
}

impl Deref for Guarded {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: these bytes are readable, zeroed at first, and live as long as this does.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl DerefMut for Guarded {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, they are writable, and there is no other reference.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no reference to it is left.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.mapped) };
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn bytes_can_be_written_and_the_kernel_stops_behind_them() {
        let mut region = Guarded::new(5000).expect("mapped");
        region.fill(7);
        assert_eq!((region.len(), region[4999]), (5000, 7));
        let zeroes = File::open("/dev/zero").expect("there");
        let open = region.mapped - page();
        // SAFETY: what is not the region's is not accessible, which is what is tested.
        let got =
            unsafe { libc::read(zeroes.as_raw_fd(), region.as_mut_ptr().cast(), region.mapped) };
        assert!(usize::try_from(got).unwrap_or(0) <= open, "{got} of {open}");
    }
}
