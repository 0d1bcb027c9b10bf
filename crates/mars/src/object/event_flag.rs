//! Thirty-two bits that workloads and hosts wait for.

use std::cell::Cell;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use crate::bell::Bell;
use crate::context::Workloads;
use crate::mpu::Mpu;
use crate::object::{Door, Line};
use crate::workload::Wait;

/// Bits that are set by some and waited for by others.
///
/// Setting takes no lock while no workload waits, and no system call while none of those
/// that it lets go on is on a sleeping MPU.
#[derive(Debug)]
pub struct EventFlag {
    bits: AtomicU32,
    clearing: Clearing,
    line: Line,
    bell: Bell,
}

/// Who clears the bits that were waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clearing {
    /// The wait that succeeds, all of its mask. One setting lets all go on that wait then.
    Automatic,
    /// Nobody but [`EventFlag::clear`].
    Manual,
}

/// Which bits of a mask must be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Masking {
    /// At least one of them. An empty mask waits for ever.
    Any,
    /// All of them. An empty mask does not wait.
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
    /// A flag for the workloads of one context, all bits cleared.
    pub fn new(workloads: &Workloads, clearing: Clearing) -> Self {
        let line = Line::new(&workloads.shared);
        Self { bits: AtomicU32::new(0), clearing, line, bell: Bell::default() }
    }

    /// The bits now.
    pub fn bits(&self) -> u32 {
        self.bits.load(SeqCst)
    }

    /// Sets `bits` and lets all go on whose condition now holds.
    pub fn set(&self, bits: u32) {
        self.bits.fetch_or(bits, SeqCst);
        let seen = Cell::new(None);
        let release = |note| {
            // What is set from now on is for others; what was taken until now, by some who
            // did not have to wait, is gone.
            let now = seen.get().unwrap_or_else(|| self.bits());
            seen.set(Some(now));
            let (mask, masking) = read(note);
            masking.is_met(now, mask).then_some(now)
        };
        self.line.wake_those(release, |note| self.take(read(note).0));
        self.bell.ring();
    }

    /// Clears what was waited for if that is automatic. Only who holds the line does, so
    /// that bits which are seen there stay until they are given.
    fn take(&self, bits: u32) {
        if self.clearing == Clearing::Automatic {
            self.bits.fetch_and(!bits, SeqCst);
        }
    }

    /// Clears `bits`, which lets nobody go on.
    pub fn clear(&self, bits: u32) {
        self.bits.fetch_and(!bits, SeqCst);
    }

    /// The bits as they are if the condition holds; clears the mask if that is automatic.
    pub fn try_wait(&self, mask: u32, masking: Masking) -> Option<u32> {
        let now = self.bits();
        if !masking.is_met(now, mask) {
            return None;
        }
        match self.clearing {
            Clearing::Manual => Some(now),
            Clearing::Automatic => self.look(&self.line.open(), mask, masking),
        }
    }

    /// The same for who holds the line.
    fn look(&self, _door: &Door<'_>, mask: u32, masking: Masking) -> Option<u32> {
        let now = self.bits();
        let is_met = masking.is_met(now, mask);
        is_met.then(|| {
            self.take(mask);
            now
        })
    }

    /// The bits that let the workload go on.
    ///
    /// # Errors
    /// The wait to stall for; the workload then asks again.
    pub fn wait<M>(&self, mpu: &mut Mpu<'_, M>, mask: u32, masking: Masking) -> Result<u32, Wait> {
        // The gift may be for a wait of before, which was for other bits.
        let gift = self.line.take_gift(mpu).filter(|bits| masking.is_met(*bits, mask));
        if let Some(bits) = gift.or_else(|| self.try_wait(mask, masking)) {
            return Ok(bits);
        }
        let mut door = self.line.open();
        match self.look(&door, mask, masking) {
            Some(bits) => Ok(bits),
            None => Err(door.join(mpu, note(mask, masking))),
        }
    }

    /// The same for a host thread, for `span` at the most (none: for ever).
    pub fn wait_on_host(&self, mask: u32, masking: Masking, span: Option<Duration>) -> Option<u32> {
        self.bell.listen(span, || self.try_wait(mask, masking))
    }
}

fn note(mask: u32, masking: Masking) -> u64 {
    u64::from(mask) << 1 | u64::from(masking == Masking::All)
}

fn read(note: u64) -> (u32, Masking) {
    let masking = if note & 1 == 1 { Masking::All } else { Masking::Any };
    (u32::try_from(note >> 1).unwrap_or(0), masking)
}
