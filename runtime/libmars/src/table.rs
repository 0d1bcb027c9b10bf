//! The tasks of a context, and what each knows of itself.

use std::sync::Arc;

use runtime::TaskHandle;

use crate::code::Code;

/// The id of a task, which may be copied.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct mars_task_id {
    /// The address of its context; 0: no task.
    pub mars_context_ea: u64,
    /// Its number in the context.
    pub workload_id: u16,
    /// Its name, which ends with a zero.
    pub name: [u8; 22],
}

/// Arguments of a task. C may read and write them in any width.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct mars_task_args(pub [u64; 4]);

/// The main function of a program.
pub(crate) type Main = extern "C" fn(*const mars_task_args) -> i32;

/// Data of a task about itself.
pub(crate) struct TaskFacts {
    pub(crate) id: mars_task_id,
    pub(crate) has_name: bool,
    pub(crate) main: Main,
}

/// A task that exists.
pub(crate) struct CreatedTask {
    pub(crate) handle: TaskHandle,
}

/// The tasks of a context by their numbers.
#[derive(Default)]
pub(crate) struct Tasks {
    slots: Vec<Option<Arc<CreatedTask>>>,
    /// Numbers of tasks that were destroyed.
    free: Vec<u16>,
}

impl Tasks {
    /// The number of the task that is added next.
    pub(crate) fn next(&self) -> Result<u16, Code> {
        let fresh = || u16::try_from(self.slots.len()).ok().filter(|number| *number < u16::MAX);
        self.free.last().copied().or_else(fresh).ok_or(Code::Limit)
    }

    /// Adds a task, whose number is [`Self::next`].
    pub(crate) fn add(&mut self, task: CreatedTask) {
        let task = Some(Arc::new(task));
        match self.free.pop() {
            Some(number) => self.slots[usize::from(number)] = task,
            None => self.slots.push(task),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.iter().all(Option::is_none)
    }

    pub(crate) fn get(&self, number: u16) -> Option<&Arc<CreatedTask>> {
        self.slots.get(usize::from(number))?.as_ref()
    }

    pub(crate) fn remove(&mut self, number: u16) {
        if self.slots[usize::from(number)].take().is_some() {
            self.free.push(number);
        }
    }
}
