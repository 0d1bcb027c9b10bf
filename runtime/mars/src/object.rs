//! Objects that workloads wait for, beside descriptors and deadlines. Host threads may use
//! them too.

mod barrier;
mod entry_queue;
mod event_flag;
mod mutex;
mod queue;
mod semaphore;
mod wait_lists;

pub use barrier::Barrier;
pub use entry_queue::{EntryQueue, QueueEntry};
pub use event_flag::{Clearing, EventFlag, Masking};
pub use mutex::Mutex;
pub use queue::Queue;
pub use semaphore::Semaphore;

use std::collections::VecDeque;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, fence};
use std::sync::{Arc, MutexGuard, PoisonError};

use portable_atomic::AtomicUsize;

use crate::mpu::Mpu;
use crate::shared::Shared;
use crate::waiter::{Ticket, Waiter};
use crate::workload::Wait;

/// The workloads that wait for one object, the first one first.
#[derive(Debug)]
struct WaitList {
    shared: Arc<Shared>,
    /// Distinguishes its wake values from those of other objects.
    number: u32,
    waiters: std::sync::Mutex<VecDeque<Entry>>,
    /// An upper bound of the number of waiters: a waker that reads zero takes no lock.
    length: AtomicUsize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    waiter: Waiter,
    /// A value that the object stores with the wait.
    note: u64,
    /// Its wait is ended; it runs once it is delivered.
    is_claimed: bool,
}

impl WaitList {
    fn new(shared: &Arc<Shared>) -> Self {
        Self::numbered(shared, Self::next_number())
    }

    /// A number that no other object has.
    fn next_number() -> u32 {
        // Below 2^31, as the wake_value's highest bit is taken.
        NUMBERS.fetch_add(1, Relaxed) & (u32::MAX >> 1)
    }

    fn numbered(shared: &Arc<Shared>, number: u32) -> Self {
        Self {
            shared: Arc::clone(shared),
            number,
            waiters: std::sync::Mutex::default(),
            length: AtomicUsize::new(0),
        }
    }

    /// Whether no workload waits or is about to wait. To be called after the object has
    /// changed.
    fn is_empty(&self) -> bool {
        fence(SeqCst);
        self.is_empty_in_order()
    }

    /// As [`Self::is_empty`], of an object that changes by an operation that is sequentially
    /// consistent, and is looked at by such a one: that orders both without a fence.
    fn is_empty_in_order(&self) -> bool {
        self.length.load(SeqCst) == 0
    }

