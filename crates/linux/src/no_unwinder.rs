//! The functions of an unwinder that the standard library calls (Itanium C++ ABI: Exception
//! Handling, level I), for files without tables for unwinding: the stack has no frames.
//!
//! A panic there prints its message and aborts; `RUST_BACKTRACE` adds nothing. Since the functions
//! are seen at link time, what would name frames is left out of the file.

use std::ffi::{c_int, c_void};
use std::process;
use std::ptr;

/// Calls `_trace` for no frame, and says that the stack has ended (`_URC_END_OF_STACK`).
#[unsafe(no_mangle)]
extern "C" fn _Unwind_Backtrace(_trace: *const c_void, _argument: *mut c_void) -> c_int {
    END_OF_STACK
}

/// Nothing is thrown, so that nothing can go on.
#[unsafe(no_mangle)]
extern "C" fn _Unwind_Resume(_exception: *mut c_void) -> ! {
    process::abort()
}

#[unsafe(no_mangle)]
extern "C" fn _Unwind_GetIP(_context: *mut c_void) -> usize {
    0
}

#[unsafe(no_mangle)]
extern "C" fn _Unwind_GetIPInfo(_context: *mut c_void, _before: *mut c_int) -> usize {
    0
}

#[unsafe(no_mangle)]
extern "C" fn _Unwind_GetCFA(_context: *mut c_void) -> usize {
    0
}

#[unsafe(no_mangle)]
extern "C" fn _Unwind_GetRegionStart(_context: *mut c_void) -> usize {
    0
}

#[unsafe(no_mangle)]
extern "C" fn _Unwind_GetTextRelBase(_context: *mut c_void) -> usize {
    0
}

#[unsafe(no_mangle)]
extern "C" fn _Unwind_GetDataRelBase(_context: *mut c_void) -> usize {
    0
}

#[unsafe(no_mangle)]
extern "C" fn _Unwind_GetLanguageSpecificData(_context: *mut c_void) -> *mut c_void {
    ptr::null_mut()
}

#[unsafe(no_mangle)]
extern "C" fn _Unwind_FindEnclosingFunction(_address: *mut c_void) -> *mut c_void {
    ptr::null_mut()
}

#[unsafe(no_mangle)]
extern "C" fn _Unwind_SetGR(_context: *mut c_void, _register: c_int, _value: usize) {}

#[unsafe(no_mangle)]
extern "C" fn _Unwind_SetIP(_context: *mut c_void, _value: usize) {}

/// `_URC_END_OF_STACK`.
const END_OF_STACK: c_int = 5;
