//! Copies by vectors of 64-bit ARM.

use core::arch::aarch64::{vld1q_u8, vld1q_u8_x4, vst1q_u8, vst1q_u8_x4};

use crate::small::small;

/// Vectors of 16 bytes, four at a time.
pub(crate) unsafe fn neon(to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: as the caller promises; vectors are of 16 bytes.
    unsafe {
        if length < 64 {
            return small(to, from, length);
        }
        let last = vld1q_u8(from.add(length - 16));
        let mut done = 0;
        while length - done >= 64 {
            vst1q_u8_x4(to.add(done), vld1q_u8_x4(from.add(done)));
            done += 64;
        }
        while length - done >= 16 {
            vst1q_u8(to.add(done), vld1q_u8(from.add(done)));
            done += 16;
        }
        vst1q_u8(to.add(length - 16), last);
    }
}
