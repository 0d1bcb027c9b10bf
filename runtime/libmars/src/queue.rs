//! `mars/task_queue.h`: queues.

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use runtime::{EntryQueue, QueueEntry};

use crate::code::{Code, require, returned};
use crate::context::mars_context;
use crate::copies::{ALIGN, check_tag};
use crate::current;
use crate::object::{self, Direction, Kind, Object};
use crate::task::mars_task_get_id;

/// A queue and the sides that use it.
pub(crate) struct Entries {
    queue: EntryQueue,
    direction: Direction,
    /// Pushes and pops that tasks have begun and not ended.
    begun: Mutex<Vec<Begun>>,
}

/// A push, pop or peek that has begun.
struct Begun {
    /// The address of the task's id.
    task: usize,
    tag: u32,
    act: Act,
    /// A peek has none.
    entry: Option<QueueEntry>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Push,
    Pop,
    Peek,
}

/// Whether a call waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Patience {
    Waits,
    Tries,
}

impl Kind for Entries {
    const MARK: u64 = u64::from_le_bytes(*b"queue\0\0\0");

    fn is_awaited(&self) -> bool {
        self.queue.is_awaited()
    }
}

impl Entries {
    /// Checks who calls for what, in the order of all calls.
    fn check(&self, act: Act, patience: Patience, data: *const c_void) -> Result<(), Code> {
        let is_task = current::is_task();
        let is_aligned = !is_task || (data.addr() as u64).is_multiple_of(ALIGN);
        require(is_aligned, Code::Align)?;
        if is_task && patience == Patience::Waits {
            // A run-complete task is told so, even if it would not have to wait.
            current::wait(|task| task.block(|_| Ok(())))?;
        }
        if act == Act::Push { self.direction.check_put() } else { self.direction.check_take() }
    }

    /// Begins a push or a pop.
    fn begin(&self, act: Act, patience: Patience) -> Result<QueueEntry, Code> {
        let attempt = |queue: &EntryQueue| match act {
            Act::Push => queue.try_begin_push(),
            Act::Pop | Act::Peek => queue.try_begin_pop(),
        };
        if patience == Patience::Tries {
            return attempt(&self.queue).ok_or(Code::Busy);
        }
        if !current::is_task() {
            return self.queue.on_host(None, attempt).ok_or(Code::Internal);
        }
        current::wait(|task| {
            task.block(|mpu| match act {
                Act::Push => self.queue.begin_push(mpu),
                Act::Pop | Act::Peek => self.queue.begin_pop(mpu),
            })
        })
    }

    /// Copies the oldest entry to `to`.
    fn peek(&self, patience: Patience, to: &mut [u8]) -> Result<(), Code> {
        if patience == Patience::Tries {
            return require(self.queue.try_peek(to), Code::Busy);
        }
        if !current::is_task() {
            let found = self.queue.on_host(None, |queue| queue.try_peek(to).then_some(()));
            return found.ok_or(Code::Internal);
        }
        current::wait(|task| task.block(|mpu| self.queue.peek(mpu, to)))
    }

    fn end(&self, act: Act, entry: QueueEntry) {
        if act == Act::Push { self.queue.end_push(entry) } else { self.queue.end_pop(entry) }
    }

    /// Begins `act`, and copies between the entry and `data`.
    ///
    /// # Safety
    /// `data` has the size of an entry.
    unsafe fn transfer(
        &self,
        act: Act,
        patience: Patience,
        data: *mut u8,
    ) -> Result<Option<QueueEntry>, Code> {
        let size = self.queue.entry_size();
        if act == Act::Peek {
            // SAFETY: as promised.
            self.peek(patience, unsafe { std::slice::from_raw_parts_mut(data, size) })?;
            return Ok(None);
        }
        let mut entry = self.begin(act, patience)?;
        // SAFETY: as promised; an entry is memory of the queue's own.
        unsafe {
            match act {
                Act::Push => data.copy_to_nonoverlapping(entry.bytes.as_mut_ptr(), size),
                _ => data.copy_from_nonoverlapping(entry.bytes.as_ptr(), size),
            }
        }
        Ok(Some(entry))
    }

