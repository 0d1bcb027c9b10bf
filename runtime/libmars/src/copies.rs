//! `mars/module.h`: copies with tags. They are made at once: an ordinary CPU reads all memory, and
//! its caches fetch ahead.

use std::ffi::c_void;

use crate::base::{mars_get_ticks, pointer};
use crate::code::{Code, require, require_address, returned};
use crate::task::mars_task_get_kernel_id;

/// Copies `size` bytes at `ea` to `ls`.
///
/// Returns NULL; ALIGN if either is not at a multiple of 16; PARAMS for a tag above 31.
///
/// # Safety
/// Both have so many bytes, and do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_module_dma_get(ls: *mut c_void, ea: u64, size: u32, tag: u32) -> i32 {
    // SAFETY: as promised.
    returned(check(ls, ea, tag).map(|()| unsafe { copy(pointer::<u8>(ea), ls.cast(), size) }))
}

/// Copies `size` bytes at `ls` to `ea`.
///
/// Returns as [`mars_module_dma_get`].
///
/// # Safety
/// As of [`mars_module_dma_get`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_module_dma_put(
    ls: *const c_void,
    ea: u64,
    size: u32,
    tag: u32,
) -> i32 {
    // SAFETY: as promised.
    returned(check(ls, ea, tag).map(|()| unsafe { copy(ls.cast(), pointer(ea), size) }))
}

/// Waits until all copies with this tag are complete.
///
/// Returns PARAMS for a tag above 31.
#[unsafe(no_mangle)]
pub extern "C" fn mars_module_dma_wait(tag: u32) -> i32 {
    returned(check_tag(tag))
}

/// As `mars_get_ticks`.
#[unsafe(no_mangle)]
pub extern "C" fn mars_module_get_ticks() -> u32 {
    mars_get_ticks()
}

/// As `mars_task_get_kernel_id`.
#[unsafe(no_mangle)]
pub extern "C" fn mars_module_get_kernel_id() -> u16 {
    mars_task_get_kernel_id()
}

fn check(ls: *const c_void, ea: u64, tag: u32) -> Result<(), Code> {
    require_address(ls.addr() as u64, ALIGN)?;
    require_address(ea, ALIGN)?;
    check_tag(tag)
}

pub(crate) fn check_tag(tag: u32) -> Result<(), Code> {
    require(tag < 32, Code::Params)
}

/// # Safety
/// Both have so many bytes, and do not overlap.
unsafe fn copy(from: *const u8, to: *mut u8, size: u32) {
    // SAFETY: as promised. A size of 32 bits fits an address.
    unsafe { std::ptr::copy_nonoverlapping(from, to, size as usize) };
}

/// Bytes to whose multiples addresses of copies are aligned.
pub(crate) const ALIGN: u64 = 16;
