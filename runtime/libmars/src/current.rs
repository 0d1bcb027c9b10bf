//! Which task calls: the one that runs on this thread, or none, and then it is the host.

use std::cell::Cell;
use std::ptr::null_mut;

use runtime::{Task, TaskError};

use crate::code::Code;
use crate::table::TaskFacts;

/// The task that runs on a thread.
pub(crate) struct Current<'a, 'b> {
    task: &'a mut Task<'b>,
    facts: &'a TaskFacts,
}

/// Runs `main` as that of `task`.
pub(crate) fn run(task: &mut Task<'_>, facts: &TaskFacts, main: impl FnOnce() -> i32) -> i32 {
    let mut current = Current { task, facts };
    replace((&raw mut current).cast());
    let code = main();
    replace(null_mut());
    code
}

/// Whether a task calls.
pub(crate) fn is_task() -> bool {
    let current = replace(null_mut());
    replace(current);
    !current.is_null()
}

/// Calls `act` with the task that calls. It may wait: other tasks run on the thread meanwhile.
pub(crate) fn with_task<T>(act: impl FnOnce(&mut Task<'_>) -> T) -> Result<T, Code> {
    with(|current| act(current.task))
}

/// As [`with_task`], of what may not be able to wait.
pub(crate) fn wait<T>(act: impl FnOnce(&mut Task<'_>) -> Result<T, TaskError>) -> Result<T, Code> {
    with_task(act).and_then(|result| result.map_err(Code::from))
}

/// Calls `read` with what is known of the task that calls.
pub(crate) fn with_facts<T>(read: impl FnOnce(&TaskFacts) -> T) -> Result<T, Code> {
    with(|current| read(current.facts))
}

fn with<T>(act: impl FnOnce(&mut Current<'_, '_>) -> T) -> Result<T, Code> {
    let current = replace(null_mut());
    if current.is_null() {
        return Err(Code::State);
    }
    // SAFETY: `run` has set it for as long as the task runs; it is null meanwhile, so that nobody
    // else makes a reference of it.
    let value = act(unsafe { &mut *current.cast::<Current<'_, '_>>() });
    replace(current);
    Ok(value)
}

/// Sets the task that runs on this thread; returns the one before. The thread may have changed
/// since the last call, so that the address of its variable must not be kept.
#[inline(never)]
fn replace(current: *mut ()) -> *mut () {
    CURRENT.replace(current)
}

thread_local! {
    /// A [`Current`], whose lifetimes no type here can name.
    static CURRENT: Cell<*mut ()> = const { Cell::new(null_mut()) };
}
