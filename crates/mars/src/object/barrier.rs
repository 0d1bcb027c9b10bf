//! A point that all have to reach before anyone goes on.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use crate::bell::Bell;
use crate::context::Workloads;
use crate::mpu::Mpu;
use crate::object::Line;
use crate::workload::Wait;

/// A barrier in two phases: who arrives may do other work before it waits.
///
/// ```text
///   A   notify ........ wait -+->
///   B      notify wait .......+->     all have notified: all go on
///   C             notify wait +->
/// ```
///
/// A cycle ends when all have returned from their waits; who arrives for the next one
/// before that has to wait for it.
#[derive(Debug)]
pub struct Barrier {
    total: u32,
    arrived: AtomicU32,
    left: AtomicU32,
    /// Workloads that have arrived and wait for the others.
    waiting: Line,
    /// Workloads that are early for the next cycle.
    early: Line,
    bell: Bell,
}

impl Barrier {
    /// A barrier for `total` parties, at least one: workloads of one context, or hosts.
    pub fn new(workloads: &Workloads, total: u32) -> Self {
        let line = || Line::new(&workloads.shared);
        Self {
            total: total.max(1),
            arrived: AtomicU32::new(0),
            left: AtomicU32::new(0),
            waiting: line(),
            early: line(),
            bell: Bell::default(),
        }
    }

    /// How many have arrived in this cycle.
    pub fn arrived(&self) -> u32 {
        self.arrived.load(SeqCst)
    }

    /// Arrives; false: the last cycle goes on.
    pub fn try_notify(&self) -> bool {
        let arrived = self.arrive();
        arrived.inspect(|place| self.tell(*place)).is_some()
    }

    /// Counts one more; its place among those that have arrived.
    fn arrive(&self) -> Option<u32> {
        let one_more = |arrived: u32| (arrived < self.total).then_some(arrived + 1);
        self.arrived.fetch_update(SeqCst, SeqCst, one_more).ok().map(|before| before + 1)
    }

    /// Lets the others know.
    fn tell(&self, place: u32) {
        if place == self.total {
            self.waiting.wake_all(0);
        }
        self.bell.ring();
    }

    /// Goes on if all have arrived; false: not all have.
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
            self.bell.ring();
        }
    }

    /// Arrives.
    ///
    /// # Errors
    /// The wait to stall for, until the last cycle has ended; the workload then arrives
    /// again.
    pub fn notify<M>(&self, mpu: &mut Mpu<'_, M>) -> Result<(), Wait> {
        _ = self.early.take_gift(mpu);
        if self.try_notify() {
            return Ok(());
        }
        let mut door = self.early.open();
        let Some(place) = self.arrive() else { return Err(door.join(mpu, 0)) };
        drop(door);
        self.tell(place);
        Ok(())
    }

    /// Waits until all have arrived.
    ///
    /// # Errors
    /// The wait to stall for; the workload then waits again, and goes on.
    pub fn wait<M>(&self, mpu: &mut Mpu<'_, M>) -> Result<(), Wait> {
        if self.waiting.take_gift(mpu).is_some() {
            self.leave();
            return Ok(());
        }
        if self.try_wait() {
            return Ok(());
        }
        let mut door = self.waiting.open();
        if !self.is_open() {
            return Err(door.join(mpu, 0));
        }
        drop(door);
        self.leave();
        Ok(())
    }

    /// Arrives from a host thread, within `span` (none: for ever); whether it did.
    pub fn notify_on_host(&self, span: Option<Duration>) -> bool {
        self.bell.listen(span, || self.try_notify().then_some(())).is_some()
    }

    /// Waits on a host thread until all have arrived, for `span` at the most (none: for
    /// ever); whether they have.
    pub fn wait_on_host(&self, span: Option<Duration>) -> bool {
        self.bell.listen(span, || self.try_wait().then_some(())).is_some()
    }

    /// Waits on a host thread until `count` have arrived, itself not arriving; whether they
    /// have within `span`.
    pub fn watch_on_host(&self, count: u32, span: Option<Duration>) -> bool {
        self.bell.listen(span, || (self.arrived() >= count).then_some(())).is_some()
    }
}