    /// Locks the list, so that a workload can check the object once more and then join or
    /// leave.
    fn lock_list(&self) -> WaitListGuard<'_> {
        let guard = self.lock_list_in_order();
        fence(SeqCst);
        guard
    }

    /// As [`Self::lock_list`], of an object as in [`Self::is_empty_in_order`].
    fn lock_list_in_order(&self) -> WaitListGuard<'_> {
        let waiters = self.waiters.lock().unwrap_or_else(PoisonError::into_inner);
        // A thread that changes the object from now on reads the length afterwards.
        self.length.fetch_add(1, SeqCst);
        WaitListGuard { list: self, waiters, has_joined: false }
    }

    /// Whether a workload waits. One whose wait has ended does not count, though it may not have
    /// run since.
    fn is_awaited(&self) -> bool {
        let waiters = self.waiters.lock().unwrap_or_else(PoisonError::into_inner);
        let table = &self.shared.table;
        waiters.iter().any(|entry| {
            table.record(entry.waiter.id).wait_token.waiting() == Some(entry.waiter.token)
        })
    }

    /// The value that this object handed to the running workload, if it ended its last
    /// wait.
    fn take_wake_value<M>(&self, mpu: &Mpu<'_, M>) -> Option<u32> {
        mpu.core.take_wake_value(self.number)
    }

    fn wake_value(&self, value: u32) -> u64 {
        u64::from(self.number) << 32 | u64::from(value)
    }

    /// Wakes the first workload that still waits, with `wake_value`; false if none did. To be called
    /// after the object has changed.
    fn wake_one(&self, wake_value: u32) -> bool {
        fence(SeqCst);
        self.wake_one_in_order(wake_value)
    }

    /// As [`Self::wake_one`], of an object as in [`Self::is_empty_in_order`].
    fn wake_one_in_order(&self, wake_value: u32) -> bool {
        if self.is_empty_in_order() {
            return false;
        }
        let mut waiters = self.waiters.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(entry) = waiters.pop_front() {
            self.uncount(1);
            if entry.waiter.wake(&self.shared, self.wake_value(wake_value)) {
                return true;
            }
        }
        false
    }

    /// Wakes all workloads for whose notes `chosen` returns a value and which still wait.
    /// None of them runs before `given` has been called for each.
    fn wake_those(&self, mut chosen: impl FnMut(u64) -> Option<u32>, given: impl Fn(u64)) {
        let mut waiters = self.waiters.lock().unwrap_or_else(PoisonError::into_inner);
        for entry in waiters.iter_mut() {
            entry.is_claimed = chosen(entry.note).is_some_and(|wake_value| {
                entry.waiter.claim(&self.shared, self.wake_value(wake_value))
            });
            if entry.is_claimed {
                given(entry.note);
            }
        }
        let before = waiters.len();
        let claimed = waiters.iter().filter(|entry| entry.is_claimed);
        self.shared.deliver_all(claimed.map(|entry| entry.waiter.id));
        waiters.retain(|entry| !entry.is_claimed);
        self.uncount(before - waiters.len());
    }

    /// Counts `fewer` waiters. The caller holds the list, under which alone the length changes: no
    /// atomic subtraction is needed, and whoever reads it late locks the list for nothing.
    fn uncount(&self, fewer: usize) {
        self.length.store(self.length.load(Relaxed) - fewer, Relaxed);
    }

    /// Wakes all workloads, each with `wake_value`.
    fn wake_all(&self, wake_value: u32) {
        if !self.is_empty() {
            self.wake_those(|_| Some(wake_value), |_| {});
        }
    }
}

/// The locked wait list. While it is held, no other list may be locked.
struct WaitListGuard<'a> {
    list: &'a WaitList,
    waiters: MutexGuard<'a, VecDeque<Entry>>,
    /// A workload has joined: it stays counted.
    has_joined: bool,
}

impl WaitListGuard<'_> {
    /// Appends the running workload.
    fn join<M>(&mut self, mpu: &mut Mpu<'_, M>, note: u64) -> Wait {
        self.make_room();
        let waiter = mpu.core.waiter();
        self.has_joined = true;
        self.waiters.push_back(Entry { waiter, note, is_claimed: false });
        Wait::for_object(Ticket::new(waiter))
    }

    /// Prepends the running workload, which has waited already.
    fn rejoin<M>(&mut self, mpu: &mut Mpu<'_, M>) -> Wait {
        self.make_room();
        let waiter = mpu.core.waiter();
        self.has_joined = true;
        self.waiters.push_front(Entry { waiter, note: 0, is_claimed: false });
        Wait::for_object(Ticket::new(waiter))
    }

    /// Whether no other workload waits.
    fn is_first(&self) -> bool {
        self.waiters.is_empty()
    }

    /// Removes waiters whose deadlines have ended their waits, before the list grows.
    fn make_room(&mut self) {
        if self.waiters.len() < self.waiters.capacity() {
            return;
        }
        let (before, table) = (self.waiters.len(), &self.list.shared.table);
        self.waiters.retain(|entry| {
            let wait_token = &table.record(entry.waiter.id).wait_token;
            wait_token.waiting() == Some(entry.waiter.token)
        });
        self.list.uncount(before - self.waiters.len());
        let more = self.waiters.len() + 1;
        self.waiters.reserve(more);
    }
}

impl Drop for WaitListGuard<'_> {
    fn drop(&mut self) {
        if !self.has_joined {
            self.list.uncount(1);
        }
    }
}

static NUMBERS: AtomicU32 = AtomicU32::new(0);
