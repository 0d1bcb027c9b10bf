//! One workload, as its owner holds it.

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

/// A workload of a context. Dropping it lets a workload that runs run on; it goes when it
/// has finished.
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

    /// Schedules it on any MPU. See [`Self::schedule_at`].
    pub fn schedule(&mut self, priority: Priority) {
        self.schedule_at(priority, Placement::Anywhere);
    }

    /// Schedules it. If it was scheduled and has not finished, waits for that first.
    ///
    /// # Panics
    /// If the context has no such MPU.
    pub fn schedule_at(&mut self, priority: Priority, placement: Placement) {
        self.wait();
        self.shared.schedule(self.id, priority, placement, 0);
    }

    /// Begins to schedule it: what it is can be looked at and changed until
    /// [`Scheduling::end`]. If it was scheduled and has not finished, waits for that first.
    pub fn begin(&mut self) -> Scheduling<'_, W> {
        self.wait();
        let workload = self.take();
        Scheduling { handle: self, workload: Some(workload) }
    }

    /// Takes it out of its cell, where it is while it is not busy.
    #[expect(clippy::unnecessary_box_returns, reason = "it goes back into its cell as it is")]
    fn take(&self) -> Box<Typed<W>> {
        let body = self.record().cell.lock().unwrap_or_else(PoisonError::into_inner).take();
        let workload: Box<dyn Any> = body.expect("in its cell when it is not busy");
        workload.downcast().expect("of its handle's type")
    }

    /// Waits until it is finished; how it ended. Not to be called by a workload.
    pub fn wait(&self) -> Ending {
        loop {
            if let Some(ending) = self.wait_for(LONG) {
                return ending;
            }
        }
    }

    /// Waits until it is finished, for `span` at the most; how it ended.
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

    /// How it ended; none: it has not.
    pub fn try_wait(&self) -> Option<Ending> {
        let now = self.record().state.load(Acquire);
        (now & state::BUSY == 0).then(|| ending(now))
    }

    /// How it ended, for another workload.
    ///
    /// # Errors
    /// The wait to stall for; the workload then asks again.
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
            followers.retain(|one| table.record(one.id).turnstile.waiting() == Some(one.token));
        }
        followers.push(waiter);
        Err(Wait::for_object(Ticket::of(waiter)))
    }

    /// Sends it a signal, which it may wait for; before it is scheduled that is lost.
    pub fn signal(&self) {
        let record = self.record();
        record.signalled.store(true, SeqCst);
        crate::atomic::fence(SeqCst);
        if let Some(token) = record.turnstile.waiting_for_signal()
            && record.turnstile.claim(token)
        {
            self.shared.deliver(self.id);
        }
    }

    /// Makes sure that it does not run again. If it runs now, that turn is its last.
    pub fn unschedule(&self) {
        self.shared.unschedule(self.id);
    }

    /// Gives the workload back. If it has not finished, waits for that first.
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

/// A workload that is being scheduled. Dropping it leaves it finished, with what it is now.
pub struct Scheduling<'a, W: Workload> {
    handle: &'a mut Handle<W>,
    workload: Option<Box<Typed<W>>>,
}

impl<W: Workload> Scheduling<'_, W> {
    /// Schedules it.
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

/// A wait that is renewed.
const LONG: Duration = Duration::from_secs(3600);
