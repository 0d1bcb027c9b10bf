//! Settings of the heap of the C library (malloc(3)): when freed memory goes back to the kernel.

/// Makes malloc(3) map every block of 128 KiB or more with mmap(2), so that it goes back to
/// the kernel when it is freed (`M_MMAP_THRESHOLD`, mallopt(3)). The GNU C library would
/// otherwise raise this threshold as large blocks are freed; other C libraries need
/// nothing.
pub fn fix_mmap_threshold() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes two numbers; a refusal leaves everything as it is.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
}

/// Returns free memory of the heap to the kernel (malloc_trim(3)). It may take
/// milliseconds. It does nothing without the GNU C library.
pub fn trim() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes one number, and touches only memory that is free.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Bytes; the threshold of the GNU C library before it adapts it
/// (`DEFAULT_MMAP_THRESHOLD`).
#[cfg(target_env = "gnu")]
const LARGE: libc::c_int = 128 * 1024;
