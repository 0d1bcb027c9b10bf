//! Copies by bytes, and by words where both sides have the same alignment. None merges words:
//! that is `shift`.

use crate::part::Part;

/// Byte by byte.
#[inline(never)]
pub(crate) unsafe fn byte(to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: as the caller promises.
    unsafe { Part::new(to, from, length).rest() }
}

/// Word by word, or byte by byte.
#[inline(never)]
pub(crate) unsafe fn word(to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: as the caller promises.
    unsafe { by_words::<1>(to, from, length) }
}

/// Eight words by eight words, or byte by byte.
#[inline(never)]
pub(crate) unsafe fn word_x8(to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: as the caller promises.
    unsafe { by_words::<8>(to, from, length) }
}

#[inline(always)]
unsafe fn by_words<const N: usize>(to: *mut u8, from: *const u8, length: usize) {
    let mut part = Part::new(to, from, length);
    // SAFETY: as the caller promises; words are copied where both are aligned.
    unsafe {
        part.align_destination();
        if part.source_offset() == 0 {
            part.words::<N>();
            part.words::<1>();
        }
        part.rest();
    }
}
