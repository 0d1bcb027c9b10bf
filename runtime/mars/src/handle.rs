//! The handle of a workload.

use std::any::Any;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use crate::context::Typed;
use crate::mpu::Mpu;
use crate::shared::Shared;
use crate::table::{Record, state};
use crate::time::Time;
use crate::waiter::Ticket;
use crate::workload::{Ending, Placement, Priority, Wait, Workload};

/// The owner's handle of a workload. Dropping it lets a workload that runs continue; it is
/// dropped when it has finished.
///
/// ```text
///   add --> finished --begin..end / schedule--> ready <--> running --> finished
///               ^                                 ^           |            |
///               |                                 +- stalled <+            |
///               +----------------------- again ----------------------------+
/// ```
#[derive(Debug)]
pub struct Handle<W> {
    shared: Arc<Shared>,
    id: u32,
    workload: PhantomData<fn() -> W>,
}

impl<W: Workload> Handle<W> {
    pub(crate) const fn new(shared: Arc<Shared>, id: u32) -> Self {
        Self { shared, id, workload: PhantomData }
    }

    /// Makes the workload ready to run on any MPU (worker thread). If it is still scheduled, waits
    /// until it has finished.
    pub fn schedule(&mut self, priority: Priority) {
        self.schedule_at(priority, Placement::Anywhere);
    }

    /// Makes the workload ready to run with `priority` on the MPUs of `placement`. If it is still
    /// scheduled, blocks the calling thread until it has finished.
    ///
    /// # Panics
    /// If the context has no such MPU.
    pub fn schedule_at(&mut self, priority: Priority, placement: Placement) {
        self.wait();
        self.shared.schedule(self.id, priority, placement, 0);
    }

    /// As [`Self::schedule_at`], of a workload that has finished, and of which nobody else makes
    /// use now.
    #[cfg(feature = "tasks")]
    pub(crate) fn schedule_again(&self, priority: Priority, placement: Placement) {
        self.shared.schedule(self.id, priority, placement, 0);
    }

    /// Gives access to the workload; [`Scheduling::end`] then schedules it. If it is still
    /// scheduled, blocks the calling thread until it has finished.
    pub fn begin(&mut self) -> Scheduling<'_, W> {
        self.wait();
        let workload = self.take();
        Scheduling { handle: self, workload: Some(workload) }
    }

    /// Takes the workload out of its cell, where it is while it is not scheduled.
    #[expect(clippy::unnecessary_box_returns, reason = "it goes back into its cell as it is")]
    fn take(&self) -> Box<Typed<W>> {
        let body = self.record().cell.lock().unwrap_or_else(PoisonError::into_inner).take();
        let workload: Box<dyn Any> = body.expect("in its cell when it is not busy");
        workload.downcast().expect("of its handle's type")
    }

    /// Blocks the calling thread until the workload has finished; returns how it ended. A workload
    /// must not call this: it uses [`Self::wait_on`].
    pub fn wait(&self) -> Ending {
        loop {
            if let Some(ending) = self.wait_for(LONG) {
                return ending;
            }
        }
    }

    /// Blocks the calling thread until the workload has finished, at most for `span`; returns how
    /// it ended. `None`: it has not finished in that time.
    pub fn wait_for(&self, span: Duration) -> Option<Ending> {
        let word = &self.record().state;
        let mut deadline = None;
        loop {
            let now = word.load(Acquire);
            if now & state::BUSY == 0 {
                return Some(ending(now));
            }
            let clock = Time::now();
            let deadline = *deadline.get_or_insert_with(|| clock.after(span));
            if clock >= deadline {
                return None;
            }
            let awaited = now | state::AWAITED;
            if now == awaited || word.compare_exchange(now, awaited, SeqCst, Relaxed).is_ok() {
                linux::futex::wait(word, awaited, Some(deadline.since(clock)));
            }
        }
    }

    /// How the workload ended, without waiting. `None`: it has not finished.
    pub fn try_wait(&self) -> Option<Ending> {
        let now = self.record().state.load(Acquire);
        (now & state::BUSY == 0).then(|| ending(now))
    }

    /// Waits, in another workload that `mpu` runs, until this one has finished; returns how it
    /// ended.
    ///
    /// # Errors
    /// This workload has not finished. The caller returns [`Next::Stalled`](crate::Next::Stalled)
    /// with this wait, and calls this again in its next turn.
    pub fn wait_on<M>(&self, mpu: &mut Mpu<'_, M>) -> Result<Ending, Wait> {
        let record = self.record();
        let followers = record.followers.lock();
        let mut followers = followers.unwrap_or_else(PoisonError::into_inner);
        let before = record.state.fetch_or(state::AWAITED, SeqCst);
        if before & state::BUSY == 0 {
            record.state.fetch_and(!state::AWAITED, Relaxed);
            return Ok(ending(before));
        }
        let waiter = mpu.core.waiter();
        if followers.len() == followers.capacity() {
            // Before it grows: without those whose deadlines have ended their waits.
            let table = &self.shared.table;
            followers.retain(|one| table.record(one.id).wait_token.waiting() == Some(one.token));
        }
        followers.push(waiter);
        Err(Wait::for_object(Ticket::new(waiter)))
    }

    /// Sends the workload a signal, which [`Mpu::wait_for_signal`] waits for. It is no signal of
    /// signal(7). A signal to a workload that is not scheduled is lost.
    pub fn signal(&self) {
        let record = self.record();
        record.signalled.store(true, SeqCst);
        crate::atomic::fence(SeqCst);
        if let Some(token) = record.wait_token.waiting_for_signal()
            && record.wait_token.claim(token)
        {
            self.shared.deliver(self.id);
        }
    }

    /// Ends the workload: it does not run again. If it runs now, this turn is its last.
    pub fn unschedule(&self) {
        self.shared.unschedule(self.id);
    }

    /// Returns the workload itself. If it is still scheduled, blocks the calling thread until it
    /// has finished.
    pub fn into_inner(self) -> W {
        self.wait();
        self.take().0
    }

    fn record(&self) -> &Record {
        self.shared.table.record(self.id)
    }
}

