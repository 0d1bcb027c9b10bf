//! State that the host and all MPUs of a context share.

use std::any::TypeId;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize};
use std::sync::{Mutex, PoisonError};

use linux::event::EventFd;

use crate::account::Account;
use crate::atomic::{AtomicU32, fence};
use crate::inbox::Inbox;
use crate::ready::{Links, NONE, Ready};
use crate::sleep_state::{SleepOn, SleepState};
use crate::table::{Body, Table, state};
use crate::workload::{Ending, Module, Placement, Priority, Workload};

/// The shared state of one context.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) table: Table,
    /// Workloads that any MPU may take.
    pub(crate) queue: SharedQueue,
    pub(crate) units: Box<[Unit]>,
    /// Number of MPUs that sleep, or were woken and have not run since.
    pub(crate) idle: AtomicUsize,
    /// Whether the last MPU that was woken for the queue found too little there.
    pub(crate) woken_in_vain: AtomicBool,
    /// Incremented when a workload is unscheduled; every MPU then looks for it.
    pub(crate) revocations: AtomicU32,
    pub(crate) stopping: AtomicBool,
    /// The thread that runs what tasks call on the host.
    #[cfg(feature = "tasks")]
    pub(crate) host_calls: crate::host_calls::HostCalls,
    #[cfg(feature = "tasks")]
    pub(crate) local_stores: crate::local_store::LocalStores,
    /// The modules of the kinds of workloads.
    pub(crate) kinds: Box<[TypeId]>,
}

/// The shared state of one MPU.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) inbox: Inbox,
    pub(crate) sleep_state: SleepState,
    /// Wakes it from epoll_wait(2).
    pub(crate) wake: EventFd,
    pub(crate) account: Account,
    /// Number of workloads that stay here ([`Mpu::stay`](crate::Mpu::stay)).
    pub(crate) settled: AtomicU32,
}

impl Unit {
    /// Wakes the MPU if it sleeps. Returns whether it did.
    pub(crate) fn wake_if_asleep(&self) -> bool {
        match self.sleep_state.wake_if_asleep() {
            None => return false,
            Some(SleepOn::Futex) => linux::futex::wake(self.sleep_state.word().0, 1),
            Some(SleepOn::Epoll) => self.wake.notify(),
        }
        true
    }
}

impl Shared {
    /// The index of the module of a kind of workload.
    pub(crate) fn kind_of<W: Workload>(&self) -> u16 {
        let wanted = TypeId::of::<W::Module>();
        let kind = self.kinds.iter().position(|module| *module == wanted);
        let kind = kind.unwrap_or_else(|| panic!("the context has no module {}", W::Module::NAME));
        u16::try_from(kind).expect("few modules")
    }

    /// Schedules a workload that is in its cell and not scheduled. `holder` is 0 or
    /// [`state::ABANDONED`].
    ///
    /// # Panics
    /// If there is no such MPU.
    pub(crate) fn schedule(&self, id: u32, priority: Priority, placement: Placement, holder: u32) {
        if let Placement::Mpu(index) = placement {
            assert!(index < self.units.len(), "the context has no MPU {index}");
        }
        let record = self.table.record(id);
        record.priority.store(priority.0, Relaxed);
        record.signalled.store(false, Relaxed);
        record.pinned.store(placement != Placement::Anywhere, Relaxed);
        let home = match placement {
            Placement::Anywhere => NONE,
            Placement::Mpu(index) => u32::try_from(index).unwrap_or(NONE),
        };
        record.home.store(home, Release);
        record.wake_value.store(0, Relaxed);
        record.state.store(state::BUSY | holder, SeqCst);
        // The thread that stops the context looks for busy workloads afterwards.
        if self.stopping.load(SeqCst) {
            return self.conclude(id, Ending::Unscheduled);
        }
        self.deliver(id);
    }

