//! Event flags: thirty-two bits that workloads and host threads wait for.

use std::cell::Cell;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use crate::context::Workloads;
use crate::futex_event::FutexEvent;
use crate::mpu::Mpu;
use crate::object::{WaitList, WaitListGuard};
use crate::workload::Wait;

/// Thirty-two bits that some threads or workloads set and others wait for.
///
/// Setting takes no lock while no workload waits. It makes no system call unless a workload that it
/// wakes is on a sleeping MPU (worker thread).
#[derive(Debug)]
pub struct EventFlag {
    bits: AtomicU32,
    clearing: Clearing,
    waiters: WaitList,
    changed: FutexEvent,
}

/// Whether a wait that succeeds clears the bits that it waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clearing {
    /// A wait that succeeds clears all of its mask. One call of [`EventFlag::set`] ends the
    /// waits of all that wait then.
    Automatic,
    /// Only [`EventFlag::clear`] clears bits.
    Manual,
}

/// Whether a wait needs one bit of its mask, or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Masking {
    /// At least one. An empty mask waits for ever.
    Any,
    /// All. An empty mask does not wait.
    All,
}

impl Masking {
    const fn is_met(self, bits: u32, mask: u32) -> bool {
        match self {
            Self::Any => bits & mask != 0,
            Self::All => bits & mask == mask,
        }
    }
}

impl EventFlag {
    /// An event flag for the workloads of one context, with all bits cleared.
    pub fn new(workloads: &Workloads, clearing: Clearing) -> Self {
        let waiters = WaitList::new(&workloads.shared);
        Self { bits: AtomicU32::new(0), clearing, waiters, changed: FutexEvent::default() }
    }

    /// Whether a workload or a host thread waits for this object.
    pub fn is_awaited(&self) -> bool {
        self.waiters.is_awaited() || self.changed.is_awaited()
    }

    /// The current value of the bits.
    pub fn bits(&self) -> u32 {
        self.bits.load(SeqCst)
    }

    /// Sets `bits` and ends all waits whose condition (mask and [`Masking`]) is now met.
    pub fn set(&self, bits: u32) {
        self.bits.fetch_or(bits, SeqCst);
        if !self.waiters.is_empty_in_order() {
            self.release();
        }
        self.changed.notify_in_order();
    }

    /// Ends the waits whose condition is met.
    fn release(&self) {
        let seen = Cell::new(None);
        let release = |note| {
            // Bits that are set from now on are for later waits. Bits that waits which did not
            // have to stall took until now are gone.
            let now = seen.get().unwrap_or_else(|| self.bits());
            seen.set(Some(now));
            let (mask, masking) = read(note);
            masking.is_met(now, mask).then_some(now)
        };
        self.waiters.wake_those(release, |note| self.take(read(note).0));
    }

    /// Clears the bits that were waited for if clearing is automatic. The caller holds the
    /// wait list, so that bits which were seen there stay until they are handed over.
    fn take(&self, bits: u32) {
        if self.clearing == Clearing::Automatic {
            self.bits.fetch_and(!bits, SeqCst);
        }
    }

    /// Clears `bits`. It ends no wait.
    pub fn clear(&self, bits: u32) {
        self.bits.fetch_and(!bits, SeqCst);
    }

    /// Returns the value of all bits if those of `mask` are set as `masking` demands, else `None`.
    /// With [`Clearing::Automatic`] the bits of `mask` are then cleared. It does not wait.
    pub fn try_wait(&self, mask: u32, masking: Masking) -> Option<u32> {
        let now = self.bits();
        if !masking.is_met(now, mask) {
            return None;
        }
        match self.clearing {
            Clearing::Manual => Some(now),
            Clearing::Automatic => self.look(&self.waiters.lock_list_in_order(), mask, masking),
        }
    }

    /// Returns all bits if the condition holds, and then clears the mask if clearing is
    /// automatic. The guard shows that the caller holds the wait list.
    fn look(&self, _waiters: &WaitListGuard<'_>, mask: u32, masking: Masking) -> Option<u32> {
        let now = self.bits();
        let is_met = masking.is_met(now, mask);
        is_met.then(|| {
            self.take(mask);
            now
        })
    }

    /// Waits until the bits of `mask` are set as `masking` demands; returns the value of all bits.
    ///
    /// # Errors
    /// They are not set. The workload returns [`Next::Stalled`](crate::Next::Stalled) with this
    /// wait, and calls this again in its next turn.
    pub fn wait<M>(&self, mpu: &mut Mpu<'_, M>, mask: u32, masking: Masking) -> Result<u32, Wait> {
        // The wake_value may be for a wait of before, which was for other bits.
        let wake_value =
            self.waiters.take_wake_value(mpu).filter(|bits| masking.is_met(*bits, mask));
        if let Some(bits) = wake_value.or_else(|| self.try_wait(mask, masking)) {
            return Ok(bits);
        }
        let mut waiters = self.waiters.lock_list_in_order();
        match self.look(&waiters, mask, masking) {
            Some(bits) => Ok(bits),
            None => Err(waiters.join(mpu, note(mask, masking))),
        }
    }

    /// Blocks a host thread (not a worker thread of the runtime) until the bits of `mask` are set as `masking`
    /// demands; returns the value of all bits. `None`: they were not set within `span` (`None`:
    /// without limit).
    pub fn wait_on_host(&self, mask: u32, masking: Masking, span: Option<Duration>) -> Option<u32> {
        self.changed.wait_until(span, || self.try_wait(mask, masking))
    }
}

fn note(mask: u32, masking: Masking) -> u64 {
    u64::from(mask) << 1 | u64::from(masking == Masking::All)
}

fn read(note: u64) -> (u32, Masking) {
    let masking = if note & 1 == 1 { Masking::All } else { Masking::Any };
    (u32::try_from(note >> 1).unwrap_or(0), masking)
}
