//! What a running workload can ask its MPU to do.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::Duration;

use linux::epoll::{Epoll, Interest};

use crate::context::{Typed, Workloads};
use crate::shared::Shared;
use crate::table::{Body, state};
use crate::time::Time;
use crate::wait_token::{Ender, Token};
use crate::waiter::{PRESENT, Ticket, Waiter};
use crate::wake_cost::WakeCost;
use crate::workload::{Priority, Wait, Workload};

/// The MPU (worker thread of the runtime) that runs a workload, for the duration of one turn, i.e.
/// of one call of [`Workload::run`].
pub struct Mpu<'a, M> {
    /// The state that this MPU keeps for workloads of this kind.
    pub module: &'a mut M,
    pub(crate) core: &'a mut Core,
}

/// The part of an MPU that does not depend on the kind of workload.
pub(crate) struct Core {
    pub(crate) index: usize,
    pub(crate) shared: Arc<Shared>,
    pub(crate) epoll: Epoll,
    /// The last reading of the clock.
    pub(crate) now: Time,
    /// The clock was read in this turn.
    pub(crate) is_fresh: bool,
    /// An estimate of the CPU time that the thread of this MPU needs to sleep until a time.
    pub(crate) wake_cost: WakeCost,
    /// The running workload.
    pub(crate) id: u32,
    /// The epoll token of its descriptors.
    pub(crate) watch_token: u64,
    /// Number of descriptors that it began to watch in this turn.
    pub(crate) watched: u32,
    /// It has to stay on this MPU until it has finished.
    pub(crate) stays: bool,
    /// The wait that it began in this turn, or an earlier one whose message is on its way.
    pub(crate) armed: Option<Token>,
    /// Wait of the task that has just suspended itself.
    #[cfg(feature = "tasks")]
    pub(crate) wait: Wait,
    /// The workloads that it spawned in this turn.
    pub(crate) spawned: Vec<(u32, Body)>,
    /// Ids of workloads that have ended here, for the next ones.
    pub(crate) spare: Vec<u32>,
}

impl Core {
    pub(crate) fn read_clock(&mut self) -> Time {
        self.now = Time::now();
        self.is_fresh = true;
        self.now
    }

    /// Begins a wait of the running workload, which replaces the one it began before.
    pub(crate) fn arm(&mut self, ender: Ender) -> Waiter {
        let wait_token = &self.shared.table.record(self.id).wait_token;
        if let Some(token) = self.armed
            && !wait_token.claim(token)
        {
            // That wait has been ended: the message is on its way, and until it has arrived no
            // other may be sent. It will end this wait too.
            return Waiter { id: self.id, token };
        }
        let token = wait_token.arm(ender);
        self.armed = Some(token);
        Waiter { id: self.id, token }
    }

    /// The value that object `number` handed to the running workload, if it ended its last
    /// wait.
    pub(crate) fn take_wake_value(&self, number: u32) -> Option<u32> {
        let wake_value = &self.shared.table.record(self.id).wake_value;
        let given = wake_value.load(Relaxed);
        if given & PRESENT == 0 || (given & !PRESENT) >> 32 != u64::from(number) {
            return None;
        }
        wake_value.store(0, Relaxed);
        u32::try_from(given & u64::from(u32::MAX)).ok()
    }

    /// Begins a wait that an object may end.
    pub(crate) fn waiter(&mut self) -> Waiter {
        self.arm(Ender::Object)
    }
}

