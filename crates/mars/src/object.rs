//! What workloads wait for, beside descriptors and deadlines. The host may use the objects
//! too.

mod barrier;
mod event_flag;
mod queue;
mod semaphore;

pub use barrier::Barrier;
pub use event_flag::{Clearing, EventFlag, Masking};
pub use queue::Queue;
pub use semaphore::Semaphore;

use std::collections::VecDeque;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portable_atomic::AtomicUsize;

use crate::mpu::Mpu;
use crate::shared::Shared;
use crate::waiter::{Ticket, Waiter};
use crate::workload::Wait;

/// Workloads that wait for one object, the first one first.
#[derive(Debug)]
struct Line {
    shared: Arc<Shared>,
    /// Tells its gifts from those of other objects.
    number: u32,
    waiters: Mutex<VecDeque<Entry>>,
    /// At least the number of those who wait: whoever finds none takes no lock.
    length: AtomicUsize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    waiter: Waiter,
    /// What the object notes of the wait.
    note: u64,
    /// It goes on as soon as it is delivered.
    is_claimed: bool,
}

impl Line {
    fn new(shared: &Arc<Shared>) -> Self {
        Self {
            shared: Arc::clone(shared),
            // Below 2^31, as the gift's highest bit is taken.
            number: NUMBERS.fetch_add(1, Relaxed) & (u32::MAX >> 1),
            waiters: Mutex::default(),
            length: AtomicUsize::new(0),
        }
    }

    /// Whether nobody waits, nor thinks of it. To be asked after the object has changed.
    fn is_empty(&self) -> bool {
        fence(SeqCst);
        self.length.load(SeqCst) == 0
    }

    /// Lets one workload decide whether to wait: it looks at the object once more, and
    /// joins or goes.
    fn open(&self) -> Door<'_> {
        let waiters = self.waiters.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever changes the object from now on looks at the line afterwards.
        self.length.fetch_add(1, SeqCst);
        fence(SeqCst);
        Door { line: self, waiters, has_joined: false }
    }

    /// What this object gave the workload that runs, if it ended its last wait.
    fn take_gift<M>(&self, mpu: &Mpu<'_, M>) -> Option<u32> {
        mpu.core.take_gift(self.number)
    }

    fn gift(&self, value: u32) -> u64 {
        u64::from(self.number) << 32 | u64::from(value)
    }

    /// Wakes the first one that still waits, with `gift`; false: nobody did.
    fn wake_one(&self, gift: u32) -> bool {
        if self.is_empty() {
            return false;
        }
        let mut waiters = self.waiters.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(entry) = waiters.pop_front() {
            self.length.fetch_sub(1, SeqCst);
            if entry.waiter.wake(&self.shared, self.gift(gift)) {
                return true;
            }
        }
        false
    }

    /// Wakes all for whose notes `chosen` has a gift, and who still wait for it; nobody goes
    /// on before `given` has heard of each of them.
    fn wake_those(&self, mut chosen: impl FnMut(u64) -> Option<u32>, given: impl Fn(u64)) {
        if self.is_empty() {
            return;
        }
        let mut waiters = self.waiters.lock().unwrap_or_else(PoisonError::into_inner);
        for entry in waiters.iter_mut() {
            entry.is_claimed = chosen(entry.note)
                .is_some_and(|gift| entry.waiter.claim(&self.shared, self.gift(gift)));
            if entry.is_claimed {
                given(entry.note);
            }
        }
        let before = waiters.len();
        let claimed = waiters.iter().filter(|entry| entry.is_claimed);
        self.shared.deliver_all(claimed.map(|entry| entry.waiter.id));
        waiters.retain(|entry| !entry.is_claimed);
        self.length.fetch_sub(before - waiters.len(), SeqCst);
    }

    /// Wakes all, each with `gift`.
    fn wake_all(&self, gift: u32) {
        self.wake_those(|_| Some(gift), |_| {});
    }
}

/// A line that nobody else changes. Nothing that opens another line may be done in it.
struct Door<'a> {
    line: &'a Line,
    waiters: MutexGuard<'a, VecDeque<Entry>>,
    /// It stays counted.
    has_joined: bool,
}

impl Door<'_> {
    /// Lets the workload that runs wait, behind all others.
    fn join<M>(&mut self, mpu: &mut Mpu<'_, M>, note: u64) -> Wait {
        self.make_room();
        let waiter = mpu.core.waiter();
        self.has_joined = true;
        self.waiters.push_back(Entry { waiter, note, is_claimed: false });
        Wait::for_object(Ticket::of(waiter))
    }

    /// Lets the workload that runs wait before all others: it has waited already.
    fn rejoin<M>(&mut self, mpu: &mut Mpu<'_, M>) -> Wait {
        self.make_room();
        let waiter = mpu.core.waiter();
        self.has_joined = true;
        self.waiters.push_front(Entry { waiter, note: 0, is_claimed: false });
        Wait::for_object(Ticket::of(waiter))
    }

    /// Whether nobody waits before the workload that thinks of it.
    fn is_first(&self) -> bool {
        self.waiters.is_empty()
    }

    /// Before it grows: drops those whose deadlines have ended their waits.
    fn make_room(&mut self) {
        if self.waiters.len() < self.waiters.capacity() {
            return;
        }
        let (before, table) = (self.waiters.len(), &self.line.shared.table);
        self.waiters.retain(|entry| {
            let turnstile = &table.record(entry.waiter.id).turnstile;
            turnstile.waiting() == Some(entry.waiter.token)
        });
        self.line.length.fetch_sub(before - self.waiters.len(), SeqCst);
        let more = self.waiters.len() + 1;
        self.waiters.reserve(more);
    }
}

impl Drop for Door<'_> {
    fn drop(&mut self) {
        if !self.has_joined {
            self.line.length.fetch_sub(1, SeqCst);
        }
    }
}

static NUMBERS: AtomicU32 = AtomicU32::new(0);
