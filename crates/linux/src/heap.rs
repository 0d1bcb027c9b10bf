//! The memory that the C library keeps for this process.

/// Lets large blocks come from the system and go back to it one by one, however many of
/// them were freed before (`M_MMAP_THRESHOLD`, mallopt(3)). Elsewhere than in the GNU C
/// library nothing has to be done for that.
pub fn fix_mmap_threshold() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes two numbers; a refusal leaves everything as it is.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
}

/// Gives back to the system what was freed (malloc_trim(3)); it may take milliseconds.
pub fn trim() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes one number, and touches only memory that is free.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Bytes; the library's own limit before it begins to adapt it.
#[cfg(target_env = "gnu")]
const LARGE: libc::c_int = 128 * 1024;