impl<W> Drop for Handle<W> {
    fn drop(&mut self) {
        let word = &self.shared.table.record(self.id).state;
        if word.fetch_or(state::ABANDONED, SeqCst) & state::BUSY == 0 {
            self.shared.forget(self.id);
        }
    }
}

/// Access to a workload that is not scheduled. [`Self::end`] schedules it; dropping this leaves it
/// finished, with all changes.
pub struct Scheduling<'a, W: Workload> {
    handle: &'a mut Handle<W>,
    workload: Option<Box<Typed<W>>>,
}

impl<W: Workload> Scheduling<'_, W> {
    /// Schedules the workload with `priority` on the MPUs of `placement`.
    ///
    /// # Panics
    /// If the context has no such MPU.
    pub fn end(self, priority: Priority, placement: Placement) {
        let (shared, id) = (Arc::clone(&self.handle.shared), self.handle.id);
        drop(self);
        shared.schedule(id, priority, placement, 0);
    }
}

impl<W: Workload> Deref for Scheduling<'_, W> {
    type Target = W;

    fn deref(&self) -> &W {
        &self.workload.as_ref().expect("taken by its end only").0
    }
}

impl<W: Workload> DerefMut for Scheduling<'_, W> {
    fn deref_mut(&mut self) -> &mut W {
        &mut self.workload.as_mut().expect("taken by its end only").0
    }
}

impl<W: Workload> Drop for Scheduling<'_, W> {
    fn drop(&mut self) {
        let Some(workload) = self.workload.take() else { return };
        let cell = &self.handle.record().cell;
        *cell.lock().unwrap_or_else(PoisonError::into_inner) = Some(workload);
    }
}

const fn ending(word: u32) -> Ending {
    if word & state::PANICKED != 0 {
        Ending::Panicked
    } else if word & state::CUT_SHORT != 0 {
        Ending::Unscheduled
    } else {
        Ending::Finished
    }
}

/// Length of one wait; it is repeated.
const LONG: Duration = Duration::from_secs(3600);
