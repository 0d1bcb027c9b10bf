//! Copies by aligned words alone whatever the alignment: of a source that is off a word boundary by
//! `offset` bytes, each word to store is the end of one aligned word and the beginning of the next,
//! shifted and merged.
//!
//! Only words that lie wholly in the source are loaded; of the one in which it begins, its bytes.

use crate::part::{Part, WORD};

/// One word at a time.
#[inline(never)]
pub(crate) unsafe fn shift(to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: as the caller promises.
    unsafe { shifted::<1>(to, from, length) }
}

/// Four words at a time.
#[inline(never)]
pub(crate) unsafe fn shift_x4(to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: as the caller promises.
    unsafe { shifted::<4>(to, from, length) }
}

/// Eight words at a time.
#[inline(never)]
pub(crate) unsafe fn shift_x8(to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: as the caller promises.
    unsafe { shifted::<8>(to, from, length) }
}

#[inline(always)]
unsafe fn shifted<const N: usize>(to: *mut u8, from: *const u8, length: usize) {
    let mut part = Part::new(to, from, length);
    // SAFETY: as the caller promises; words are copied where both are aligned, and merged where
    // the destination is.
    unsafe {
        part.align_destination();
        match part.source_offset() {
            0 => {
                part.words::<8>();
                part.words::<1>();
            }
            offset if part.left() >= 2 * WORD => merge::<N>(&mut part, offset),
            _ => {}
        }
        part.rest();
    }
}

/// Copies words of a source that is off a boundary by `offset` bytes, until less than two are left.
#[inline(always)]
unsafe fn merge<const N: usize>(part: &mut Part, offset: usize) {
    // SAFETY: at least two words are left, and the source has its bytes up to the next boundary.
    let mut words = unsafe { Words::begin(part, offset) };
    // SAFETY: as many words are left as each copies.
    unsafe {
        if N == 8 {
            words.copy_by_eight(words.left / 8);
        } else {
            words.copy::<N>(words.left / N);
        }
        words.copy::<1>(words.left);
        part.skip(words.done * WORD);
    }
}

/// A source off a boundary, seen as aligned words.
struct Words {
    /// The last word that was loaded.
    last: usize,
    /// The aligned word behind it.
    next: *const usize,
    /// Place of the next word.
    to: *mut usize,
    /// Of a word to store: how many bits into the first of its two words it begins, and how many
    /// the second has.
    shifts: (u32, u32),
    /// Words that lie wholly in the source, from `next`.
    left: usize,
    /// Words that were stored.
    done: usize,
}

impl Words {
    #[inline(always)]
    unsafe fn begin(part: &Part, offset: usize) -> Self {
        let from = part.source();
        let head = WORD - offset;
        let mut bytes = [0; WORD];
        for (place, byte) in bytes[offset..].iter_mut().enumerate() {
            // SAFETY: at least two words are left, more than `head` bytes. Volatile: else the
            // compiler may load them as one misaligned word.
            *byte = unsafe { from.add(place).read_volatile() };
        }
        Self {
            last: usize::from_ne_bytes(bytes),
            // SAFETY: as before.
            next: unsafe { from.add(head) }.cast(),
            to: part.destination().cast(),
            shifts: (bits(offset), bits(head)),
            left: (part.left() - head) / WORD,
            done: 0,
        }
    }

    /// As [`Self::copy`] by eight. Of the compiler's order of the shifts the model of an in-order core
    /// says 0.67 cycles for each byte, of this one 0.48 (llvm-mca 14, sifive-u74).
    #[cfg(target_arch = "riscv64")]
    #[inline(always)]
    unsafe fn copy_by_eight(&mut self, rounds: usize) {
        // SAFETY: the caller has so many words; both sides are aligned.
        unsafe {
            (self.last, self.next, self.to) = crate::risc_v::merge_by_eight(
                rounds,
                (self.last, self.next, self.to),
                (self.shifts.0 as usize, self.shifts.1 as usize),
            );
        }
        self.left -= rounds * 8;
        self.done += rounds * 8;
    }

    /// As [`Self::copy`] by eight.
    #[cfg(not(target_arch = "riscv64"))]
    #[inline(always)]
    unsafe fn copy_by_eight(&mut self, rounds: usize) {
        // SAFETY: as the caller promises.
        unsafe { self.copy::<8>(rounds) }
    }

    /// `rounds` times `N` loads, then `N` stores.
    #[inline(always)]
    unsafe fn copy<const N: usize>(&mut self, rounds: usize) {
        let (mut last, mut next, mut to) = (self.last, self.next, self.to);
        for _ in 0..rounds {
            // SAFETY: `N` words from `next` are in the source, and `N` from `to` in the destination;
            // both are aligned. Volatile: the order is as written, loads first.
            unsafe {
                let loaded: [usize; N] =
                    core::array::from_fn(|place| next.add(place).read_volatile());
                next = next.add(N);
                for (place, word) in loaded.into_iter().enumerate() {
                    to.add(place).write_volatile(merged(last, word, self.shifts));
                    last = word;
                }
                to = to.add(N);
            }
        }
        (self.last, self.next, self.to) = (last, next, to);
        self.left -= rounds * N;
        self.done += rounds * N;
    }
}

/// Bits of less than a word of bytes.
#[expect(clippy::cast_possible_truncation, reason = "less than a word")]
const fn bits(bytes: usize) -> u32 {
    (bytes % WORD) as u32 * u8::BITS
}

/// The word that begins `down` bits into `first` and ends in `second`, of which it has `up` bits; they
/// are a word together, and neither is none.
#[inline(always)]
const fn merged(first: usize, second: usize, (down, up): (u32, u32)) -> usize {
    if cfg!(target_endian = "little") {
        first.wrapping_shr(down) | second.wrapping_shl(up)
    } else {
        first.wrapping_shl(down) | second.wrapping_shr(up)
    }
}
