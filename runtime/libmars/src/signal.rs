//! `mars/task_signal.h`: one bit for each task.

use crate::code::{Code, require, returned};
use crate::current;
use crate::table::mars_task_id;
use crate::task::find;

/// Sends a task a signal.
///
/// Returns NULL for no id; PARAMS for an invalid one; STATE for a task that is destroyed.
///
/// # Safety
/// `id` is null, or of `mars_task_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_task_signal_send(id: *mut mars_task_id) -> i32 {
    // SAFETY: as promised.
    returned(unsafe { find(id) }.map(|task| task.signal()))
}

/// Waits for a signal to the calling task, and takes it.
///
/// Returns FORMAT in a run-complete task, STATE on the host.
#[unsafe(no_mangle)]
pub extern "C" fn mars_task_signal_wait() -> i32 {
    returned(current::wait(|task| task.wait_for_signal()))
}

/// Takes a signal to the calling task.
///
/// Returns BUSY if there is none, STATE on the host.
#[unsafe(no_mangle)]
pub extern "C" fn mars_task_signal_try_wait() -> i32 {
    returned(
        current::with_task(|task| task.try_signal()).and_then(|came| require(came, Code::Busy)),
    )
}
