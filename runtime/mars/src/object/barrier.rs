//! A barrier: no party continues before all have arrived.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use crate::context::Workloads;
use crate::futex_event::FutexEvent;
use crate::mpu::Mpu;
use crate::object::wait_lists::WaitLists;
use crate::workload::Wait;

/// A two-phase barrier: a party that has arrived may do other work before it waits.
///
/// ```text
///   A   notify ........ wait -+->
///   B      notify wait .......+->     all have notified: all continue
///   C             notify wait +->
/// ```
///
/// A cycle ends when all parties have returned from their waits. A party that arrives for
/// the next cycle before that has to wait for the end of this one.
#[derive(Debug)]
pub struct Barrier {
    total: u32,
    arrived: AtomicU32,
    left: AtomicU32,
    /// Workloads that have arrived and wait for the others.
    waiting: WaitLists,
    /// Workloads that wait for the next cycle.
    early: WaitLists,
    changed: FutexEvent,
}

impl Barrier {
    /// A barrier for `total` parties, at least one. A party is a workload of one context, or a host
    /// thread: a thread that is no MPU of the context.
    pub fn new(workloads: &Workloads, total: u32) -> Self {
        Self {
            total: total.max(1),
            arrived: AtomicU32::new(0),
            left: AtomicU32::new(0),
            waiting: WaitLists::new(&workloads.shared),
            early: WaitLists::new(&workloads.shared),
            changed: FutexEvent::default(),
        }
    }

    /// Whether a workload or a host thread waits for this object.
    pub fn is_awaited(&self) -> bool {
        self.waiting.is_awaited() || self.early.is_awaited() || self.changed.is_awaited()
    }

    /// Number of parties that have arrived at the barrier in the current cycle.
    pub fn arrived(&self) -> u32 {
        self.arrived.load(SeqCst)
    }

    /// Counts the arrival of one party at the barrier without waiting. Returns false, and counts
    /// nothing, if the previous cycle has not ended: not all parties have returned from their
    /// waits.
    pub fn try_notify(&self) -> bool {
        let arrived = self.arrive();
        arrived.inspect(|place| self.tell(*place)).is_some()
    }

    /// Counts one more arrival; returns its number in this cycle.
    fn arrive(&self) -> Option<u32> {
        let one_more = |arrived: u32| (arrived < self.total).then_some(arrived + 1);
        self.arrived.fetch_update(SeqCst, SeqCst, one_more).ok().map(|before| before + 1)
    }

    /// Wakes the waiting parties if all have arrived.
    fn tell(&self, place: u32) {
        if place == self.total {
            self.waiting.wake_all(0);
        }
        self.changed.notify_in_order();
    }

    /// Passes the barrier if all parties have arrived, without waiting. Returns false if some have
    /// not: then the caller has to wait or try again.
    pub fn try_wait(&self) -> bool {
        let is_open = self.is_open();
        if is_open {
            self.leave();
        }
        is_open
    }

    fn is_open(&self) -> bool {
        self.arrived() == self.total
    }

    fn leave(&self) {
        if self.left.fetch_add(1, SeqCst) + 1 == self.total {
            self.left.store(0, SeqCst);
            self.arrived.store(0, SeqCst);
            self.early.wake_all(0);
            self.changed.notify_in_order();
        }
    }

    /// Counts the arrival of a workload at the barrier.
    ///
    /// # Errors
    /// The previous cycle has not ended. The workload returns
    /// [`Next::Stalled`](crate::Next::Stalled) with this wait, and calls this again in its next
    /// turn.
    pub fn notify<M>(&self, mpu: &mut Mpu<'_, M>) -> Result<(), Wait> {
        _ = self.early.take_wake_value(mpu);
        if self.try_notify() {
            return Ok(());
        }
        let mut waiters = self.early.lock_list_in_order(mpu);
        let Some(place) = self.arrive() else { return Err(waiters.join(mpu, 0)) };
        drop(waiters);
        self.tell(place);
        Ok(())
    }

    /// Passes the barrier if all parties have arrived.
    ///
    /// # Errors
    /// Some parties have not arrived. The workload returns [`Next::Stalled`](crate::Next::Stalled)
    /// with this wait, and calls this again in its next turn.
    pub fn wait<M>(&self, mpu: &mut Mpu<'_, M>) -> Result<(), Wait> {
        if self.waiting.take_wake_value(mpu).is_some() {
            self.leave();
            return Ok(());
        }
        if self.try_wait() {
            return Ok(());
        }
        let mut waiters = self.waiting.lock_list_in_order(mpu);
        if !self.is_open() {
            return Err(waiters.join(mpu, 0));
        }
        drop(waiters);
        self.leave();
        Ok(())
    }

    /// Counts the arrival of a host thread (not a worker of the runtime). Blocks it for at most `span`
    /// (`None`: without limit) while the previous cycle has not ended; returns false, and counts
    /// nothing, if that takes longer.
    pub fn notify_on_host(&self, span: Option<Duration>) -> bool {
        self.changed.wait_until(span, || self.try_notify().then_some(())).is_some()
    }

    /// Blocks a party that is a host thread (not a worker of the runtime) and has arrived, until
    /// all have, at most for `span` (`None`: without limit); it then passes the barrier. Returns false
    /// if some had not arrived by then.
    pub fn wait_on_host(&self, span: Option<Duration>) -> bool {
        self.changed.wait_until(span, || self.try_wait().then_some(())).is_some()
    }

    /// Blocks a host thread that is no party of the barrier until at least `count` parties have
    /// arrived, at most for `span` (`None`: without limit). Returns false if they have not arrived
    /// by then.
    pub fn watch_on_host(&self, count: u32, span: Option<Duration>) -> bool {
        self.changed.wait_until(span, || (self.arrived() >= count).then_some(())).is_some()
    }
}
