//! What an input may cost: memory in proportion to the bytes that came, never to a number
//! in them.

use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Does `work` on an input of `bytes` bytes, which may take so much memory and no more.
pub(crate) fn bounded<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    bounded_to(PER_BYTE, bytes, work)
}

/// The same where each byte may take `per_byte` bytes.
pub(crate) fn bounded_to<T>(per_byte: usize, bytes: usize, work: impl FnOnce() -> T) -> T {
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let done = work();
    let peak = ALLOCATOR.peak_usage().saturating_sub(before);
    let most = FREE + per_byte * bytes;
    assert!(peak <= most, "{bytes} bytes took {peak} bytes of memory, more than {most}");
    done
}

/// What no input is blamed for. Far below the longest message, so that room made for a
/// length that was only announced is seen.
const FREE: usize = 128 * 1024;
/// A JSON text of many short values that becomes a tree takes the most.
const PER_BYTE: usize = 256;
