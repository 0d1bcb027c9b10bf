//! What an MPU runs.

use std::any::Any;

use crate::mpu::Mpu;
use crate::time::Time;
use crate::waiter::Ticket;

/// A workload without a stack: a machine that an MPU runs until it would wait.
pub trait Workload: Any + Send {
    /// What an MPU keeps for all workloads of this kind.
    type Module: Module;

    /// Goes on until it has nothing to do, or has done enough for one turn. It must not
    /// block: as long as it runs, nothing else does on this MPU.
    fn run(&mut self, mpu: &mut Mpu<'_, Self::Module>) -> Next;
}

/// What an MPU keeps for all workloads of one kind: their buffers, caches, or stacks.
///
/// Each MPU makes its own, on its own thread, and it never leaves that thread.
pub trait Module: Any {
    /// What the kind is called in accounts.
    const NAME: &'static str;
}

/// For workloads that need nothing.
impl Module for () {
    const NAME: &'static str = "plain";
}

/// What is to become of a workload that ran.
#[derive(Debug)]
pub enum Next {
    /// It has done all. It may be scheduled again.
    Finished,
    /// It can go on, after the others had their turn.
    Yield,
    /// It waits.
    Stalled(Wait),
}

/// What a stalled workload waits for: whatever of it comes first.
#[derive(Debug)]
pub struct Wait {
    pub(crate) readiness: bool,
    pub(crate) ticket: Option<Ticket>,
    pub(crate) until: Option<Time>,
    pub(crate) exactly: bool,
}

impl Wait {
    const NOTHING: Self = Self { readiness: false, ticket: None, until: None, exactly: false };

    /// Until a descriptor that it watches becomes ready ([`Mpu::watch`]).
    pub const fn for_readiness() -> Self {
        Self { readiness: true, ..Self::NOTHING }
    }

    /// Until about `time`: as late as the kernel wakes a thread.
    pub const fn until(time: Time) -> Self {
        Self { until: Some(time), ..Self::NOTHING }
    }

    /// Until `time` as exactly as possible: the MPU sleeps until shortly before, and spins
    /// the rest.
    pub const fn exactly_until(time: Time) -> Self {
        Self { exactly: true, ..Self::until(time) }
    }

    /// But also until a descriptor that it watches becomes ready.
    #[must_use]
    pub const fn or_readiness(mut self) -> Self {
        self.readiness = true;
        self
    }

    /// Until an object, which gave the ticket, lets it go on.
    pub(crate) const fn for_object(ticket: Ticket) -> Self {
        Self { ticket: Some(ticket), ..Self::NOTHING }
    }

    /// But no longer than until `time`.
    #[must_use]
    pub const fn or_until(mut self, time: Time) -> Self {
        self.until = Some(time);
        self
    }
}

/// When a workload runs, among others that are ready: higher ones first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(pub u8);

impl Priority {
    /// After all others.
    pub const LOWEST: Self = Self(0);
    /// In the middle.
    pub const NORMAL: Self = Self(128);
    /// Before all others.
    pub const HIGHEST: Self = Self(255);
}

impl Default for Priority {
    fn default() -> Self {
        Self::NORMAL
    }
}

/// Where a workload runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// On any MPU that is free, and on another one after a wait.
    #[default]
    Anywhere,
    /// On this MPU only, counted from 0.
    Mpu(usize),
}

/// How a workload ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It said so.
    Finished,
    /// It was unscheduled.
    Unscheduled,
    /// It panicked; what it was then is what it still is.
    Panicked,
}
