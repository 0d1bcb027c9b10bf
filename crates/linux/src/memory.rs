//! Memory for large buffers ([`Region`], mmap(2)), on huge pages where the kernel grants them.

use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Private anonymous memory (mmap(2)), zeroed at first, that does not move when the `Region` is
/// moved. It takes memory as far as it is touched.
#[derive(Debug)]
pub struct Region {
    start: NonNull<u8>,
    length: usize,
    /// Start and length of the whole mapping.
    mapped: (NonNull<libc::c_void>, usize),
}

// SAFETY: the region owns its mapping alone, as a box owns its allocation.
unsafe impl Send for Region {}
// SAFETY: a shared reference only reads.
unsafe impl Sync for Region {}

impl Region {
    /// Maps a region of `length` zeroed bytes. A large one is aligned to 2 MiB and asks for huge
    /// pages (`MADV_HUGEPAGE`, madvise(2)), each of which is taken as a whole; the kernel may
    /// refuse.
    ///
    /// # Errors
    /// `ENOMEM` if there is no memory, or the limit of mappings or of address space is
    /// reached (mmap(2)).
    pub fn new(length: usize) -> io::Result<Self> {
        Self::map(length, length >= WORTH_A_HUGE_PAGE)
    }

    /// Maps a region of `length` zeroed bytes of which perhaps little is touched: it asks for no
    /// huge pages.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn on_small_pages(length: usize) -> io::Result<Self> {
        Self::map(length, false)
    }

    fn map(length: usize, is_large: bool) -> io::Result<Self> {
        let align = if is_large { HUGE_PAGE } else { 1 };
        let room = length.max(1).next_multiple_of(align) + align - 1;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new anonymous mapping touches no other memory.
        let mapping = unsafe { libc::mmap(std::ptr::null_mut(), room, protection, flags, -1, 0) };
        let mapping = NonNull::new(mapping).filter(|_| mapping != libc::MAP_FAILED);
        let mapping = mapping.ok_or_else(io::Error::last_os_error)?;
        let base: NonNull<u8> = mapping.cast();
        let skipped = base.align_offset(align);
        // SAFETY: the room is longer than the length by one less than the alignment.
        let start = unsafe { base.add(skipped) };
        if is_large {
            // SAFETY: the range lies in the mapping. A refusal leaves small pages.
            unsafe {
                let whole = length.next_multiple_of(HUGE_PAGE);
                libc::madvise(start.as_ptr().cast(), whole, libc::MADV_HUGEPAGE);
            }
        }
        Ok(Self { start, length, mapped: (mapping, room) })
    }
}

impl Deref for Region {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the mapping is readable, zeroed at first, and lives as long as this does.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl DerefMut for Region {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, it is writable, and there is no other reference.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        let (mapping, room) = self.mapped;
        // SAFETY: the mapping is ours, and no reference to it is left.
        unsafe { libc::munmap(mapping.as_ptr(), room) };
    }
}

/// Size of a huge page on most machines; with other sizes the advice has no effect.
const HUGE_PAGE: usize = 2 * 1024 * 1024;
/// Smaller regions would waste most of a huge page.
const WORTH_A_HUGE_PAGE: usize = HUGE_PAGE / 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_zeroed_writable_and_as_long_as_asked() {
        for length in [0, 1, 4_096, WORTH_A_HUGE_PAGE, 3 * HUGE_PAGE + 1] {
            let mut region = Region::new(length).expect("mapped");
            assert_eq!(region.len(), length);
            assert!(region.iter().all(|byte| *byte == 0));
            region.fill(7);
            assert!(region.iter().all(|byte| *byte == 7));
        }
    }

    #[test]
    fn a_large_region_begins_at_a_huge_page() {
        let region = Region::new(HUGE_PAGE).expect("mapped");
        assert_eq!(region.as_ptr() as usize % HUGE_PAGE, 0);
    }

    #[test]
    fn a_region_that_no_machine_has_is_an_error() {
        assert!(Region::new(usize::MAX / 2 - HUGE_PAGE).is_err());
    }
}
