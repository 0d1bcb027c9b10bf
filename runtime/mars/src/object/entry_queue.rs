//! A bounded queue of entries of one size, which are filled and emptied where they lie.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::context::Workloads;
use crate::futex_event::FutexEvent;
use crate::mpu::Mpu;
use crate::object::WaitList;
use crate::workload::Wait;

/// A bounded first-in-first-out queue of entries of so many bytes, for workloads and threads.
///
/// ```text
///   begin push --> fill the entry ... --> end push        others may push and pop meanwhile
///   begin pop  --> read the entry ... --> end pop
/// ```
///
/// Who has begun has the entry for itself, and no lock. Entries come out in the order in which their
/// pushes began: one that has not ended holds up those after it.
#[derive(Debug)]
pub struct EntryQueue {
    size: usize,
    ring: Mutex<Ring>,
    poppers: WaitList,
    pushers: WaitList,
    changed: FutexEvent,
}

/// An entry between the begin and the end of a push or a pop.
#[derive(Debug)]
pub struct QueueEntry {
    place: usize,
    /// The bytes of the entry; those of one that is pushed are of an earlier one until they are
    /// filled.
    pub bytes: Box<[u8]>,
}

#[derive(Debug)]
struct Ring {
    slots: Box<[Slot]>,
    /// The slot that is popped next.
    head: usize,
    /// The slot that is pushed next.
    tail: usize,
}

#[derive(Debug)]
enum Slot {
    Free(Box<[u8]>),
    Full(Box<[u8]>),
    /// Who has begun a push or a pop has it.
    Taken,
}

impl Ring {
    /// Begins a push, if the next slot is free.
    fn fill(&mut self) -> Option<QueueEntry> {
        let place = self.tail;
        let Slot::Free(bytes) = &mut self.slots[place] else { return None };
        let bytes = std::mem::take(bytes);
        self.slots[place] = Slot::Taken;
        self.tail = (place + 1) % self.slots.len();
        Some(QueueEntry { place, bytes })
    }

    /// Begins a pop, if the next slot is full.
    fn drain(&mut self) -> Option<QueueEntry> {
        let place = self.head;
        let Slot::Full(bytes) = &mut self.slots[place] else { return None };
        let bytes = std::mem::take(bytes);
        self.slots[place] = Slot::Taken;
        self.head = (place + 1) % self.slots.len();
        Some(QueueEntry { place, bytes })
    }

    const fn can_fill(&self) -> bool {
        matches!(self.at(self.tail), Slot::Free(_))
    }

    const fn can_drain(&self) -> bool {
        matches!(self.at(self.head), Slot::Full(_))
    }

    const fn at(&self, place: usize) -> &Slot {
        &self.slots[place]
    }
}

impl EntryQueue {
    /// An empty queue for the workloads of one context, of `depth` entries, at least one, of `size`
    /// bytes each.
    pub fn new(workloads: &Workloads, size: usize, depth: usize) -> Self {
        let wait_list = || WaitList::new(&workloads.shared);
        let slots = (0..depth.max(1)).map(|_| Slot::Free(vec![0; size].into())).collect();
        let ring = Mutex::new(Ring { slots, head: 0, tail: 0 });
        let (poppers, pushers) = (wait_list(), wait_list());
        Self { size, ring, poppers, pushers, changed: FutexEvent::default() }
    }

    /// Bytes of an entry.
    pub const fn entry_size(&self) -> usize {
        self.size
    }

    /// Number of entries whose pushes have ended, and whose pops have not begun.
    pub fn len(&self) -> usize {
        self.lock().slots.iter().filter(|slot| matches!(slot, Slot::Full(_))).count()
    }

    /// Whether there is no such entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a workload or a host thread waits for this object.
    pub fn is_awaited(&self) -> bool {
        self.poppers.is_awaited() || self.pushers.is_awaited() || self.changed.is_awaited()
    }

    /// Begins a push without waiting. `None`: there is no room.
    pub fn try_begin_push(&self) -> Option<QueueEntry> {
        let mut ring = self.lock();
        let entry = ring.fill()?;
        let is_another = ring.can_fill();
        drop(ring);
        // Several slots become free at once if the first is late.
        if is_another {
            self.pushers.wake_one(0);
        }
        Some(entry)
    }

    /// Begins a pop without waiting. `None`: there is no entry.
    pub fn try_begin_pop(&self) -> Option<QueueEntry> {
        let mut ring = self.lock();
        let entry = ring.drain()?;
        let is_another = ring.can_drain();
        drop(ring);
        if is_another {
            self.poppers.wake_one(0);
        }
        Some(entry)
    }