    fn begun(&self) -> MutexGuard<'_, Vec<Begun>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Creates an empty queue of `depth` entries of `size` bytes.
///
/// Returns NULL for no context or result; PARAMS for a size of 0, above 16,384 or not a multiple of
/// 16, no depth, or an unknown direction.
///
/// # Safety
/// Each pointer is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_task_queue_create(
    mars: *mut mars_context,
    queue_ea: *mut u64,
    size: u32,
    depth: u32,
    direction: u8,
) -> i32 {
    // SAFETY: as promised.
    let mars = unsafe { mars.as_ref() }.filter(|_| !queue_ea.is_null());
    let made = mars.ok_or(Code::Null).and_then(|mars| {
        let is_size = size > 0 && size.is_multiple_of(16) && size <= MOST_SIZE;
        require(is_size && depth > 0, Code::Params)?;
        let direction = Direction::of(direction)?;
        let queue = EntryQueue::new(&mars.runtime, size as usize, depth as usize);
        Ok(Entries { queue, direction, begun: Mutex::default() })
    });
    // SAFETY: as promised.
    returned(made.and_then(|queue| unsafe { object::create(queue_ea, queue) }))
}

/// Destroys a queue.
///
/// Returns NULL, ALIGN; PARAMS for what is no queue; STATE while somebody waits.
///
/// # Safety
/// `queue_ea` is zero, or of [`mars_task_queue_create`] and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_task_queue_destroy(queue_ea: u64) -> i32 {
    // SAFETY: as promised.
    returned(unsafe { object::destroy::<Entries>(queue_ea) })
}

/// Stores the number of entries in `count`.
///
/// Returns NULL, ALIGN; PARAMS for what is no queue.
///
/// # Safety
/// `queue_ea` is zero, or of [`mars_task_queue_create`]; `count` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_task_queue_count(queue_ea: u64, count: *mut u32) -> i32 {
    // SAFETY: as promised.
    returned(unsafe { object::at::<Entries>(queue_ea) }.and_then(|queue| {
        // SAFETY: as promised.
        let count = unsafe { count.as_mut() }.ok_or(Code::Null)?;
        *count = u32::try_from(queue.inner.queue.len()).unwrap_or(u32::MAX);
        Ok(())
    }))
}

/// Removes all entries.
///
/// Returns NULL, ALIGN; PARAMS for what is no queue.
///
/// # Safety
/// `queue_ea` is zero, or of [`mars_task_queue_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_task_queue_clear(queue_ea: u64) -> i32 {
    // SAFETY: as promised.
    returned(unsafe { object::at::<Entries>(queue_ea) }.map(|queue| queue.inner.queue.clear()))
}

/// Common part of all calls that begin and end at once.
///
/// # Safety
/// `queue_ea` is zero, or that of a queue; `data` is null or has the size of an entry.
unsafe fn whole(queue_ea: u64, act: Act, patience: Patience, data: *mut c_void) -> i32 {
    // SAFETY: as promised.
    returned(unsafe { find(queue_ea, data) }.and_then(|object| {
        let queue = &object.inner;
        queue.check(act, patience, data)?;
        // SAFETY: as promised.
        let entry = unsafe { queue.transfer(act, patience, data.cast()) }?;
        if let Some(entry) = entry {
            queue.end(act, entry);
        }
        Ok(())
    }))
}

/// Common part of all calls that begin.
///
/// # Safety
/// As of [`whole`].
unsafe fn begin(queue_ea: u64, act: Act, patience: Patience, data: *mut c_void, tag: u32) -> i32 {
    // SAFETY: as promised.
    returned(unsafe { find(queue_ea, data) }.and_then(|object| {
        let queue = &object.inner;
        check_tag(tag)?;
        require(current::is_task(), Code::State)?;
        queue.check(act, patience, data)?;
        // SAFETY: as promised.
        let entry = unsafe { queue.transfer(act, patience, data.cast()) }?;
        queue.begun().push(Begun { task: mars_task_get_id().addr(), tag, act, entry });
        Ok(())
    }))
}

