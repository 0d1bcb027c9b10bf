//! Memory for large buffers ([`Region`], mmap(2)), on huge pages where the kernel grants them;
//! and regions that are handed out in parts ([`Arena`]).

mod arena;

pub use arena::{ARENA_ALIGN, Arena, Part};

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::{fs, io};

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
        let is_large = length >= WORTH_A_HUGE_PAGE;
        Self::map(length, if is_large { Advice::Huge } else { Advice::None })
    }

    /// Maps a region of `length` zeroed bytes of which perhaps little is touched: it asks for no
    /// huge pages.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn on_small_pages(length: usize) -> io::Result<Self> {
        Self::map(length, Advice::None)
    }

    /// Maps a region of `length` zeroed bytes that lies on base pages alone (`MADV_NOHUGEPAGE`,
    /// madvise(2)), whatever `transparent_hugepage/enabled` says.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn on_base_pages(length: usize) -> io::Result<Self> {
        Self::map(length, Advice::Base)
    }

    /// Maps a region of `length` zeroed bytes that lies on huge pages alone, as the kernel says in
    /// smaps (proc_pid_smaps(5)).
    ///
    /// # Errors
    /// As [`Self::new`]; and one of the kind `Unsupported` if the kernel grants no huge pages
    /// (`transparent_hugepage/enabled`, or none is free).
    pub fn on_huge_pages(length: usize) -> io::Result<Self> {
        let mut region = Self::map(length, Advice::Huge)?;
        // The first byte that is written takes the whole page.
        region.chunks_mut(HUGE_PAGE).for_each(|page| page[0] = 0);
        if region.is_on_huge_pages()? || (region.collapse() && region.is_on_huge_pages()?) {
            return Ok(region);
        }
        let text = "the kernel grants no huge pages (/sys/kernel/mm/transparent_hugepage/enabled)";
        Err(io::Error::new(io::ErrorKind::Unsupported, text))
    }

    /// Whether all memory of the mapping of its first byte is huge pages.
    fn is_on_huge_pages(&self) -> io::Result<bool> {
        let smaps = fs::read_to_string("/proc/self/smaps")?;
        Ok(is_huge(&smaps, self.start.as_ptr() as usize))
    }

    /// Makes huge pages of those that it has (Linux 6.1); whether that could be done.
    fn collapse(&mut self) -> bool {
        let whole = self.length.next_multiple_of(HUGE_PAGE);
        // SAFETY: the range lies in the mapping, and its content stays.
        unsafe { libc::madvise(self.start.as_ptr().cast(), whole, MADV_COLLAPSE) == 0 }
    }

    fn map(length: usize, advice: Advice) -> io::Result<Self> {
        let is_large = advice == Advice::Huge;
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
        if advice == Advice::Base {
            // SAFETY: the range is the mapping. A kernel without huge pages refuses, and has none.
            unsafe { libc::madvise(mapping.as_ptr(), room, libc::MADV_NOHUGEPAGE) };
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

/// What the kernel is told of the pages of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Advice {
    None,
    Base,
    Huge,
}

/// Whether the mapping of an address has memory, all of it huge pages, by the text of smaps.
fn is_huge(smaps: &str, address: usize) -> bool {
    let is_it = |line: &&str| {
        let range = line.split_whitespace().next().and_then(|range| range.split_once('-'));
        range.is_some_and(|(from, to)| {
            let number = |text| usize::from_str_radix(text, 16);
            number(from).is_ok_and(|from| from <= address)
                && number(to).is_ok_and(|to| address < to)
        })
    };
    let lines: Vec<_> = smaps.lines().skip_while(|line| !is_it(line)).take(MOST_LINES).collect();
    let kilobytes = |name: &str| {
        let line = lines.iter().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let (all, huge) = (kilobytes("Anonymous:"), kilobytes("AnonHugePages:"));
    huge.is_some_and(|huge| huge > 0) && huge == all
}

/// Lines of a mapping in smaps, at least as far as `AnonHugePages`, and fewer than of two of them.
const MOST_LINES: usize = 24;
/// `asm-generic/mman-common.h`; not in all versions of libc.
const MADV_COLLAPSE: libc::c_int = 25;
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
    fn pages_are_those_that_were_asked_for() {
        let mut base = Region::on_base_pages(2 * HUGE_PAGE).expect("mapped");
        base.fill(1);
        assert!(!base.is_on_huge_pages().expect("smaps"));
        match Region::on_huge_pages(HUGE_PAGE + 1) {
            Ok(region) => assert!(region.is_on_huge_pages().expect("smaps")),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::Unsupported, "{error}"),
        }
    }

    #[test]
    fn the_mapping_of_an_address_tells_its_pages() {
        let mapping = |range: &str, huge: u32| {
            format!(
                "{range} rw-p 00000000 00:00 0 \nSize:               4096 kB\n\
                 Anonymous:          2048 kB\nAnonHugePages:   {huge:>8} kB\n"
            )
        };
        let smaps = mapping("1000-2000", 0) + &mapping("7f00200000-7f00600000", 2_048);
        assert!(is_huge(&smaps, 0x7f_0020_0000) && is_huge(&smaps, 0x7f_005f_ffff));
        assert!(!is_huge(&smaps, 0x1000) && !is_huge(&smaps, 0x2000));
        assert!(!is_huge(&mapping("1000-2000", 1_024), 0x1000) && !is_huge("", 0));
    }

    #[test]
    fn a_region_that_no_machine_has_is_an_error() {
        assert!(Region::new(usize::MAX / 2 - HUGE_PAGE).is_err());
    }
}
