//! What ThreadSanitizer has to know: which fiber a thread runs (sanitizer/tsan_interface.h of LLVM).
//! Nothing is told unless the crate is built with `--cfg tsan`, as `cargo xtask proof mars` does.

#[cfg(tsan)]
use std::cell::Cell;
#[cfg(tsan)]
use std::ffi::c_void;

/// A fiber as the sanitizer sees it.
pub(crate) struct Shadow {
    #[cfg(tsan)]
    fiber: *mut c_void,
}

#[cfg(not(tsan))]
impl Shadow {
    pub(crate) const fn new() -> Self {
        Self {}
    }

    /// The thread begins to run it.
    #[expect(clippy::unused_self, reason = "only a sanitizer asks")]
    pub(crate) const fn enter(&self) {}
}

/// The running fiber gives the thread back to whoever resumed it.
#[cfg(not(tsan))]
pub(crate) const fn leave() {}

#[cfg(tsan)]
impl Shadow {
    pub(crate) fn new() -> Self {
        // SAFETY: no other condition than to be given back.
        Self { fiber: unsafe { __tsan_create_fiber(0) } }
    }

    #[inline(always)]
    pub(crate) fn enter(&self) {
        // SAFETY: the fiber lives as long as this; it is switched to right after this.
        unsafe {
            OUTER.set(__tsan_get_current_fiber());
            __tsan_switch_to_fiber(self.fiber, 0);
        }
    }
}

#[cfg(tsan)]
#[inline(always)]
pub(crate) fn leave() {
    // SAFETY: the one of before runs on this thread, and is switched to right after this.
    unsafe { __tsan_switch_to_fiber(OUTER.get(), 0) }
}

#[cfg(tsan)]
impl Drop for Shadow {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and it does not run.
        unsafe { __tsan_destroy_fiber(self.fiber) }
    }
}

#[cfg(tsan)]
thread_local! {
    /// What the thread ran before.
    static OUTER: Cell<*mut c_void> = const { Cell::new(std::ptr::null_mut()) };
}

#[cfg(tsan)]
unsafe extern "C" {
    fn __tsan_get_current_fiber() -> *mut c_void;
    fn __tsan_create_fiber(flags: u32) -> *mut c_void;
    fn __tsan_destroy_fiber(fiber: *mut c_void);
    fn __tsan_switch_to_fiber(fiber: *mut c_void, flags: u32);
}
