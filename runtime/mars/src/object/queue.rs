//! A bounded queue between workloads, and between them and host threads.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::fence;
use std::time::Duration;

use crossbeam_queue::ArrayQueue;

use crate::context::Workloads;
use crate::futex_event::FutexEvent;
use crate::mpu::Mpu;
use crate::object::WaitList;
use crate::workload::Wait;

/// A bounded first-in-first-out queue for workloads and threads. Pushing and popping take no lock
/// while no workload waits.
///
/// A workload that is woken may find that another one was faster; it then waits again, ahead of all
/// others.
#[derive(Debug)]
pub struct Queue<T> {
    ring: ArrayQueue<T>,
    poppers: WaitList,
    pushers: WaitList,
    changed: FutexEvent,
}

impl<T> Queue<T> {
    /// An empty queue for the workloads of one context, with room for `depth` entries, at
    /// least one.
    pub fn new(workloads: &Workloads, depth: usize) -> Self {
        let wait_list = || WaitList::new(&workloads.shared);
        let ring = ArrayQueue::new(depth.max(1));
        Self { ring, poppers: wait_list(), pushers: wait_list(), changed: FutexEvent::default() }
    }

    /// Number of entries in the queue.
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// Whether the queue has no entries.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Appends `entry` without waiting.
    ///
    /// # Errors
    /// The entry, if there is no room.
    pub fn try_push(&self, entry: T) -> Result<(), T> {
        self.ring.push(entry)?;
        self.pushed();
        Ok(())
    }

    fn pushed(&self) {
        self.tell(&self.poppers);
    }

    /// Wakes who waits for what has changed.
    fn tell(&self, waiters: &WaitList) {
        fence(SeqCst);
        waiters.wake_one_in_order(0);
        self.changed.notify_in_order();
    }

    /// Removes the oldest entry without waiting. `None`: the queue is empty.
    pub fn try_pop(&self) -> Option<T> {
        let entry = self.ring.pop()?;
        self.popped();
        Some(entry)
    }

    fn popped(&self) {
        self.tell(&self.pushers);
    }

    /// Removes all entries from the queue.
    pub fn clear(&self) {
        while self.try_pop().is_some() {}
    }

    /// Appends `entry`.
    ///
    /// # Errors
    /// The queue is full: the entry, and a wait. The workload returns
    /// [`Next::Stalled`](crate::Next::Stalled) with the wait, and calls this again in its next
    /// turn.
    pub fn push<M>(&self, mpu: &mut Mpu<'_, M>, entry: T) -> Result<(), (T, Wait)> {
        let has_waited = self.pushers.take_wake_value(mpu).is_some();
        let Err(entry) = self.try_push(entry) else { return Ok(()) };
        let mut waiters = self.pushers.lock_list();
        match self.ring.push(entry) {
            Ok(()) => {
                drop(waiters);
                self.pushed();
                Ok(())
            }
            Err(entry) if has_waited => Err((entry, waiters.rejoin(mpu))),
            Err(entry) => Err((entry, waiters.join(mpu, 0))),
        }
    }

    /// Removes the oldest entry.
    ///
    /// # Errors
    /// The queue is empty. The workload returns [`Next::Stalled`](crate::Next::Stalled) with this
    /// wait, and calls this again in its next turn.
    pub fn pop<M>(&self, mpu: &mut Mpu<'_, M>) -> Result<T, Wait> {
        let has_waited = self.poppers.take_wake_value(mpu).is_some();
        if let Some(entry) = self.try_pop() {
            return Ok(entry);
        }
        let mut waiters = self.poppers.lock_list();
        match self.ring.pop() {
            Some(entry) => {
                drop(waiters);
                self.popped();
                Ok(entry)
            }
            None if has_waited => Err(waiters.rejoin(mpu)),
            None => Err(waiters.join(mpu, 0)),
        }
    }

    /// Appends `entry` from a host thread (not a worker thread of the runtime). Blocks it for at most `span`
    /// (`None`: without limit) while the queue is full.
    ///
    /// # Errors
    /// The entry, if there was no room in that time.
    pub fn push_on_host(&self, entry: T, span: Option<Duration>) -> Result<(), T> {
        let mut entry = Some(entry);
        let pushed = self.changed.wait_until(span, || match self.try_push(entry.take()?) {
            Ok(()) => Some(()),
            Err(refused) => {
                entry = Some(refused);
                None
            }
        });
        match (pushed, entry) {
            (None, Some(entry)) => Err(entry),
            _ => Ok(()),
        }
    }

    /// Removes the oldest entry on a host thread (not a worker thread of the runtime), which blocks while the queue
    /// is empty. `None`: no entry came within `span` (`None`: without limit).
    pub fn pop_on_host(&self, span: Option<Duration>) -> Option<T> {
        self.changed.wait_until(span, || self.try_pop())
    }
}