    /// Delivers a workload that can continue: to its home MPU; if it has none to the MPU of this
    /// thread, which looks for it after this turn, or else to the shared queue.
    pub(crate) fn deliver(&self, id: u32) {
        let record = self.table.record(id);
        let home = self.units.get(record.home.load(Acquire) as usize);
        match (home, self.own_unit()) {
            (Some(home), Some(own)) if std::ptr::eq(home, own) => {
                own.inbox.put_own(id, &record.link);
            }
            (None, Some(own)) => own.inbox.put_own(id, &record.link),
            (Some(home), _) => {
                home.inbox.put(id, &record.link);
                home.wake_if_asleep();
            }
            (None, None) => self.offer(id),
        }
    }

    /// Marks this thread as that of an MPU.
    pub(crate) fn enter_unit(&self, index: usize) {
        OWN_UNIT.set((std::ptr::from_ref(self).addr(), index));
    }

    /// Marks this thread, whose MPU has ended, as one of the host.
    pub(crate) fn leave_unit() {
        OWN_UNIT.set((0, 0));
    }

    /// The MPU whose thread this is; none: it is of the host, or of another context.
    fn own_unit(&self) -> Option<&Unit> {
        let (shared, index) = OWN_UNIT.get();
        (shared == std::ptr::from_ref(self).addr()).then(|| &self.units[index])
    }

    /// Delivers several workloads that can continue, in batches.
    pub(crate) fn deliver_all(&self, ids: impl Iterator<Item = u32>) {
        let (mut offers, mut count) = ([NONE; MOST_OFFERED], 0);
        let mut ids = ids.peekable();
        while let Some(id) = ids.next() {
            if ids.peek().is_none() && count == 0 {
                return self.deliver(id);
            }
            if self.table.record(id).home.load(Acquire) != NONE {
                self.deliver(id);
                continue;
            }
            offers[count] = id;
            count += 1;
            if count == MOST_OFFERED {
                self.offer_all(&offers);
                count = 0;
            }
        }
        self.offer_all(&offers[..count]);
    }

    /// Puts a workload, which is in its cell, into the shared queue, and wakes a sleeping
    /// MPU.
    pub(crate) fn offer(&self, id: u32) {
        self.offer_all(&[id]);
    }

    /// Whether an MPU sleeps that nobody has woken.
    pub(crate) fn any_asleep(&self) -> bool {
        self.idle.load(Relaxed) > 0 && self.units.iter().any(|unit| unit.sleep_state.is_asleep())
    }

    /// Puts several workloads, which are in their cells, into the shared queue, and wakes
    /// as many sleeping MPUs.
    pub(crate) fn offer_all(&self, ids: &[u32]) {
        self.queue.push(ids, &self.table);
        // An MPU that goes to sleep counts as idle first, and reads the queue afterwards.
        fence(SeqCst);
        if self.idle.load(SeqCst) > 0 {
            let sleepers = self.units.iter().filter(|unit| unit.wake_if_asleep());
            sleepers.take(ids.len()).for_each(drop);
        }
    }

    /// Ends a workload: its body returns to its cell, or is dropped if it has no handle.
    pub(crate) fn end(&self, id: u32, body: Body, ending: Ending) {
        let record = self.table.record(id);
        record.slot.store(NONE, Relaxed);
        if record.state.load(Acquire) & state::ABANDONED == 0 {
            *record.cell.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
        } else {
            drop_quietly(body);
        }
        self.conclude(id, ending);
    }

    /// Ends a workload that is in its cell. If several threads do so at once, one of them
    /// does.
    pub(crate) fn conclude(&self, id: u32, ending: Ending) {
        let record = self.table.record(id);
        let how = match ending {
            Ending::Finished => 0,
            Ending::Unscheduled => state::CUT_SHORT,
            Ending::Panicked => state::PANICKED,
        };
        if how != 0 {
            record.state.fetch_or(how, Relaxed);
        }
        let ended = state::BUSY | state::AWAITED | state::UNSCHEDULED;
        let before = record.state.fetch_and(!ended, SeqCst);
        if before & state::BUSY == 0 {
            return;
        }
        if before & state::AWAITED != 0 {
            linux::futex::wake(&record.state, u32::MAX);
            let mut followers = record.followers.lock().unwrap_or_else(PoisonError::into_inner);
            followers.drain(..).for_each(|follower| _ = follower.wake(self, 0));
        }
        if before & state::ABANDONED != 0 {
            let body = self.take(id);
            if let Some(body) = body {
                drop_quietly(body);
            }
            self.release(id);
        }
    }