impl<M> Mpu<'_, M> {
    /// The number of this MPU (worker thread) in its context, from 0.
    pub const fn index(&self) -> usize {
        self.core.index
    }

    /// The time of `CLOCK_MONOTONIC` in this turn. The clock is read at most once per turn, so that
    /// it may be as old as the turn.
    pub fn now(&mut self) -> Time {
        if self.core.is_fresh { self.core.now } else { self.core.read_clock() }
    }

    /// The current time: reads `CLOCK_MONOTONIC`, also if it was read in this turn before.
    pub fn clock(&mut self) -> Time {
        self.core.read_clock()
    }

    /// Total time since its start that this MPU has waited in a busy loop: for deadlines, as
    /// [`Wait::exactly_until`] requests, or for objects, before it sleeps.
    pub fn spun(&self) -> Duration {
        self.core.shared.units[self.core.index].account.spun()
    }

    /// CPU time that a sleep of this MPU until a time usually takes of its thread; zero: it has not
    /// slept so yet.
    pub fn wake_cost(&self) -> Duration {
        self.core.wake_cost.usual()
    }

    /// Watches `fd` with epoll(7) for this workload, which then stays on this MPU.
    /// [`Wait::for_readiness`] ends when `fd` *becomes* ready (`EPOLLET`): the workload must read
    /// or write until `EAGAIN` before it waits. `fd` is watched until it is closed.
    ///
    /// # Errors
    /// `ENOSPC` beyond `fs.epoll.max_user_watches`, `ENOMEM`, `EPERM` for a file that
    /// cannot be polled (epoll_ctl(2)).
    pub fn watch(&mut self, fd: impl AsFd, interest: Interest) -> io::Result<()> {
        let token = self.core.watch_token;
        match self.core.epoll.add(&fd, interest, token) {
            // This or another workload watched it when it was scheduled before.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.core.epoll.modify(&fd, interest, token)?;
            }
            result => result?,
        }
        self.core.watched += 1;
        Ok(())
    }

    /// Watches a further, short-lived descriptor for this workload, beside the one of
    /// [`Self::watch`]. [`Self::unwatch`] ends it.
    ///
    /// # Errors
    /// `EEXIST` if it is watched already, `ENOSPC` beyond `fs.epoll.max_user_watches`,
    /// `ENOMEM` (epoll_ctl(2)).
    pub fn watch_extra(&self, fd: impl AsFd, interest: Interest) -> io::Result<()> {
        self.core.epoll.add(&fd, interest, self.core.watch_token)
    }

    /// Stops watching `fd` for readiness (`EPOLL_CTL_DEL`).
    ///
    /// # Errors
    /// `ENOENT` if it is not watched (epoll_ctl(2)).
    pub fn unwatch(&self, fd: impl AsFd) -> io::Result<()> {
        self.core.epoll.delete(fd)
    }

    /// Lets this workload run only on this MPU until it has finished, as one that refers to what
    /// the MPU has on its thread must.
    pub const fn stay(&mut self) {
        self.core.stays = true;
    }

    /// Whether [`Handle::signal`](crate::Handle::signal) was called for this workload since the
    /// last call. Several signals count as one.
    pub fn signalled(&self) -> bool {
        let record = self.core.shared.table.record(self.core.id);
        record.signalled.load(SeqCst) && record.signalled.swap(false, SeqCst)
    }

    /// Waits until [`Handle::signal`](crate::Handle::signal) is called for this workload.
    ///
    /// # Errors
    /// No signal has come. The workload returns [`Next::Stalled`](crate::Next::Stalled) with this
    /// wait, and calls this again in its next turn.
    pub fn wait_for_signal(&mut self) -> Result<(), Wait> {
        if self.signalled() {
            return Ok(());
        }
        let waiter = self.core.arm(Ender::Signal);
        crate::atomic::fence(SeqCst);
        if self.signalled() {
            // A sender that claims the wait now only wakes what runs anyway.
            return Ok(());
        }
        Err(Wait::for_object(Ticket::new(waiter)))
    }

    /// Adds a workload and schedules it: on this MPU, unless another one is idle. It has no
    /// handle and is dropped when it has finished. It is cheaper than [`Workloads::spawn`].
    ///
    /// # Panics
    /// If the context has no module for this kind of workload.
    pub fn spawn<W: Workload>(&mut self, workload: W, priority: Priority) {
        let shared = &*self.core.shared;
        let kind = shared.kind_of::<W>();
        let id = self.core.spare.pop().unwrap_or_else(|| shared.table.allocate());
        let record = shared.table.record(id);
        record.kind.store(kind, Relaxed);
        record.priority.store(priority.0, Relaxed);
        record.pinned.store(false, Relaxed);
        record.signalled.store(false, Relaxed);
        record.wake_value.store(0, Relaxed);
        record.state.store(state::BUSY | state::ABANDONED, Relaxed);
        self.core.spawned.push((id, Box::new(Typed(workload))));
    }

    /// A handle to the workloads of this MPU's context, by which more can be added.
    pub fn workloads(&self) -> Workloads {
        Workloads::new(Arc::clone(&self.core.shared))
    }
}
