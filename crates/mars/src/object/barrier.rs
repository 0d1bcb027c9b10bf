//! A barrier: no party continues before all have arrived.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use crate::context::Workloads;
use crate::futex_event::FutexEvent;
use crate::mpu::Mpu;
use crate::object::WaitList;
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
    waiting: WaitList,
    /// Workloads that wait for the next cycle.
    early: WaitList,
    changed: FutexEvent,
}

impl Barrier {
    /// A barrier for `total` parties, at least one: workloads of one context, or host
    /// threads.
    pub fn new(workloads: &Workloads, total: u32) -> Self {
        let wait_list = || WaitList::new(&workloads.shared);
        Self {
            total: total.max(1),
            arrived: AtomicU32::new(0),
            left: AtomicU32::new(0),
            waiting: wait_list(),
            early: wait_list(),
            changed: FutexEvent::default(),
        }
    }

    /// Number of parties that have arrived in this cycle.
    pub fn arrived(&self) -> u32 {
        self.arrived.load(SeqCst)
    }

    /// Arrives without waiting. False if the last cycle has not ended.
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
        self.changed.notify();
    }

    /// Continues if all have arrived. False if not.
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
            self.changed.notify();
        }
    }

    /// Counts the arrival of a workload at the barrier.
    ///
    /// # Errors
    /// The wait to stall for until the last cycle has ended. The workload then calls this again.
    pub fn notify<M>(&self, mpu: &mut Mpu<'_, M>) -> Result<(), Wait> {
        _ = self.early.take_wake_value(mpu);
        if self.try_notify() {
            return Ok(());
        }
        let mut waiters = self.early.lock_list();
        let Some(place) = self.arrive() else { return Err(waiters.join(mpu, 0)) };
        drop(waiters);
        self.tell(place);
        Ok(())
    }

    /// Waits until all have arrived.
    ///
    /// # Errors
    /// The wait to stall for. The workload then calls this again.
    pub fn wait<M>(&self, mpu: &mut Mpu<'_, M>) -> Result<(), Wait> {
        if self.waiting.take_wake_value(mpu).is_some() {
            self.leave();
            return Ok(());
        }
        if self.try_wait() {
            return Ok(());
        }
        let mut waiters = self.waiting.lock_list();
        if !self.is_open() {
            return Err(waiters.join(mpu, 0));
        }
        drop(waiters);
        self.leave();
        Ok(())
    }

    /// Arrives from a host thread. False if the last cycle has not ended within `span`
    /// (`None`: without limit).
    pub fn notify_on_host(&self, span: Option<Duration>) -> bool {
        self.changed.wait_until(span, || self.try_notify().then_some(())).is_some()
    }

    /// Waits on a host thread until all have arrived. False if they have not within `span`
    /// (`None`: without limit).
    pub fn wait_on_host(&self, span: Option<Duration>) -> bool {
        self.changed.wait_until(span, || self.try_wait().then_some(())).is_some()
    }

    /// Waits on a host thread, which is no party, until `count` parties have arrived. False
    /// if they have not within `span` (`None`: without limit).
    pub fn watch_on_host(&self, count: u32, span: Option<Duration>) -> bool {
        self.changed.wait_until(span, || (self.arrived() >= count).then_some(())).is_some()
    }
}
