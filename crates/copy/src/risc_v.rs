//! Copies by vectors of RISC-V.

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

/// `COMPAT_HWCAP_ISA_V`, asm/hwcap.h: the vector extension 1.0, with its state kept by the kernel.
#[cfg(feature = "std")]
const HWCAP_V: libc::c_ulong = 1 << (b'V' - b'A');
