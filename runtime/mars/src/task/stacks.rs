//! The stacks of tasks: what each MPU keeps for them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use fiber::{Stack, StackMemory, Stacks};

use crate::context::Builder;
use crate::workload::Module;

/// The size of the stacks of a context's tasks, and what was used of them.
#[derive(Clone, Debug)]
pub struct TaskStacks {
    bytes: usize,
    memory: Arc<StackMemory>,
    high_water: Arc<AtomicUsize>,
}

/// Use of their stacks by tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackUse {
    /// The size of a stack in bytes, as it was asked for.
    pub size: usize,
    /// The most bytes that a task has used.
    pub high_water: usize,
}

/// Stacks of 64 KiB.
impl Default for TaskStacks {
    fn default() -> Self {
        Self::new(64 << 10)
    }
}

impl TaskStacks {
    /// Stacks of `bytes` bytes, rounded up to pages, each beside a guard page. Physical memory is
    /// used page by page as tasks use it, at least one page for a task that has begun.
    pub fn new(bytes: usize) -> Self {
        let memory = Arc::new(StackMemory::new(bytes));
        Self { bytes, memory, high_water: Arc::default() }
    }

    /// Use of their stacks by tasks. An MPU adds what it knows when it stops; those of
    /// tasks that did not end are not known.
    pub fn used(&self) -> StackUse {
        StackUse { size: self.bytes, high_water: self.high_water.load(Relaxed) }
    }
}

impl Builder {
    /// Lets the context run tasks, on stacks of the size of `stacks`.
    #[must_use]
    pub fn tasks(self, stacks: TaskStacks) -> Self {
        self.module(move |_| TaskModule::new(stacks.clone()))
    }
}

/// State of an MPU for tasks.
#[derive(Debug)]
pub(crate) struct TaskModule {
    pool: Stacks,
    settings: TaskStacks,
}

impl Module for TaskModule {
    const NAME: &'static str = "task";
}

impl TaskModule {
    fn new(settings: TaskStacks) -> io::Result<Self> {
        Ok(Self { pool: Stacks::of(Arc::clone(&settings.memory))?, settings })
    }

    /// A stack for a task that begins.
    ///
    /// # Panics
    /// If there is no memory.
    pub(super) fn take(&mut self) -> Stack {
        self.pool.take().unwrap_or_else(|error| panic!("no stack for a task: {error}"))
    }

    pub(super) fn give(&mut self, stack: Stack) {
        self.pool.give(stack);
    }
}

impl Drop for TaskModule {
    fn drop(&mut self) {
        self.settings.high_water.fetch_max(self.pool.high_water(), Relaxed);
    }
}
