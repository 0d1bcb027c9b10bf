//! A running task, as its own function sees it.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use fiber::{Fiber, Yielder};

use crate::context::Workloads;
use crate::mpu::{Core, Mpu};
use crate::object::{Queue, Semaphore};
use crate::task::{Args, Exit, TaskHandle};
use crate::time::Time;
use crate::workload::Wait;

/// The fiber of a task.
pub(super) type TaskFiber = Fiber<Core, Suspension, i32>;

/// Reason with which a task suspends itself.
#[derive(Clone, Copy, Debug)]
pub(super) enum Suspension {
    /// Others go first.
    Yields,
    /// It waits, for what [`Core::wait`] says: a value of that size would be copied at each switch.
    Waits,
    /// It has left from below its main function, with this exit code.
    Finished(i32),
}

/// The running task: what its function may ask of its MPU (worker thread).
pub struct Task<'a> {
    yielder: Yielder<'a, Core, Suspension>,
    name: &'a str,
    args: Args,
    may_wait: bool,
}

/// Reason for which a task could not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskError {
    /// The task is run-complete ([`Program::run_complete`](crate::Program::run_complete)): it
    /// cannot wait.
    RunComplete,
    /// The task was unscheduled: it cannot wait any more.
    Unscheduled,
}

impl fmt::Display for TaskError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::RunComplete => "a run-complete task cannot wait: create it with a stack",
            Self::Unscheduled => "the task was unscheduled: it cannot wait",
        })
    }
}

impl std::error::Error for TaskError {}

impl<'a> Task<'a> {
    pub(super) const fn new(
        yielder: Yielder<'a, Core, Suspension>,
        name: &'a str,
        args: Args,
        may_wait: bool,
    ) -> Self {
        Self { yielder, name, args, may_wait }
    }

    /// The name of the task; empty if it has none.
    pub const fn name(&self) -> &str {
        self.name
    }

    /// The arguments with which it was scheduled.
    pub const fn args(&self) -> Args {
        self.args
    }

    /// The number of its MPU (worker thread) in the context, from 0.
    pub const fn mpu_index(&mut self) -> usize {
        self.core().index
    }

    /// The time of `CLOCK_MONOTONIC`.
    pub fn clock(&mut self) -> Time {
        self.core().read_clock()
    }

    /// A handle to the workloads of its context, by which more can be added.
    pub fn workloads(&mut self) -> Workloads {
        Workloads::new(Arc::clone(&self.core().shared))
    }

    /// Waits as `attempt` demands, which asks an object: `|mpu| semaphore.acquire(mpu)`. It is
    /// called again each time that the wait has ended, until it returns a value.
    ///
    /// # Errors
    /// The task cannot wait; `attempt` is not called then.
    pub fn block<T>(
        &mut self,
        mut attempt: impl FnMut(&mut Mpu<'_, ()>) -> Result<T, Wait>,
    ) -> Result<T, TaskError> {
        self.check()?;
        loop {
            let (module, core) = (&mut (), self.core());
            match attempt(&mut Mpu { module, core }) {
                Ok(value) => return Ok(value),
                Err(wait) => {
                    self.core().wait = wait;
                    self.yielder.suspend(Suspension::Waits);
                }
            }
        }
    }

    /// Lets other ready tasks of the same priority run first.
    ///
    /// # Errors
    /// The task cannot wait.
    #[inline]
    pub fn yield_now(&mut self) -> Result<(), TaskError> {
        self.check()?;
        self.yielder.suspend(Suspension::Yields);
        Ok(())
    }

    /// Waits until `time` (`CLOCK_MONOTONIC`).
    ///
    /// # Errors
    /// The task cannot wait.
    pub fn sleep_until(&mut self, time: Time) -> Result<(), TaskError> {
        self.block(|mpu| if mpu.clock() < time { Err(Wait::until(time)) } else { Ok(()) })
    }

    /// Appends `entry` to `queue`; waits while it is full.
    ///
    /// # Errors
    /// The task cannot wait; the entry is dropped.
    pub fn push<T>(&mut self, queue: &Queue<T>, entry: T) -> Result<(), TaskError> {
        let mut entry = Some(entry);
        self.block(|mpu| {
            let Some(one) = entry.take() else { return Ok(()) };
            queue.push(mpu, one).map_err(|(refused, wait)| {
                entry = Some(refused);
                wait
            })
        })
    }

    /// Waits until `other` has finished; returns how it ended.
    ///
    /// # Errors
    /// This task cannot wait.
    pub fn join(&mut self, other: &TaskHandle) -> Result<Exit, TaskError> {
        let ending = self.block(|mpu| other.handle.wait_on(mpu))?;
        Ok(other.exit(ending))
    }

    /// Waits until [`TaskHandle::signal`] is called for this task.
    ///
    /// # Errors
    /// The task cannot wait.
    #[expect(clippy::redundant_closure_for_method_calls, reason = "its lifetime is of one call")]
    pub fn wait_for_signal(&mut self) -> Result<(), TaskError> {
        self.block(|mpu| mpu.wait_for_signal())
    }

    /// Takes the signal that was sent to this task, without waiting; false if none was.
    pub fn try_signal(&mut self) -> bool {
        let (module, core) = (&mut (), self.core());
        Mpu { module, core }.signalled()
    }

    /// Calls `function` on a thread of the host, where it may block, and waits for what it returns;
    /// other tasks of this MPU run meanwhile. The calls of a context run one after another. A panic
    /// goes on in this task.
    ///
    /// # Errors
    /// The task cannot wait; `function` is not called.
    ///
    /// # Panics
    /// If `function` does.
    pub fn call_host<R: Send + 'static>(
        &mut self,
        function: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, TaskError> {
        self.check()?;
        let shared = Arc::clone(&self.core().shared);
        let answer = Arc::new(Answer {
            value: Mutex::new(None),
            has_come: Semaphore::new(&Workloads::new(Arc::clone(&shared)), 0),
        });
        let asked = Arc::clone(&answer);
        shared.host_calls.run(Box::new(move || {
            let result = catch_unwind(AssertUnwindSafe(function));
            *asked.value.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            asked.has_come.release();
        }));
        self.block(|mpu| answer.has_come.acquire(mpu))?;
        let result = answer.value.lock().unwrap_or_else(PoisonError::into_inner).take();
        let result = result.expect("stored before the semaphore was released");
        Ok(result.unwrap_or_else(|payload| resume_unwind(payload)))
    }

    /// Ends the task with `code` from wherever it is. What it has on its stack is dropped, as by a
    /// panic.
    pub fn exit(&mut self, code: i32) -> ! {
        self.yielder.suspend(Suspension::Finished(code));
        unreachable!("a task that has finished is not resumed")
    }

    /// Its MPU.
    pub(crate) const fn core(&mut self) -> &mut Core {
        self.yielder.context()
    }

    fn check(&self) -> Result<(), TaskError> {
        if !self.may_wait {
            Err(TaskError::RunComplete)
        } else if self.yielder.is_cancelled() {
            Err(TaskError::Unscheduled)
        } else {
            Ok(())
        }
    }
}

/// Result of a call on the host.
struct Answer<R> {
    value: Mutex<Option<std::thread::Result<R>>>,
    has_come: Semaphore,
}
