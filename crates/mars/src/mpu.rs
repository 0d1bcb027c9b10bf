//! What a running workload can ask of its MPU.

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
use crate::turnstile::{Ender, Token};
use crate::waiter::{GIVEN, Ticket, Waiter};
use crate::workload::{Priority, Wait, Workload};

/// The MPU that runs a workload, for as long as that runs.
pub struct Mpu<'a, M> {
    /// What this MPU keeps for workloads of this kind.
    pub module: &'a mut M,
    pub(crate) core: &'a mut Core,
}

/// The part of an MPU that does not depend on the kind of a workload.
pub(crate) struct Core {
    pub(crate) index: usize,
    pub(crate) shared: Arc<Shared>,
    pub(crate) epoll: Epoll,
    /// What the clock showed when it was read last.
    pub(crate) now: Time,
    /// It was read since the current workload began to run.
    pub(crate) is_fresh: bool,
    /// The workload that runs.
    pub(crate) id: u32,
    /// What its descriptors are watched under.
    pub(crate) watch_token: u64,
    /// How many descriptors it began to watch in this turn.
    pub(crate) watched: u32,
    /// The wait that it began in this turn, or one of before whose message is on its way.
    pub(crate) armed: Option<Token>,
    /// What it spawned in this turn.
    pub(crate) newborn: Vec<(u32, Body)>,
    /// Ids of workloads that have gone from here, for the next ones.
    pub(crate) spare: Vec<u32>,
}

impl Core {
    pub(crate) fn read_clock(&mut self) -> Time {
        self.now = Time::now();
        self.is_fresh = true;
        self.now
    }

    /// Begins a wait of the workload that runs, in place of the one that it began before.
    pub(crate) fn arm(&mut self, ender: Ender) -> Waiter {
        let turnstile = &self.shared.table.record(self.id).turnstile;
        if let Some(token) = self.armed
            && !turnstile.claim(token)
        {
            // Somebody has ended that one: the message is on its way, and until it has come
            // nobody may send another. It will end this wait too.
            return Waiter { id: self.id, token };
        }
        let token = turnstile.arm(ender);
        self.armed = Some(token);
        Waiter { id: self.id, token }
    }

    /// What object `number` has for the workload that runs, if it ended its last wait.
    pub(crate) fn take_gift(&self, number: u32) -> Option<u32> {
        let gift = &self.shared.table.record(self.id).gift;
        let given = gift.load(Relaxed);
        if given & GIVEN == 0 || (given & !GIVEN) >> 32 != u64::from(number) {
            return None;
        }
        gift.store(0, Relaxed);
        u32::try_from(given & u64::from(u32::MAX)).ok()
    }

    /// Begins a wait that an object may end.
    pub(crate) fn waiter(&mut self) -> Waiter {
        self.arm(Ender::Object)
    }
}

impl<M> Mpu<'_, M> {
    /// Which one it is, counted from 0.
    pub const fn index(&self) -> usize {
        self.core.index
    }

    /// The time, read at most once in a turn.
    pub fn now(&mut self) -> Time {
        if self.core.is_fresh { self.core.now } else { self.core.read_clock() }
    }

    /// The time, read anew.
    pub fn clock(&mut self) -> Time {
        self.core.read_clock()
    }

    /// How long this MPU has spun until deadlines.
    pub fn spun(&self) -> Duration {
        self.core.shared.units[self.core.index].account.spun()
    }

    /// Watches `fd` for this workload, which from now on stays on this MPU. When it
    /// *becomes* ready it ends a [`Wait::for_readiness`], so that the workload has to use it
    /// until it would block before it waits. It is watched until it is closed.
    ///
    /// # Errors
    /// What epoll_ctl(2) reports.
    pub fn watch(&mut self, fd: impl AsFd, interest: Interest) -> io::Result<()> {
        let token = self.core.watch_token;
        match self.core.epoll.add(&fd, interest, token) {
            // It was, when this workload, or another one, was scheduled before.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.core.epoll.modify(&fd, interest, token)?;
            }
            result => result?,
        }
        self.core.watched += 1;
        Ok(())
    }

    /// The same for a descriptor that comes and goes, beside one that this workload watches
    /// all along.
    ///
    /// # Errors
    /// What epoll_ctl(2) reports.
    pub fn watch_extra(&self, fd: impl AsFd, interest: Interest) -> io::Result<()> {
        self.core.epoll.add(&fd, interest, self.core.watch_token)
    }

    /// Watches `fd` no more.
    ///
    /// # Errors
    /// What epoll_ctl(2) reports, e.g. `ENOENT` if it was not watched.
    pub fn unwatch(&self, fd: impl AsFd) -> io::Result<()> {
        self.core.epoll.delete(fd)
    }

    /// Whether somebody sent this workload a signal since it asked last. Signals are one
    /// deep: several of them are one.
    pub fn signalled(&self) -> bool {
        let record = self.core.shared.table.record(self.core.id);
        record.signalled.load(SeqCst) && record.signalled.swap(false, SeqCst)
    }

    /// Takes a signal, or says how to wait for one; the workload then asks again.
    ///
    /// # Errors
    /// The wait to stall for.
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
        Err(Wait::for_object(Ticket::of(waiter)))
    }

    /// Adds a workload and schedules it: on this MPU, unless another one has nothing to do.
    /// Nobody can wait for it; it goes when it has finished. Cheaper than
    /// [`Workloads::spawn`].
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
        record.gift.store(0, Relaxed);
        record.state.store(state::BUSY | state::ABANDONED, Relaxed);
        self.core.newborn.push((id, Box::new(Typed(workload))));
    }

    /// The context's workloads, to add more.
    pub fn workloads(&self) -> Workloads {
        Workloads::new(Arc::clone(&self.core.shared))
    }
}
