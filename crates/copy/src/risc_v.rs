//! Copies by vectors of RISC-V, and the merging of words in an order that suits its in-order cores.

use core::arch::asm;

pub(crate) fn has_vectors() -> bool {
    #[cfg(feature = "std")]
    // SAFETY: the call takes no pointer.
    let of_processor = unsafe { libc::getauxval(libc::AT_HWCAP) } & HWCAP_V != 0;
    #[cfg(not(feature = "std"))]
    let of_processor = false;
    cfg!(target_feature = "v") || of_processor
}

/// As many bytes as eight registers hold, at a time ("strip mining", RISC-V "V" Vector Extension 1.0,
/// 6.4).
pub(crate) unsafe fn vectors(to: *mut u8, from: *const u8, length: usize) {
    if length == 0 {
        return;
    }
    // SAFETY: as the caller promises; each round copies as many bytes as `vsetvli` grants of what is
    // left.
    unsafe {
        asm!(
            ".option push",
            ".option arch, +v",
            "2:",
            "vsetvli {count}, {left}, e8, m8, ta, ma",
            "vle8.v v0, ({from})",
            "add {from}, {from}, {count}",
            "sub {left}, {left}, {count}",
            "vse8.v v0, ({to})",
            "add {to}, {to}, {count}",
            "bnez {left}, 2b",
            ".option pop",
            count = out(reg) _,
            left = inout(reg) length => _,
            from = inout(reg) from => _,
            to = inout(reg) to => _,
            out("v0") _, out("v1") _, out("v2") _, out("v3") _,
            out("v4") _, out("v5") _, out("v6") _, out("v7") _,
            options(nostack)
        );
    }
}

/// Merges and stores `rounds` times eight words: eight loads, then the shifts, then eight stores, so
/// that nothing waits for a load. Takes and returns the last word that was loaded, the word behind it,
/// and where the next goes; `down` and `up` are less than 64, and 64 together.
///
/// # Safety
/// So many words are at `next` and have room at `to`; both are aligned.
#[inline(always)]
pub(crate) unsafe fn merge_by_eight(
    rounds: usize,
    (mut last, mut next, mut to): (usize, *const usize, *mut usize),
    (down, up): (usize, usize),
) -> (usize, *const usize, *mut usize) {
    if rounds == 0 {
        return (last, next, to);
    }
    // SAFETY: as the caller promises.
    unsafe {
        asm!(
            "2:",
            "ld {w0}, 0({next})", "ld {w1}, 8({next})", "ld {w2}, 16({next})", "ld {w3}, 24({next})",
            "ld {w4}, 32({next})", "ld {w5}, 40({next})", "ld {w6}, 48({next})", "ld {w7}, 56({next})",
            "addi {next}, {next}, 64",
            "srl {m0}, {last}, {down}", "srl {m1}, {w0}, {down}", "srl {m2}, {w1}, {down}", "srl {m3}, {w2}, {down}",
            "srl {m4}, {w3}, {down}", "srl {m5}, {w4}, {down}", "srl {m6}, {w5}, {down}", "srl {m7}, {w6}, {down}",
            "mv {last}, {w7}",
            "sll {w0}, {w0}, {up}", "sll {w1}, {w1}, {up}", "sll {w2}, {w2}, {up}", "sll {w3}, {w3}, {up}",
            "sll {w4}, {w4}, {up}", "sll {w5}, {w5}, {up}", "sll {w6}, {w6}, {up}", "sll {w7}, {w7}, {up}",
            "or {m0}, {m0}, {w0}", "or {m1}, {m1}, {w1}", "or {m2}, {m2}, {w2}", "or {m3}, {m3}, {w3}",
            "or {m4}, {m4}, {w4}", "or {m5}, {m5}, {w5}", "or {m6}, {m6}, {w6}", "or {m7}, {m7}, {w7}",
            "sd {m0}, 0({to})", "sd {m1}, 8({to})", "sd {m2}, 16({to})", "sd {m3}, 24({to})",
            "sd {m4}, 32({to})", "sd {m5}, 40({to})", "sd {m6}, 48({to})", "sd {m7}, 56({to})",
            "addi {to}, {to}, 64",
            "bne {next}, {end}, 2b",
            w0 = out(reg) _, w1 = out(reg) _, w2 = out(reg) _, w3 = out(reg) _,
            w4 = out(reg) _, w5 = out(reg) _, w6 = out(reg) _, w7 = out(reg) _,
            m0 = out(reg) _, m1 = out(reg) _, m2 = out(reg) _, m3 = out(reg) _,
            m4 = out(reg) _, m5 = out(reg) _, m6 = out(reg) _, m7 = out(reg) _,
            end = in(reg) next.add(8 * rounds),
            last = inout(reg) last, next = inout(reg) next, to = inout(reg) to,
            down = in(reg) down, up = in(reg) up,
            options(nostack)
        );
    }
    (last, next, to)
}

/// `COMPAT_HWCAP_ISA_V`, asm/hwcap.h: the vector extension 1.0, with its state kept by the kernel.
#[cfg(feature = "std")]
const HWCAP_V: libc::c_ulong = 1 << (b'V' - b'A');
