//! Workloads: what an MPU runs, and what they return to it.

use std::any::Any;

use crate::mpu::Mpu;
use crate::time::Time;
use crate::waiter::Ticket;
use crate::wake_latency::Precision;

/// A task without a stack of its own: a state machine that an MPU (worker thread) runs until it
/// would have to wait.
pub trait Workload: Any + Send {
    /// The state that an MPU keeps for all workloads of this kind.
    type Module: Module;

    /// Continues until the workload has to wait or has done enough for one turn. It must
    /// not block: no other workload of this MPU runs meanwhile.
    fn run(&mut self, mpu: &mut Mpu<'_, Self::Module>) -> Next;

    /// Gives back what the workload has of its MPU. It was unscheduled after it had begun, and does
    /// not go on. It is called on the MPU that ran it last, if the workload had to stay there
    /// ([`Mpu::stay`]); it must not wait.
    fn unscheduled(&mut self, _mpu: &mut Mpu<'_, Self::Module>) {}
}

/// Data that an MPU (worker thread) keeps for all workloads of one kind: buffers, caches.
///
/// Each MPU creates its own on its own thread, and it never leaves that thread.
pub trait Module: Any {
    /// Name of the kind in [`crate::KindUse`].
    const NAME: &'static str;
}

/// The module of workloads that need none.
impl Module for () {
    const NAME: &'static str = "plain";
}

/// The result of one turn of a workload, i.e. of one call of [`Workload::run`]: whether it has
/// finished, goes on, or waits.
#[derive(Debug)]
pub enum Next {
    /// The workload is finished. It may be scheduled again.
    Finished,
    /// The workload can continue after the other ready workloads had their turn.
    Yield,
    /// The workload cannot continue before the event of this wait.
    Stalled(Wait),
}

/// The events (readiness of a descriptor, a time, a synchronisation object) that a stalled workload
/// waits for; the first one ends the wait.
#[derive(Debug)]
pub struct Wait {
    pub(crate) readiness: bool,
    pub(crate) ticket: Option<Ticket>,
    pub(crate) until: Option<Time>,
    /// How precisely `until` is kept.
    pub(crate) precision: Precision,
}

impl Wait {
    pub(crate) const NOTHING: Self =
        Self { readiness: false, ticket: None, until: None, precision: Precision::About };

    /// A wait that ends when a descriptor that the workload watches ([`Mpu::watch`]) becomes ready.
    pub const fn for_readiness() -> Self {
        Self { readiness: true, ..Self::NOTHING }
    }

    /// A wait that ends at about `time` (`CLOCK_MONOTONIC`): more often than not within some
    /// microseconds, for which the MPU may wait in a busy loop.
    pub const fn until(time: Time) -> Self {
        Self { until: Some(time), ..Self::NOTHING }
    }

    /// A wait that ends when the kernel wakes a thread that sleeps until `time`
    /// (`CLOCK_MONOTONIC`), however late that is.
    pub const fn sleep_until(time: Time) -> Self {
        Self { precision: Precision::Late, ..Self::until(time) }
    }

    /// A wait that ends at `time` (`CLOCK_MONOTONIC`) as precisely as possible: the MPU sleeps
    /// until shortly before it and waits for the rest in a busy loop.
    pub const fn exactly_until(time: Time) -> Self {
        Self { precision: Precision::Exact, ..Self::until(time) }
    }

    /// Lets the wait also end when a descriptor that the workload watches ([`Mpu::watch`]) becomes
    /// ready.
    #[must_use]
    pub const fn or_readiness(mut self) -> Self {
        self.readiness = true;
        self
    }

    /// Waits until the object that gave the ticket ends the wait.
    pub(crate) const fn for_object(ticket: Ticket) -> Self {
        Self { ticket: Some(ticket), ..Self::NOTHING }
    }

    /// Lets the wait end at `time` (`CLOCK_MONOTONIC`) at the latest.
    #[must_use]
    pub const fn or_until(mut self, time: Time) -> Self {
        self.until = Some(time);
        self
    }
}

/// Priority of a workload among those that are ready: the higher number runs first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(pub u8);

impl Priority {
    /// The lowest priority.
    pub const LOWEST: Self = Self(0);
    /// The default priority.
    pub const NORMAL: Self = Self(128);
    /// The highest priority.
    pub const HIGHEST: Self = Self(255);
}

impl Default for Priority {
    fn default() -> Self {
        Self::NORMAL
    }
}

/// The MPUs (worker threads) on which a workload may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// Any MPU that is free; after a wait possibly another one.
    #[default]
    Anywhere,
    /// Only this MPU, counted from 0.
    Mpu(usize),
}

/// How a workload ended: finished, unscheduled or panicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The workload returned [`Next::Finished`].
    Finished,
    /// The workload was unscheduled, or the context stopped.
    Unscheduled,
    /// The workload panicked; it stays as it was then.
    Panicked,
}
