//! A task as the workload that its MPU runs: it resumes the fiber.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};

use fiber::{Fiber, Frames, Step, Yielder};

use crate::context::Workloads;
use crate::mpu::{Core, Mpu};
use crate::task::running::{Suspension, Task, TaskFiber};
use crate::task::stacks::TaskModule;
use crate::task::{Args, Facts};
use crate::workload::{Next, Placement, Priority, Wait, Workload};

/// A task that has a handle, and may be scheduled again.
#[derive(Debug)]
pub(crate) struct TaskBody {
    facts: Arc<Facts>,
    fiber: Slot,
}

/// A task that runs once, and has no handle.
pub(crate) struct OneTask<F> {
    main: Option<F>,
    fiber: Slot,
}

/// Place of the fiber of a task while it has one.
#[derive(Default)]
struct Slot(Option<TaskFiber>);

impl std::fmt::Debug for Slot {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", if self.0.is_some() { "begun" } else { "not begun" })
    }
}

impl TaskBody {
    pub(super) fn new(facts: Arc<Facts>) -> Self {
        Self { facts, fiber: Slot::default() }
    }

    fn fiber(&self, module: &mut TaskModule) -> TaskFiber {
        let (facts, frames) = (Arc::clone(&self.facts), self.facts.program.frames);
        Fiber::borrowing(module.take(), frames, facts, begin)
    }
}

/// The root of a task's stack.
fn begin(yielder: Yielder<'_, Core, Suspension>, facts: &Facts) -> i32 {
    let args = facts.args.each_ref().map(|arg| arg.load(Relaxed));
    let may_wait = !facts.program.is_run_complete;
    let mut task = Task::new(yielder, &facts.name, Args(args), may_wait);
    (facts.program.main)(&mut task)
}

impl Workload for TaskBody {
    type Module = TaskModule;

    fn run(&mut self, mpu: &mut Mpu<'_, TaskModule>) -> Next {
        if self.fiber.0.is_none() {
            self.fiber.0 = Some(self.fiber(mpu.module));
            if self.facts.program.frames.are_bound() {
                mpu.stay();
            }
        }
        let (next, code) = self.fiber.turn(mpu);
        if let Some(code) = code {
            self.facts.exit_code.store(code, Release);
        }
        next
    }

    fn unscheduled(&mut self, mpu: &mut Mpu<'_, TaskModule>) {
        self.fiber.cancel(mpu);
    }
}

impl<F: FnOnce(&mut Task<'_>) + Send + 'static> OneTask<F> {
    pub(super) fn new(main: F) -> Self {
        Self { main: Some(main), fiber: Slot::default() }
    }
}

impl<F: FnOnce(&mut Task<'_>) + Send + 'static> Workload for OneTask<F> {
    type Module = TaskModule;

    fn run(&mut self, mpu: &mut Mpu<'_, TaskModule>) -> Next {
        if let Some(main) = self.main.take() {
            let function = move |yielder: Yielder<'_, Core, Suspension>| {
                main(&mut Task::new(yielder, "", Args::default(), true));
                0
            };
            self.fiber.0 = Some(Fiber::new(mpu.module.take(), Frames::BOUND, function));
            mpu.stay();
        }
        self.fiber.turn(mpu).0
    }

    fn unscheduled(&mut self, mpu: &mut Mpu<'_, TaskModule>) {
        self.fiber.cancel(mpu);
    }
}

impl Task<'_> {
    /// Adds a task that runs once, and schedules it: on this MPU, unless another one is idle.
    pub fn spawn(&mut self, priority: Priority, main: impl FnOnce(&mut Task<'_>) + Send + 'static) {
        let (module, core) = (&mut (), self.core());
        Mpu { module, core }.spawn(OneTask::new(main), priority);
    }
}

impl Workloads {
    /// Adds a task that runs once, and schedules it with `priority` on the MPUs of `placement`. It
    /// has no handle.
    ///
    /// # Panics
    /// If the context has no stacks ([`Builder::tasks`](crate::Builder::tasks)), or no such MPU.
    pub fn spawn_task(
        &self,
        priority: Priority,
        placement: Placement,
        main: impl FnOnce(&mut Task<'_>) + Send + 'static,
    ) {
        self.spawn(OneTask::new(main), priority, placement);
    }
}

impl Slot {
    /// Resumes the fiber; returns what the MPU is to do, and the exit code of one that has ended by
    /// itself.
    #[inline]
    fn turn(&mut self, mpu: &mut Mpu<'_, TaskModule>) -> (Next, Option<i32>) {
        let Some(fiber) = &mut self.0 else { return (Next::Finished, None) };
        match fiber.resume(mpu.core) {
            Step::Suspended(Suspension::Yields) => (Next::Yield, None),
            Step::Suspended(Suspension::Waits) => {
                let wait = std::mem::replace(&mut mpu.core.wait, Wait::NOTHING);
                (Next::Stalled(wait), None)
            }
            Step::Suspended(Suspension::Finished(code)) => {
                self.cancel(mpu);
                (Next::Finished, Some(code))
            }
            Step::Finished(code, stack) => {
                self.0 = None;
                mpu.module.give(stack);
                (Next::Finished, Some(code))
            }
            Step::Panicked(payload, stack) => {
                self.0 = None;
                mpu.module.give(stack);
                resume_unwind(payload)
            }
        }
    }

    /// Ends the fiber, wherever it is.
    fn cancel(&mut self, mpu: &mut Mpu<'_, TaskModule>) {
        if let Some(stack) = self.0.take().and_then(|fiber| fiber.cancel(mpu.core)) {
            mpu.module.give(stack);
        }
    }
}
