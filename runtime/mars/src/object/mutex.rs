//! A lock that one workload or thread holds at a time.

use std::hint::spin_loop;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::Duration;

use crate::context::Workloads;
use crate::futex_event::FutexEvent;
use crate::mpu::Mpu;
use crate::object::WaitList;
use crate::workload::Wait;

/// A lock for workloads and threads. A workload that runs may take it before one that was woken for it,
/// so that the lock is not idle until that one runs; who has been overtaken 16 times gets it next. A
/// [`Semaphore`](crate::Semaphore) with one token goes to whoever has waited longest, each time.
#[derive(Debug)]
pub struct Mutex {
    /// [`LOCKED`] and [`WOKEN`].
    state: AtomicU32,
    /// How often those that were woken found it locked, since one of them had it.
    misses: AtomicU32,
    waiters: WaitList,
    changed: FutexEvent,
}

impl Mutex {
    /// An unlocked lock for the workloads of one context.
    pub fn new(workloads: &Workloads) -> Self {
        Self {
            state: AtomicU32::new(0),
            misses: AtomicU32::new(0),
            waiters: WaitList::new(&workloads.shared),
            changed: FutexEvent::default(),
        }
    }

    /// Whether a workload or a host thread waits for this object.
    pub fn is_awaited(&self) -> bool {
        self.waiters.is_awaited() || self.changed.is_awaited()
    }

    /// Whether someone holds it.
    pub fn is_locked(&self) -> bool {
        self.state.load(SeqCst) & LOCKED != 0
    }

    /// Takes the lock without waiting; false if someone holds it.
    pub fn try_lock(&self) -> bool {
        !self.is_locked() && self.state.fetch_or(LOCKED, SeqCst) & LOCKED == 0
    }

    /// As [`Self::try_lock`]; looks for some hundred nanoseconds, in which a holder that runs may
    /// unlock it.
    fn try_for_a_while(&self) -> bool {
        (0..LOOKS).any(|_| {
            let is_ours = self.try_lock();
            if !is_ours {
                spin_loop();
            }
            is_ours
        })
    }

    /// Takes the lock.
    ///
    /// # Errors
    /// Someone holds it. The workload returns [`Next::Stalled`](crate::Next::Stalled) with this wait,
    /// and calls this again in its next turn; if it does not, the lock may stay locked.
    pub fn lock<M>(&self, mpu: &mut Mpu<'_, M>) -> Result<(), Wait> {
        let woken = self.waiters.take_wake_value(mpu);
        match woken {
            Some(HANDED_OVER) => return Ok(()),
            Some(_) => _ = self.state.fetch_and(!WOKEN, SeqCst),
            None => {}
        }
        if self.try_for_a_while() {
            if woken.is_some() {
                self.misses.store(0, Relaxed);
            }
            return Ok(());
        }
        let mut waiters = self.waiters.lock_list_in_order();
        if self.try_lock() {
            return Ok(());
        }
        if woken.is_none() {
            return Err(waiters.join(mpu, 0));
        }
        self.misses.fetch_add(1, Relaxed);
        Err(waiters.rejoin(mpu))
    }

    /// Takes the lock on a host thread (not a worker thread of the runtime), which blocks while
    /// someone holds it, at most for `span` (`None`: without limit). Returns false if it did not get
    /// it.
    pub fn lock_on_host(&self, span: Option<Duration>) -> bool {
        self.changed.wait_until(span, || self.try_lock().then_some(())).is_some()
    }

    /// Unlocks it. Who holds it may do so, from any workload or thread.
    pub fn unlock(&self) {
        if self.misses.load(Relaxed) >= MOST_MISSES {
            self.misses.store(0, Relaxed);
            if self.waiters.wake_one_in_order(HANDED_OVER) {
                return;
            }
        }
        let before = self.state.fetch_and(!LOCKED, SeqCst);
        // One that is woken wakes the next as it unlocks, or waits again in view of the holder.
        if before & WOKEN == 0 && !self.waiters.is_empty_in_order() {
            self.wake();
        }
        self.changed.notify_in_order();
    }

    fn wake(&self) {
        while self.state.fetch_or(WOKEN, SeqCst) & WOKEN == 0
            && !self.waiters.wake_one_in_order(WOKEN)
        {
            // Who unlocked it meanwhile took the mark for a workload that was woken, and woke none.
            let before = self.state.fetch_and(!WOKEN, SeqCst);
            if before & LOCKED != 0 || self.waiters.is_empty_in_order() {
                return;
            }
        }
    }
}

/// Someone holds it.
const LOCKED: u32 = 1;
/// A workload was woken for it and has not looked since.
const WOKEN: u32 = 2;
/// The wake value of one that holds it already.
const HANDED_OVER: u32 = 0;
/// So often are those that wait overtaken after they were woken.
const MOST_MISSES: u32 = 16;
/// How often a workload looks before it waits.
const LOOKS: u32 = 16;
