//! Tasks: functions with stacks of their own, as a host and other tasks start and stop them.

mod body;
mod running;
mod stacks;

pub use running::{Task, TaskError};
pub use stacks::{StackUse, TaskStacks};

use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex, PoisonError};

use fiber::Frames;
use portable_atomic::AtomicU64;

use crate::context::Workloads;
use crate::handle::Handle;
use crate::task::body::TaskBody;
use crate::workload::{Ending, Placement, Priority};

/// Program of a task: a function, and whether it may wait.
#[derive(Clone)]
pub struct Program {
    main: Arc<Main>,
    frames: Frames,
    is_run_complete: bool,
}

type Main = dyn Fn(&mut Task<'_>) -> i32 + Send + Sync;

impl Program {
    /// A function that is called each time that its task is scheduled; it returns the exit code.
    pub fn new(main: impl Fn(&mut Task<'_>) -> i32 + Send + Sync + 'static) -> Self {
        Self { main: Arc::new(main), frames: Frames::BOUND, is_run_complete: false }
    }

    /// A function that never waits (run-complete): whatever would have to, fails with
    /// [`TaskError::RunComplete`]. Such tasks of an MPU share one stack.
    #[must_use]
    pub const fn run_complete(mut self) -> Self {
        self.is_run_complete = true;
        self
    }

    /// Sets whether the task stays on the MPU on which it begins, and what becomes of its frames if it
    /// is unscheduled while it waits.
    #[must_use]
    pub const fn frames(mut self, frames: Frames) -> Self {
        self.frames = frames;
        self
    }
}

/// The arguments of a task: 32 bytes, for whatever the host and the task agree upon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Args(pub [u64; 4]);

/// End of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Whether it finished, was unscheduled or panicked.
    pub ending: Ending,
    /// The exit code: what its function returned, or who unscheduled it gave. Zero of one that was
    /// never scheduled, or panicked.
    pub code: i32,
}

/// A task: a function with a stack of its own, which an MPU (worker thread) runs, and switches when
/// it has to wait. It is finished until it is scheduled, and may be scheduled again whenever it has
/// finished.
///
/// ```
/// use linerate_mars::{Args, Builder, Clearing, EventFlag, Masking, Priority, Program, TaskHandle};
/// use linerate_mars::TaskStacks;
/// use std::sync::Arc;
///
/// # fn main() -> std::io::Result<()> {
/// let context = Builder::new(1).tasks(TaskStacks::default()).start()?;
/// let flag = Arc::new(EventFlag::new(&context, Clearing::Automatic));
/// let waited = Arc::clone(&flag);
/// let program = Program::new(move |task| {
///     match task.block(|mpu| waited.wait(mpu, 1, Masking::All)) {
///         Ok(bits) => bits as i32 + task.args().0[0] as i32,
///         Err(_) => -1,
///     }
/// });
/// let task = TaskHandle::new(&context, "waits", program);
/// assert!(task.schedule(Args([41, 0, 0, 0]), Priority::NORMAL));
/// flag.set(1);
/// assert_eq!(task.wait().code, 42);
/// # Ok(())
/// # }
/// ```
///
/// A task stays on the MPU on which it begins, unless its program is unbound ([`Frames`]). Its stack
/// comes from a pool ([`TaskStacks`]), has a guard page, and is used again when the task has ended.
#[derive(Debug)]
pub struct TaskHandle {
    handle: Handle<TaskBody>,
    facts: Arc<Facts>,
    /// Held by who schedules it.
    scheduling: Mutex<()>,
}

/// State that the handle of a task and the task share.
struct Facts {
    name: Box<str>,
    program: Program,
    args: [AtomicU64; 4],
    /// Value that the function returned.
    exit_code: AtomicI32,
    /// Value that the caller of `unschedule` gave.
    cut_code: AtomicI32,
}

impl std::fmt::Debug for Facts {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "task {:?}", self.name)
    }
}

impl TaskHandle {
    /// A task of `workloads`, which counts as finished until it is scheduled. `name` may be empty.
    ///
    /// # Panics
    /// If the context has no stacks ([`Builder::tasks`](crate::Builder::tasks)).
    pub fn new(workloads: &Workloads, name: &str, program: Program) -> Self {
        let facts = Arc::new(Facts {
            name: name.into(),
            program,
            args: [const { AtomicU64::new(0) }; 4],
            exit_code: AtomicI32::new(0),
            cut_code: AtomicI32::new(0),
        });
        let handle = workloads.add(TaskBody::new(Arc::clone(&facts)));
        Self { handle, facts, scheduling: Mutex::default() }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.facts.name
    }

    /// Lets the task begin, with `args` and `priority`. Returns false, and does nothing, if it has
    /// not finished.
    pub fn schedule(&self, args: Args, priority: Priority) -> bool {
        self.schedule_at(args, priority, Placement::Anywhere)
    }

    /// As [`Self::schedule`], on the MPUs of `placement`.
    ///
    /// # Panics
    /// If the context has no such MPU.
    pub fn schedule_at(&self, args: Args, priority: Priority, placement: Placement) -> bool {
        let _one = self.scheduling.lock().unwrap_or_else(PoisonError::into_inner);
        if self.handle.try_wait().is_none() {
            return false;
        }
        for (to, from) in self.facts.args.iter().zip(args.0) {
            to.store(from, Relaxed);
        }
        self.facts.exit_code.store(0, Relaxed);
        self.handle.schedule_again(priority, placement);
        true
    }

    /// Ends the task with `code`. If it is ready or waits, it does not go on; if it runs, it ends
    /// when it next waits or yields. Returns false, and does nothing, if it has finished.
    ///
    /// What a waiting task has on its stack is dropped, as by a panic ([`Frames::BOUND`]).
    pub fn unschedule(&self, code: i32) -> bool {
        let _one = self.scheduling.lock().unwrap_or_else(PoisonError::into_inner);
        if self.handle.try_wait().is_some() {
            return false;
        }
        self.facts.cut_code.store(code, Release);
        self.handle.unschedule();
        true
    }

    /// Blocks a host thread until the task has finished; returns how it ended. A task uses
    /// [`Task::join`].
    pub fn wait(&self) -> Exit {
        self.exit(self.handle.wait())
    }

    /// End of the task, without waiting. `None`: it has not finished.
    pub fn try_wait(&self) -> Option<Exit> {
        self.handle.try_wait().map(|ending| self.exit(ending))
    }

    /// Sends the task a signal, which [`Task::wait_for_signal`] waits for. It is no signal of
    /// signal(7). Several count as one; one to a task that is not scheduled is lost.
    pub fn signal(&self) {
        self.handle.signal();
    }

    fn exit(&self, ending: Ending) -> Exit {
        let code = match ending {
            Ending::Finished => self.facts.exit_code.load(Acquire),
            Ending::Unscheduled => self.facts.cut_code.load(Acquire),
            Ending::Panicked => 0,
        };
        Exit { ending, code }
    }
}
