//! A bounded queue between workloads, and between them and hosts.

use std::time::Duration;

use crossbeam_queue::ArrayQueue;

use crate::bell::Bell;
use crate::context::Workloads;
use crate::mpu::Mpu;
use crate::object::Line;
use crate::workload::Wait;

/// First in, first out. Pushing and popping take no lock while no workload waits for it.
///
/// A workload that is let go on may find that another one was faster; it then waits on
/// before all others.
#[derive(Debug)]
pub struct Queue<T> {
    ring: ArrayQueue<T>,
    poppers: Line,
    pushers: Line,
    bell: Bell,
}

impl<T> Queue<T> {
    /// An empty queue for the workloads of one context, with room for `depth` entries, at
    /// least one.
    pub fn new(workloads: &Workloads, depth: usize) -> Self {
        let line = || Line::new(&workloads.shared);
        let ring = ArrayQueue::new(depth.max(1));
        Self { ring, poppers: line(), pushers: line(), bell: Bell::default() }
    }

    /// How many entries are in it.
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Puts `entry` in.
    ///
    /// # Errors
    /// The entry, if there is no room.
    pub fn try_push(&self, entry: T) -> Result<(), T> {
        self.ring.push(entry)?;
        self.pushed();
        Ok(())
    }

    fn pushed(&self) {
        self.poppers.wake_one(0);
        self.bell.ring();
    }

    /// Takes the oldest entry, if there is one.
    pub fn try_pop(&self) -> Option<T> {
        let entry = self.ring.pop()?;
        self.popped();
        Some(entry)
    }

    fn popped(&self) {
        self.pushers.wake_one(0);
        self.bell.ring();
    }

    /// Takes all entries out.
    pub fn clear(&self) {
        while self.try_pop().is_some() {}
    }

    /// Puts `entry` in.
    ///
    /// # Errors
    /// The entry and the wait to stall for; the workload then tries again.
    pub fn push<M>(&self, mpu: &mut Mpu<'_, M>, entry: T) -> Result<(), (T, Wait)> {
        let has_waited = self.pushers.take_gift(mpu).is_some();
        let Err(entry) = self.try_push(entry) else { return Ok(()) };
        let mut door = self.pushers.open();
        match self.ring.push(entry) {
            Ok(()) => {
                drop(door);
                self.pushed();
                Ok(())
            }
            Err(entry) if has_waited => Err((entry, door.rejoin(mpu))),
            Err(entry) => Err((entry, door.join(mpu, 0))),
        }
    }

    /// Takes the oldest entry.
    ///
    /// # Errors
    /// The wait to stall for; the workload then tries again.
    pub fn pop<M>(&self, mpu: &mut Mpu<'_, M>) -> Result<T, Wait> {
        let has_waited = self.poppers.take_gift(mpu).is_some();
        if let Some(entry) = self.try_pop() {
            return Ok(entry);
        }
        let mut door = self.poppers.open();
        match self.ring.pop() {
            Some(entry) => {
                drop(door);
                self.popped();
                Ok(entry)
            }
            None if has_waited => Err(door.rejoin(mpu)),
            None => Err(door.join(mpu, 0)),
        }
    }

    /// Puts `entry` in from a host thread, within `span` (none: for ever).
    ///
    /// # Errors
    /// The entry, if there was no room in that time.
    pub fn push_on_host(&self, entry: T, span: Option<Duration>) -> Result<(), T> {
        let mut entry = Some(entry);
        let pushed = self.bell.listen(span, || match self.try_push(entry.take()?) {
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

    /// Takes the oldest entry on a host thread, within `span` (none: for ever).
    pub fn pop_on_host(&self, span: Option<Duration>) -> Option<T> {
        self.bell.listen(span, || self.try_pop())
    }
}