    /// Drops a workload that is not scheduled and has no handle any more.
    pub(crate) fn forget(&self, id: u32) {
        let body = self.take(id);
        self.release(id);
        drop(body);
    }

    fn take(&self, id: u32) -> Option<Body> {
        self.table.record(id).cell.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn release(&self, id: u32) {
        self.table.record(id).state.store(0, Relaxed);
        self.table.release(id);
    }

    /// Marks a workload so that it does not run again, and wakes the MPU that has to end
    /// it.
    pub(crate) fn unschedule(&self, id: u32) {
        let record = self.table.record(id);
        let mut now = record.state.load(Acquire);
        loop {
            if now & state::BUSY == 0 {
                return;
            }
            let revoked = now | state::UNSCHEDULED;
            match record.state.compare_exchange_weak(now, revoked, SeqCst, Acquire) {
                Ok(_) => break,
                Err(other) => now = other,
            }
        }
        // An MPU that parks a workload as it begins to wait reads the state afterwards.
        fence(SeqCst);
        if let Some(token) = record.wait_token.waiting()
            && record.wait_token.claim(token)
        {
            self.deliver(id);
        }
        self.revocations.fetch_add(1, SeqCst);
        self.wake_all_units();
    }

    /// Ends the workloads that no MPU had fetched, after the MPUs have stopped.
    pub(crate) fn unschedule_the_rest(&self) {
        for id in 0..self.table.len() {
            let record = self.table.record(id);
            if record.state.load(SeqCst) & state::BUSY != 0 {
                // No object is to let it go on any more.
                record.wait_token.waiting().map(|token| record.wait_token.claim(token));
                self.conclude(id, Ending::Unscheduled);
            }
        }
    }

    pub(crate) fn stop(&self) {
        self.stopping.store(true, SeqCst);
        self.wake_all_units();
    }

    pub(crate) fn wake_all_units(&self) {
        self.units.iter().for_each(|unit| _ = unit.wake_if_asleep());
    }
}

/// The shared queue, from which MPUs pull by priority, then age. It is on cache lines of
/// its own, since all MPUs write it.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct SharedQueue {
    ready: Mutex<Ready>,
    /// The highest priority in it, plus one; 0: it is empty.
    highest: AtomicU16,
}

impl SharedQueue {
    pub(crate) fn highest(&self) -> Option<u8> {
        self.highest.load(SeqCst).checked_sub(1).and_then(|priority| u8::try_from(priority).ok())
    }

    fn push(&self, ids: &[u32], table: &Table) {
        if ids.is_empty() {
            return;
        }
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        for id in ids {
            let priority = table.record(*id).priority.load(Relaxed);
            ready.push(*id, priority, &mut RecordLinks(table));
        }
        self.publish(&ready);
    }

    pub(crate) fn pull(&self, table: &Table) -> Option<u32> {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let id = ready.pop(&mut RecordLinks(table));
        self.publish(&ready);
        id
    }

    fn publish(&self, ready: &Ready) {
        let highest = ready.highest().map_or(0, |priority| u16::from(priority) + 1);
        if self.highest.load(Relaxed) != highest {
            self.highest.store(highest, SeqCst);
        }
    }
}

/// Drops a workload and ignores a panic of its `Drop`, which no caller could handle.
pub(crate) fn drop_quietly(body: Body) {
    _ = catch_unwind(AssertUnwindSafe(|| drop(body)));
}

thread_local! {
    /// Address of the shared state, and index, of the MPU whose thread this is; an address of
    /// zero: it is of the host.
    static OWN_UNIT: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// Number of workloads that are put into the shared queue at once.
pub(crate) const MOST_OFFERED: usize = 64;

struct RecordLinks<'a>(&'a Table);

impl Links for RecordLinks<'_> {
    fn next(&self, id: u32) -> u32 {
        self.0.record(id).link.load(Relaxed)
    }

    fn link(&mut self, id: u32, next: u32) {
        self.0.record(id).link.store(next, Relaxed);
    }
}
