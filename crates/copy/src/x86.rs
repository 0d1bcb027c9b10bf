//! Copies by instructions of x86-64: vectors, the processor's own copy, stores past the caches.

use core::arch::asm;
use core::arch::x86_64::{
    __m128i, __m256i, _mm_loadu_si128, _mm_sfence, _mm_storeu_si128, _mm_stream_si128,
    _mm256_loadu_si256, _mm256_storeu_si256,
};

use crate::small::small;

pub(crate) fn has_avx2() -> bool {
    #[cfg(feature = "std")]
    let has = std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(feature = "std"))]
    let has = cfg!(target_feature = "avx2");
    has
}

pub(crate) fn has_avx512() -> bool {
    #[cfg(feature = "std")]
    let has = std::arch::is_x86_feature_detected!("avx512f");
    #[cfg(not(feature = "std"))]
    let has = cfg!(target_feature = "avx512f");
    has && has_avx2()
}

/// Vectors of 32 bytes.
#[target_feature(enable = "avx2")]
pub(crate) unsafe fn avx2(to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: as the caller promises; vectors are of 32 bytes.
    unsafe {
        if length < 32 {
            return small(to, from, length);
        }
        let last = _mm256_loadu_si256(from.add(length - 32).cast::<__m256i>());
        let mut done = 0;
        while length - done >= 128 {
            let (from, to) = (from.add(done).cast::<__m256i>(), to.add(done).cast::<__m256i>());
            let first = _mm256_loadu_si256(from);
            let second = _mm256_loadu_si256(from.add(1));
            let third = _mm256_loadu_si256(from.add(2));
            let fourth = _mm256_loadu_si256(from.add(3));
            _mm256_storeu_si256(to, first);
            _mm256_storeu_si256(to.add(1), second);
            _mm256_storeu_si256(to.add(2), third);
            _mm256_storeu_si256(to.add(3), fourth);
            done += 128;
        }
        while length - done >= 32 {
            let vector = _mm256_loadu_si256(from.add(done).cast());
            _mm256_storeu_si256(to.add(done).cast(), vector);
            done += 32;
        }
        _mm256_storeu_si256(to.add(length - 32).cast(), last);
    }
}

/// Vectors of 64 bytes, four at a time; what is left, vectors of 32.
pub(crate) unsafe fn avx512(to: *mut u8, from: *const u8, length: usize) {
    let rounds = length / 256;
    if rounds > 0 {
        // SAFETY: the processor has the instructions, and each round copies 256 bytes. As assembly:
        // the intrinsics are newer than the oldest compiler for this project.
        unsafe {
            asm!(
                "2:",
                "vmovdqu64 zmm0, [{from}]",
                "vmovdqu64 zmm1, [{from} + 64]",
                "vmovdqu64 zmm2, [{from} + 128]",
                "vmovdqu64 zmm3, [{from} + 192]",
                "add {from}, 256",
                "vmovdqu64 [{to}], zmm0",
                "vmovdqu64 [{to} + 64], zmm1",
                "vmovdqu64 [{to} + 128], zmm2",
                "vmovdqu64 [{to} + 192], zmm3",
                "add {to}, 256",
                "dec {rounds}",
                "jnz 2b",
                "vzeroupper",
                rounds = inout(reg) rounds => _,
                from = inout(reg) from => _,
                to = inout(reg) to => _,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                options(nostack)
            );
        }
    }
    let done = rounds * 256;
    // SAFETY: what is left of both; a processor with these vectors has those of 32 bytes.
    unsafe { avx2(to.add(done), from.add(done), length - done) }
}

/// The processor's own copy (Intel 64 and IA-32 Architectures Optimization Reference Manual,
/// "Enhanced REP MOVSB").
pub(crate) unsafe fn rep_movsb(to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: as the caller promises; the direction flag is clear (System V ABI, 3.2.1).
    unsafe {
        asm!(
            "rep movsb",
            inout("rcx") length => _,
            inout("rdi") to => _,
            inout("rsi") from => _,
            options(nostack, preserves_flags)
        );
    }
}

/// Stores that pass by the caches, from 256 bytes on.
pub(crate) unsafe fn non_temporal(to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: as the caller promises; the stores that must be aligned are, from `done` on.
    unsafe {
        if length < 256 {
            return core::ptr::copy_nonoverlapping(from, to, length);
        }
        let vector = |place: usize| _mm_loadu_si128(from.add(place).cast::<__m128i>());
        _mm_storeu_si128(to.cast(), vector(0));
        let mut done = 16 - to.addr() % 16;
        while length - done >= 64 {
            let vectors: [_; 4] = core::array::from_fn(|number| vector(done + 16 * number));
            for (number, vector) in vectors.into_iter().enumerate() {
                _mm_stream_si128(to.add(done + 16 * number).cast(), vector);
            }
            done += 64;
        }
        // As non-temporal stores need before others may see them.
        _mm_sfence();
        core::ptr::copy_nonoverlapping(from.add(done), to.add(done), length - done);
    }
}