/// Common part of all calls that end.
///
/// # Safety
/// `queue_ea` is zero, or that of a queue.
unsafe fn end(queue_ea: u64, act: Act, tag: u32) -> i32 {
    // SAFETY: as promised.
    returned(unsafe { object::at::<Entries>(queue_ea) }.and_then(|object| {
        check_tag(tag)?;
        let task = mars_task_get_id().addr();
        let mut begun = object.inner.begun();
        let is_it = |one: &Begun| one.task == task && one.tag == tag && one.act == act;
        let place = begun.iter().position(is_it).filter(|_| task != 0).ok_or(Code::State)?;
        let entry = begun.remove(place).entry;
        drop(begun);
        if let Some(entry) = entry {
            object.inner.end(act, entry);
        }
        Ok(())
    }))
}

/// # Safety
/// `queue_ea` is zero, or that of a queue.
unsafe fn find<'a>(queue_ea: u64, data: *const c_void) -> Result<&'a Object<Entries>, Code> {
    require(queue_ea != 0 && !data.is_null(), Code::Null)?;
    // SAFETY: as promised.
    unsafe { object::at(queue_ea) }
}

/// Defines calls that begin and end at once.
macro_rules! whole {
    ($name:ident, $act:ident, $patience:ident) => {
        /// See `mars/task_queue.h`.
        ///
        /// Returns NULL; ALIGN (a task's data must be at a multiple of 16); PARAMS for what is no
        /// queue; FORMAT; STATE from the wrong side; those that try, BUSY.
        ///
        /// # Safety
        /// `queue_ea` is zero, or that of a queue; `data` is null or has the size of an entry.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(queue_ea: u64, data: *const c_void) -> i32 {
            // SAFETY: as promised; what is pushed is only read.
            unsafe { whole(queue_ea, Act::$act, Patience::$patience, data.cast_mut()) }
        }
    };
}

whole!(mars_task_queue_push, Push, Waits);
whole!(mars_task_queue_try_push, Push, Tries);
whole!(mars_task_queue_pop, Pop, Waits);
whole!(mars_task_queue_try_pop, Pop, Tries);
whole!(mars_task_queue_peek, Peek, Waits);
whole!(mars_task_queue_try_peek, Peek, Tries);

/// Defines calls that begin.
macro_rules! begin {
    ($name:ident, $act:ident, $patience:ident) => {
        /// See `mars/task_queue.h`.
        ///
        /// Returns as the call that also ends, and PARAMS for a tag above 31, STATE on the host.
        ///
        /// # Safety
        /// `queue_ea` is zero, or that of a queue; `data` is null or has the size of an entry.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(queue_ea: u64, data: *const c_void, tag: u32) -> i32 {
            // SAFETY: as promised; what is pushed is only read.
            unsafe { begin(queue_ea, Act::$act, Patience::$patience, data.cast_mut(), tag) }
        }
    };
}

begin!(mars_task_queue_push_begin, Push, Waits);
begin!(mars_task_queue_try_push_begin, Push, Tries);
begin!(mars_task_queue_pop_begin, Pop, Waits);
begin!(mars_task_queue_try_pop_begin, Pop, Tries);
begin!(mars_task_queue_peek_begin, Peek, Waits);
begin!(mars_task_queue_try_peek_begin, Peek, Tries);

/// Defines calls that end.
macro_rules! end {
    ($name:ident, $act:ident) => {
        /// See `mars/task_queue.h`.
        ///
        /// Returns NULL, ALIGN; PARAMS for what is no queue, or a tag above 31; STATE if the calling
        /// task has begun nothing with this tag.
        ///
        /// # Safety
        /// `queue_ea` is zero, or that of a queue.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(queue_ea: u64, tag: u32) -> i32 {
            // SAFETY: as promised.
            unsafe { end(queue_ea, Act::$act, tag) }
        }
    };
}

end!(mars_task_queue_push_end, Push);
end!(mars_task_queue_pop_end, Pop);
end!(mars_task_queue_peek_end, Peek);

/// `MARS_TASK_QUEUE_ENTRY_SIZE_MAX`.
const MOST_SIZE: u32 = 16_384;
