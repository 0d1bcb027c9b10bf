//! `mars/mutex.h`: mutexes, with a line of memory that each protects.
//!
//! A task that has to wait lets others run meanwhile, unless it is run-complete: then it blocks its
//! MPU, as in MARS. Whoever comes first gets the mutex; there is no queue.

use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

use crate::base::{mars_ea_free, mars_ea_memalign, pointer};
use crate::code::{Code, require, require_address, returned};
use crate::current;

/// A mutex and the line that it is in (`mars/mutex_types.h`).
#[derive(Clone, Copy)]
#[repr(C, align(128))]
pub struct mars_mutex {
    lock: u8,
    pad: u8,
    current_id: u8,
    next_id: u8,
    data: [u8; 124],
}

/// Creates a mutex that is not locked. Returns NULL, MEMORY.
///
/// # Safety
/// `mutex_ea` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_mutex_create(mutex_ea: *mut u64) -> i32 {
    if mutex_ea.is_null() {
        return Code::Null as i32;
    }
    let ea = mars_ea_memalign(ALIGN, size_of::<mars_mutex>());
    if ea == 0 {
        return Code::Memory as i32;
    }
    // SAFETY: the memory has this size; `mutex_ea` is as promised.
    unsafe {
        pointer::<mars_mutex>(ea).write_bytes(0, 1);
        mutex_ea.write(ea);
    }
    0
}

/// Destroys a mutex. Returns NULL, ALIGN.
///
/// # Safety
/// `mutex_ea` is zero, or of [`mars_mutex_create`] and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_mutex_destroy(mutex_ea: u64) -> i32 {
    // SAFETY: as promised.
    returned(check(mutex_ea).map(|()| unsafe { mars_ea_free(mutex_ea) }))
}

/// Unlocks a mutex, whoever has it. Returns NULL, ALIGN.
///
/// # Safety
/// `mutex_ea` is zero, or that of a mutex.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_mutex_reset(mutex_ea: u64) -> i32 {
    // SAFETY: as promised.
    returned(check(mutex_ea).map(|()| unsafe { word(mutex_ea) }.store(UNLOCKED, Release)))
}

/// Locks a mutex; waits until it is free. Returns NULL, ALIGN.
///
/// # Safety
/// `mutex_ea` is zero, or that of a mutex.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_mutex_lock(mutex_ea: u64) -> i32 {
    // SAFETY: as promised.
    returned(check(mutex_ea).map(|()| lock(unsafe { word(mutex_ea) })))
}

/// Unlocks a mutex. Returns NULL, ALIGN; STATE if it is not locked.
///
/// # Safety
/// `mutex_ea` is zero, or that of a mutex.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_mutex_unlock(mutex_ea: u64) -> i32 {
    // SAFETY: as promised.
    returned(check(mutex_ea).and_then(|()| unlock(unsafe { word(mutex_ea) })))
}

/// Locks a mutex and copies its line to `mutex`, if a task calls. Returns NULL, ALIGN.
///
/// # Safety
/// `mutex_ea` is zero, or that of a mutex; `mutex` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_mutex_lock_get(mutex_ea: u64, mutex: *mut mars_mutex) -> i32 {
    returned(check_both(mutex_ea, mutex).map(|()| {
        // SAFETY: as promised.
        lock(unsafe { word(mutex_ea) });
        if current::is_task() {
            // SAFETY: as promised; who has the lock has the data.
            unsafe { (*mutex).data = (*pointer::<mars_mutex>(mutex_ea)).data };
        }
    }))
}

/// Copies `mutex` to the line of a mutex, if a task calls, and unlocks it. Returns NULL, ALIGN; STATE
/// if it is not locked.
///
/// # Safety
/// `mutex_ea` is zero, or that of a mutex; `mutex` is null or can be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_mutex_unlock_put(mutex_ea: u64, mutex: *mut mars_mutex) -> i32 {
    returned(check_both(mutex_ea, mutex).and_then(|()| {
        // SAFETY: as promised.
        let word = unsafe { word(mutex_ea) };
        require(word.load(Relaxed) == LOCKED, Code::State)?;
        if current::is_task() {
            // SAFETY: as promised; who has the lock has the data.
            unsafe { (*pointer::<mars_mutex>(mutex_ea)).data = (*mutex).data };
        }
        unlock(word)
    }))
}

fn lock(word: &AtomicU8) {
    let mut failed = 0_u32;
    while word.compare_exchange(UNLOCKED, LOCKED, Acquire, Relaxed).is_err() {
        failed += 1;
        if failed.is_multiple_of(YIELDS) {
            // Who has it may be of a lower priority.
            wait_longer();
        } else if !matches!(current::with_task(|task| task.yield_now()), Ok(Ok(()))) {
            std::thread::yield_now();
        }
    }
}

fn wait_longer() {
    let slept = current::with_task(|task| {
        let until = task.clock().after(PAUSE);
        task.sleep_until(until)
    });
    if !matches!(slept, Ok(Ok(()))) {
        std::thread::sleep(PAUSE);
    }
}

fn unlock(word: &AtomicU8) -> Result<(), Code> {
    let before = word.compare_exchange(LOCKED, UNLOCKED, Release, Relaxed);
    require(before.is_ok(), Code::State)
}

fn check(mutex_ea: u64) -> Result<(), Code> {
    require_address(mutex_ea, ALIGN as u64)
}

fn check_both(mutex_ea: u64, mutex: *const mars_mutex) -> Result<(), Code> {
    check(mutex_ea)?;
    // The host reads the line itself, and may give nothing.
    if current::is_task() { require_address(mutex.addr() as u64, ALIGN as u64) } else { Ok(()) }
}

/// The byte that says whether a mutex is locked.
///
/// # Safety
/// `mutex_ea` is that of a mutex that lives for `'a`.
unsafe fn word<'a>(mutex_ea: u64) -> &'a AtomicU8 {
    // SAFETY: as promised.
    unsafe { AtomicU8::from_ptr(&raw mut (*pointer::<mars_mutex>(mutex_ea)).lock) }
}

const ALIGN: usize = 128;
const LOCKED: u8 = 1;
const UNLOCKED: u8 = 0;
/// Attempts between two pauses.
const YIELDS: u32 = 16;
const PAUSE: Duration = Duration::from_micros(50);
