//! `mars/task_semaphore.h`: semaphores.

use runtime::Semaphore;

use crate::code::{Code, require, returned};
use crate::context::mars_context;
use crate::current;
use crate::object::{self, Kind};

impl Kind for Semaphore {
    const MARK: u64 = u64::from_le_bytes(*b"semaphor");

    fn is_awaited(&self) -> bool {
        Self::is_awaited(self)
    }
}

/// Creates a semaphore that begins with `count` tokens, 0 to 54.
///
/// Returns NULL for no context or result; PARAMS for another count.
///
/// # Safety
/// Each pointer is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_task_semaphore_create(
    mars: *mut mars_context,
    semaphore_ea: *mut u64,
    count: i32,
) -> i32 {
    // SAFETY: as promised.
    let Some(mars) = (unsafe { mars.as_ref() }) else { return Code::Null as i32 };
    let Some(tokens) = u32::try_from(count).ok().filter(|tokens| *tokens <= MOST_TOKENS) else {
        return if semaphore_ea.is_null() { Code::Null } else { Code::Params } as i32;
    };
    // SAFETY: as promised.
    returned(unsafe { object::create(semaphore_ea, Semaphore::new(&mars.runtime, tokens)) })
}

/// Destroys a semaphore.
///
/// Returns NULL, ALIGN; PARAMS for what is no semaphore; STATE while somebody waits.
///
/// # Safety
/// `semaphore_ea` is zero, or of [`mars_task_semaphore_create`] and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_task_semaphore_destroy(semaphore_ea: u64) -> i32 {
    // SAFETY: as promised.
    returned(unsafe { object::destroy::<Semaphore>(semaphore_ea) })
}

/// Takes a token; waits until there is one.
///
/// Returns NULL, ALIGN; PARAMS for what is no semaphore; FORMAT; STATE on the host.
///
/// # Safety
/// `semaphore_ea` is zero, or of [`mars_task_semaphore_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_task_semaphore_acquire(semaphore_ea: u64) -> i32 {
    // SAFETY: as promised.
    returned(unsafe { object::at::<Semaphore>(semaphore_ea) }.and_then(|semaphore| {
        let semaphore = &semaphore.inner;
        current::wait(|task| task.block(|mpu| semaphore.acquire(mpu)))
    }))
}

/// Gives a token back.
///
/// Returns NULL, ALIGN; PARAMS for what is no semaphore; STATE on the host.
///
/// # Safety
/// As of [`mars_task_semaphore_acquire`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_task_semaphore_release(semaphore_ea: u64) -> i32 {
    // SAFETY: as promised.
    returned(unsafe { object::at::<Semaphore>(semaphore_ea) }.and_then(|semaphore| {
        require(current::is_task(), Code::State)?;
        semaphore.inner.release();
        Ok(())
    }))
}

/// `MARS_TASK_SEMAPHORE_WAIT_MAX`.
const MOST_TOKENS: u32 = 54;
