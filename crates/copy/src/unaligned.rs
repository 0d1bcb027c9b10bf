//! Copies by words at any address, one instruction each. A core without misaligned accesses traps at
//! each load that is off a boundary.

use crate::part::{Part, WORD};

/// Eight words at a time; the destination is aligned, the source as it comes.
#[inline(never)]
pub(crate) unsafe fn unaligned(to: *mut u8, from: *const u8, length: usize) {
    let mut part = Part::new(to, from, length);
    // SAFETY: as the caller promises.
    unsafe {
        part.align_destination();
        words::<8>(&mut part);
        words::<1>(&mut part);
        part.rest();
    }
}

#[inline(always)]
unsafe fn words<const N: usize>(part: &mut Part) {
    let rounds = part.left() / (N * WORD);
    let (mut from, mut to) = (part.source(), part.destination().cast::<usize>());
    for _ in 0..rounds {
        // SAFETY: `N` words are left in each round, and the destination is aligned.
        unsafe {
            let words: [usize; N] = core::array::from_fn(|place| load(from.add(place * WORD)));
            from = from.add(N * WORD);
            for (place, word) in words.into_iter().enumerate() {
                to.add(place).write_volatile(word);
            }
            to = to.add(N);
        }
    }
    // SAFETY: so much was left.
    unsafe { part.skip(rounds * N * WORD) };
}

/// Loads a word at any address, by one instruction. The language has no other way to ask for it: of a
/// core without misaligned accesses `read_unaligned` makes loads of bytes.
#[cfg(target_arch = "riscv64")]
#[inline(always)]
unsafe fn load(from: *const u8) -> usize {
    let word;
    // SAFETY: the caller has a word there; only a register is written.
    unsafe {
        core::arch::asm!(
            "ld {word}, 0({from})",
            word = out(reg) word,
            from = in(reg) from,
            options(nostack, preserves_flags, readonly)
        );
    }
    word
}

/// Loads a word at any address.
#[cfg(not(target_arch = "riscv64"))]
#[inline(always)]
unsafe fn load(from: *const u8) -> usize {
    // SAFETY: the caller has a word there.
    unsafe { from.cast::<usize>().read_unaligned() }
}
