//! `mars/task_barrier.h`: barriers.

use runtime::Barrier;

use crate::code::{Code, require, returned};
use crate::context::mars_context;
use crate::current;
use crate::object::{self, Kind};

impl Kind for Barrier {
    const MARK: u64 = u64::from_le_bytes(*b"barrier\0");

    fn is_awaited(&self) -> bool {
        Self::is_awaited(self)
    }
}

/// Creates a barrier of `total` tasks.
///
/// Returns NULL for no context or result; PARAMS for no tasks.
///
/// # Safety
/// Each pointer is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_task_barrier_create(
    mars: *mut mars_context,
    barrier_ea: *mut u64,
    total: u32,
) -> i32 {
    // SAFETY: as promised.
    let Some(mars) = (unsafe { mars.as_ref() }) else { return Code::Null as i32 };
    if !barrier_ea.is_null() && total == 0 {
        return Code::Params as i32;
    }
    // SAFETY: as promised.
    returned(unsafe { object::create(barrier_ea, Barrier::new(&mars.runtime, total)) })
}

/// Destroys a barrier.
///
/// Returns NULL, ALIGN; PARAMS for what is no barrier; STATE while somebody waits.
///
/// # Safety
/// `barrier_ea` is zero, or of [`mars_task_barrier_create`] and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_task_barrier_destroy(barrier_ea: u64) -> i32 {
    // SAFETY: as promised.
    returned(unsafe { object::destroy::<Barrier>(barrier_ea) })
}

/// Tells that the calling task has arrived. Waits while tasks have not left the last cycle.
///
/// Returns NULL, ALIGN; PARAMS for what is no barrier; FORMAT; STATE on the host.
///
/// # Safety
/// `barrier_ea` is zero, or of [`mars_task_barrier_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_task_barrier_notify(barrier_ea: u64) -> i32 {
    // SAFETY: as promised.
    returned(unsafe { object::at::<Barrier>(barrier_ea) }.and_then(|barrier| {
        let barrier = &barrier.inner;
        current::wait(|task| task.block(|mpu| barrier.notify(mpu)))
    }))
}

/// As [`mars_task_barrier_notify`], without waiting.
///
/// Returns as that but for FORMAT, and BUSY if it would have to wait.
///
/// # Safety
/// As of [`mars_task_barrier_notify`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_task_barrier_try_notify(barrier_ea: u64) -> i32 {
    // SAFETY: as promised.
    returned(unsafe { object::at::<Barrier>(barrier_ea) }.and_then(|barrier| {
        require(current::is_task(), Code::State)?;
        require(barrier.inner.try_notify(), Code::Busy)
    }))
}

/// Waits until all tasks have arrived.
///
/// Returns NULL, ALIGN; PARAMS for what is no barrier; FORMAT; STATE on the host.
///
/// # Safety
/// As of [`mars_task_barrier_notify`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_task_barrier_wait(barrier_ea: u64) -> i32 {
    // SAFETY: as promised.
    returned(unsafe { object::at::<Barrier>(barrier_ea) }.and_then(|barrier| {
        let barrier = &barrier.inner;
        current::wait(|task| task.block(|mpu| barrier.wait(mpu)))
    }))
}

/// As [`mars_task_barrier_wait`], without waiting.
///
/// Returns as that but for FORMAT, and BUSY if it would have to wait.
///
/// # Safety
/// As of [`mars_task_barrier_notify`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_task_barrier_try_wait(barrier_ea: u64) -> i32 {
    // SAFETY: as promised.
    returned(unsafe { object::at::<Barrier>(barrier_ea) }.and_then(|barrier| {
        require(current::is_task(), Code::State)?;
        require(barrier.inner.try_wait(), Code::Busy)
    }))
}
