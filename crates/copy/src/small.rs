//! Short copies by two accesses that overlap, for routines by vectors.

#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

/// Copies less than 64 bytes.
///
/// # Safety
/// Source and destination are valid for `length` bytes and do not overlap.
#[inline(always)]
pub(crate) unsafe fn small(to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: each size is not more than the length.
    unsafe {
        match length {
            32..64 => ends::<[u128; 2]>(to, from, length),
            16..32 => ends::<u128>(to, from, length),
            8..16 => ends::<u64>(to, from, length),
            4..8 => ends::<u32>(to, from, length),
            2..4 => ends::<u16>(to, from, length),
            1 => *to = *from,
            _ => {}
        }
    }
}

/// Copies the first and the last bytes, as many as `T` has. Both are loaded before either is stored.
#[inline(always)]
unsafe fn ends<T>(to: *mut u8, from: *const u8, length: usize) {
    let last = length - size_of::<T>();
    // SAFETY: the caller has at least as many bytes as `T`.
    unsafe {
        let (head, tail) =
            (from.cast::<T>().read_unaligned(), from.add(last).cast::<T>().read_unaligned());
        to.cast::<T>().write_unaligned(head);
        to.add(last).cast::<T>().write_unaligned(tail);
    }
}
