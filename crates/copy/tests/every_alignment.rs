//! Every routine that this processor has copies every length from and to every alignment, touches no
//! byte outside, and reads none: behind the source and the destination, and before them, are pages
//! that fault.

#![expect(unsafe_code, reason = "pages that fault are made by mmap(2)")]

use linerate_copy::{Copier, Routine};
use proptest::prelude::*;

#[test]
fn bytes_at_the_end_of_a_page() {
    each(|copier, (source_offset, destination_offset), length| {
        check(
            copier,
            length,
            |page| page - length - source_offset,
            |page| page - length - destination_offset,
        );
    });
}

#[test]
fn bytes_at_the_start_of_a_page() {
    each(|copier, (source_offset, destination_offset), length| {
        check(copier, length, |_| source_offset, |_| destination_offset);
    });
}

#[test]
fn routines_of_this_architecture_are_tried() {
    let available: Vec<_> = Routine::available().map(|copier| copier.routine()).collect();
    assert!(available.contains(&Routine::ShiftX8), "{available:?}");
    if cfg!(target_arch = "x86_64") {
        assert!(available.contains(&Routine::RepMovsb), "{available:?}");
    }
    if cfg!(target_arch = "aarch64") {
        assert!(available.contains(&Routine::Neon), "{available:?}");
    }
}

proptest! {
    #[test]
    fn long_copies_are_whole(
        length in 300_usize..9_000,
        source_offset in 0_usize..64,
        destination_offset in 0_usize..64,
        first in any::<u8>(),
    ) {
        let byte = |place: usize| place.wrapping_mul(31).to_le_bytes()[0].wrapping_add(first);
        let source: Vec<u8> = (0..length + 64).map(byte).collect();
        for copier in Routine::available() {
            let mut destination = vec![0xa5; length + 128];
            copier.copy(
                &mut destination[destination_offset..][..length],
                &source[source_offset..][..length],
            );
            let (before, rest) = destination.split_at(destination_offset);
            let (copied, after) = rest.split_at(length);
            prop_assert!(copied == &source[source_offset..][..length], "{}", copier.routine());
            prop_assert!(before.iter().chain(after).all(|byte| *byte == 0xa5), "{}", copier.routine());
        }
    }
}

/// Runs `test` for each routine, each of the 64 pairs of alignments and each length up to 300.
fn each(mut test: impl FnMut(Copier, (usize, usize), usize)) {
    for copier in Routine::available() {
        for alignments in 0..64 {
            for length in 0..=300 {
                test(copier, (alignments / 8, alignments % 8), length);
            }
        }
    }
}

thread_local! {
    static PAGES: (Guarded, Guarded) = (Guarded::filled(), Guarded::new());
}

/// Copies from and to the places that `from` and `to` say of the size of a page.
fn check(
    copier: Copier,
    length: usize,
    from: impl Fn(usize) -> usize,
    to: impl Fn(usize) -> usize,
) {
    PAGES.with(|(source, destination)| {
        let (from, to) = (from(source.length), to(destination.length));
        let (source, destination) = (source.bytes(), destination.bytes());
        destination.fill(UNTOUCHED);
        copier.copy(&mut destination[to..][..length], &source[from..][..length]);
        let what = (copier.routine(), from, to, length);
        assert!(destination[to..][..length] == source[from..][..length], "{what:?}");
        destination[to..][..length].fill(UNTOUCHED);
        let (first, rest) = destination.split_at(1);
        let is_untouched = first == [UNTOUCHED] && *rest == destination[..rest.len()];
        assert!(is_untouched, "{what:?}");
    });
}

/// Memory of one page between two that fault.
struct Guarded {
    start: *mut u8,
    length: usize,
}

impl Guarded {
    fn filled() -> Self {
        let new = Self::new();
        new.bytes()
            .iter_mut()
            .zip(1_u32..)
            .for_each(|(byte, number)| *byte = number.to_le_bytes()[0] % 251);
        new
    }

    fn new() -> Self {
        // SAFETY: the call takes no pointer.
        let length = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).expect("a size");
        let protection = libc::PROT_NONE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: new memory, wherever the kernel likes; then its middle page, which is nobody
        // else's, is made accessible.
        let start = unsafe {
            let whole = libc::mmap(std::ptr::null_mut(), 3 * length, protection, flags, -1, 0);
            assert_ne!(whole, libc::MAP_FAILED, "mmap");
            let start = whole.cast::<u8>().add(length);
            let access = libc::PROT_READ | libc::PROT_WRITE;
            assert_eq!(libc::mprotect(start.cast(), length, access), 0, "mprotect");
            start
        };
        Self { start, length }
    }

    #[expect(clippy::mut_from_ref, reason = "one test at a time has the pages of its thread")]
    fn bytes(&self) -> &mut [u8] {
        // SAFETY: the page is readable, writable, and used by this thread alone.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.length) }
    }
}

const UNTOUCHED: u8 = 0xa5;
