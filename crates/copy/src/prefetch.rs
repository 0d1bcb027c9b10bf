//! Loads ahead of their use.

/// Asks the core to fetch `source` into its caches, and does not wait for it. More than a core has
/// loads under way for (10 to 48 lines of 64 bytes) is not worth it; nothing on a core without such
/// an instruction.
#[inline]
pub fn prefetch(source: &[u8]) {
    for line in source.chunks(LINE) {
        fetch(line.as_ptr());
    }
}

/// A hint, which accesses nothing that the program could see.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn fetch(address: *const u8) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: it does not fault at any address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
}

/// `prfm pldl1keep` (Arm Architecture Reference Manual for A-profile, C6.2).
#[cfg(all(target_arch = "aarch64", not(miri)))]
#[inline(always)]
fn fetch(address: *const u8) {
    // SAFETY: it does not fault at any address.
    unsafe {
        core::arch::asm!(
            "prfm pldl1keep, [{0}]", in(reg) address,
            options(nostack, preserves_flags, readonly)
        );
    }
}

/// `prefetch.r` of Zicbop, which is an `ori` to the zero register to cores without it (RISC-V
/// Cache-Block Management Operations, 3.6).
#[cfg(all(target_arch = "riscv64", not(miri)))]
#[inline(always)]
fn fetch(address: *const u8) {
    // SAFETY: it does not fault at any address, and writes no register.
    unsafe {
        core::arch::asm!(
            "ori zero, {0}, 1", in(reg) address,
            options(nostack, preserves_flags, readonly)
        );
    }
}

#[cfg(not(any(
    target_arch = "x86_64",
    all(any(target_arch = "aarch64", target_arch = "riscv64"), not(miri))
)))]
#[inline(always)]
const fn fetch(_address: *const u8) {}

/// Bytes of a cache line on most CPUs.
const LINE: usize = 64;