    /// Begins a push.
    ///
    /// # Errors
    /// The queue is full. The workload returns [`Next::Stalled`](crate::Next::Stalled) with this
    /// wait, and calls this again in its next turn.
    pub fn begin_push<M>(&self, mpu: &mut Mpu<'_, M>) -> Result<QueueEntry, Wait> {
        wait_in(&self.pushers, mpu, || self.try_begin_push(), || self.lock().fill())
    }

    /// Begins a pop.
    ///
    /// # Errors
    /// The queue is empty. The workload returns [`Next::Stalled`](crate::Next::Stalled) with this
    /// wait, and calls this again in its next turn.
    pub fn begin_pop<M>(&self, mpu: &mut Mpu<'_, M>) -> Result<QueueEntry, Wait> {
        wait_in(&self.poppers, mpu, || self.try_begin_pop(), || self.lock().drain())
    }

    /// Ends a push: the entry can be popped.
    pub fn end_push(&self, entry: QueueEntry) {
        let QueueEntry { place, bytes } = entry;
        self.lock().slots[place] = Slot::Full(bytes);
        self.poppers.wake_one(0);
        self.changed.notify();
    }

    /// Ends a pop: there is room for another entry.
    pub fn end_pop(&self, entry: QueueEntry) {
        let QueueEntry { place, bytes } = entry;
        self.lock().slots[place] = Slot::Free(bytes);
        self.pushers.wake_one(0);
        self.changed.notify();
    }

    /// Copies the oldest entry to `to`, and leaves it, without waiting. Returns false if there is
    /// none.
    ///
    /// # Panics
    /// If `to` has another size than an entry.
    pub fn try_peek(&self, to: &mut [u8]) -> bool {
        let ring = self.lock();
        let Slot::Full(bytes) = &ring.slots[ring.head] else { return false };
        to.copy_from_slice(bytes);
        drop(ring);
        // Who waits for it was perhaps not woken, but this one in its place.
        self.poppers.wake_one(0);
        true
    }

    /// Copies the oldest entry to `to`, and leaves it.
    ///
    /// # Errors
    /// The queue is empty. The workload returns [`Next::Stalled`](crate::Next::Stalled) with this
    /// wait, and calls this again in its next turn.
    pub fn peek<M>(&self, mpu: &mut Mpu<'_, M>, to: &mut [u8]) -> Result<(), Wait> {
        let has_waited = self.poppers.take_wake_value(mpu).is_some();
        if self.try_peek(to) {
            return Ok(());
        }
        let mut waiters = self.poppers.lock_list();
        if self.lock().can_drain() {
            drop(waiters);
            // Who was faster has taken it if this fails: the next turn looks again.
            return if self.try_peek(to) { Ok(()) } else { Err(Wait::until(mpu.now())) };
        }
        Err(if has_waited { waiters.rejoin(mpu) } else { waiters.join(mpu, 0) })
    }

    /// Calls `attempt`, one of this queue's that do not wait, on a host thread (not a worker thread
    /// of the runtime) until it returns a value. `None`: it did not within `span` (`None`: without
    /// limit).
    pub fn on_host<T>(
        &self,
        span: Option<Duration>,
        mut attempt: impl FnMut(&Self) -> Option<T>,
    ) -> Option<T> {
        self.changed.wait_until(span, || attempt(self))
    }

    /// Removes all entries whose pushes have ended, but for those after one that has not.
    pub fn clear(&self) {
        while let Some(entry) = self.try_begin_pop() {
            self.end_pop(entry);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls `attempt`, or `again` once the running workload is about to join `list`.
fn wait_in<M>(
    list: &WaitList,
    mpu: &mut Mpu<'_, M>,
    attempt: impl Fn() -> Option<QueueEntry>,
    again: impl Fn() -> Option<QueueEntry>,
) -> Result<QueueEntry, Wait> {
    let has_waited = list.take_wake_value(mpu).is_some();
    if let Some(entry) = attempt() {
        return Ok(entry);
    }
    let mut waiters = list.lock_list();
    match again() {
        Some(entry) => {
            drop(waiters);
            // Another slot may have become ready with this one.
            list.wake_one(0);
            Ok(entry)
        }
        None if has_waited => Err(waiters.rejoin(mpu)),
        None => Err(waiters.join(mpu, 0)),
    }
}
