//! `mars/base.h`: memory, by pointers and by addresses.

use std::ptr;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, fence};

use libc::{c_void, size_t};

/// Allocates memory of the host (malloc(3)).
#[unsafe(no_mangle)]
pub extern "C" fn mars_malloc(size: size_t) -> *mut c_void {
    // SAFETY: malloc(3) has no preconditions.
    unsafe { libc::malloc(size) }
}

/// Changes the size of memory of the host (realloc(3)).
///
/// # Safety
/// `ptr` is null, or of [`mars_malloc`] or this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_realloc(ptr: *mut c_void, size: size_t) -> *mut c_void {
    // SAFETY: as promised.
    unsafe { libc::realloc(ptr, size) }
}

/// Frees memory of the host.
///
/// # Safety
/// `ptr` is null, or of [`mars_malloc`] or [`mars_realloc`], and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_free(ptr: *mut c_void) {
    // SAFETY: as promised.
    unsafe { libc::free(ptr) };
}

/// Allocates memory at a multiple of `boundary`, a power of two; 0 if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn mars_ea_memalign(boundary: size_t, size: size_t) -> u64 {
    let mut memory = ptr::null_mut();
    let boundary = boundary.max(size_of::<usize>());
    // SAFETY: it only writes to `memory`.
    let result = unsafe { libc::posix_memalign(&raw mut memory, boundary, size) };
    if result == 0 { memory.expose_provenance() as u64 } else { 0 }
}

/// Frees memory of [`mars_ea_memalign`].
///
/// # Safety
/// `ea` is zero, or of [`mars_ea_memalign`], and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_ea_free(ea: u64) {
    // SAFETY: as promised.
    unsafe { libc::free(pointer::<c_void>(ea)) };
}

/// Copies `size` bytes at `ea` to `ptr`.
///
/// # Safety
/// Both have so many bytes, and do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_ea_get(ea: u64, ptr: *mut c_void, size: size_t) {
    // SAFETY: as promised.
    unsafe { ptr::copy_nonoverlapping(pointer::<u8>(ea), ptr.cast(), size) };
}

/// Copies `size` bytes at `ptr` to `ea`.
///
/// # Safety
/// Both have so many bytes, and do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_ea_put(ea: u64, ptr: *const c_void, size: size_t) {
    // SAFETY: as promised.
    unsafe { ptr::copy_nonoverlapping(ptr.cast(), pointer::<u8>(ea), size) };
}

/// Defines the access to integers of one width.
macro_rules! access {
    ($get:ident, $put:ident, $type:ty) => {
        /// Reads an integer.
        ///
        /// # Safety
        /// `ea` is that of such an integer.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $get(ea: u64) -> $type {
            // SAFETY: as promised.
            unsafe { pointer::<$type>(ea).read_volatile() }
        }

        /// Writes an integer.
        ///
        /// # Safety
        /// `ea` is that of such an integer.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $put(ea: u64, value: $type) {
            // SAFETY: as promised.
            unsafe { pointer::<$type>(ea).write_volatile(value) };
        }
    };
}

access!(mars_ea_get_uint8, mars_ea_put_uint8, u8);
access!(mars_ea_get_uint16, mars_ea_put_uint16, u16);
access!(mars_ea_get_uint64, mars_ea_put_uint64, u64);

/// Reads an integer atomically.
///
/// # Safety
/// `ea` is that of such an integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_ea_get_uint32(ea: u64) -> u32 {
    // SAFETY: as promised.
    unsafe { AtomicU32::from_ptr(pointer(ea)) }.load(Relaxed)
}

/// Writes an integer atomically.
///
/// # Safety
/// `ea` is that of such an integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_ea_put_uint32(ea: u64, value: u32) {
    // SAFETY: as promised.
    unsafe { AtomicU32::from_ptr(pointer(ea)) }.store(value, Relaxed);
}

/// The address of memory of the host, which tasks can use as it is.
#[unsafe(no_mangle)]
pub extern "C" fn mars_ea_map(ptr: *mut c_void, _size: size_t) -> u64 {
    ptr.expose_provenance() as u64
}

/// Ends the use of [`mars_ea_map`], which needs nothing here.
#[unsafe(no_mangle)]
pub extern "C" fn mars_ea_unmap(_ea: u64, _size: size_t) {}

/// A full barrier of memory.
#[unsafe(no_mangle)]
pub extern "C" fn mars_ea_sync() {
    fence(SeqCst);
}

/// `CLOCK_MONOTONIC` in steps of 16 ns; it wraps after 68 s.
#[unsafe(no_mangle)]
pub extern "C" fn mars_get_ticks() -> u32 {
    // The lower half, as it wraps.
    #[expect(clippy::cast_possible_truncation, reason = "it wraps")]
    let ticks = (linux::clock::monotonic().as_nanos() / 16) as u32;
    ticks
}

/// The memory at an address.
pub(crate) fn pointer<T>(ea: u64) -> *mut T {
    #[expect(clippy::cast_possible_truncation, reason = "addresses have the width of this machine")]
    ptr::with_exposed_provenance_mut(ea as usize)
}
