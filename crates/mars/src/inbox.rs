//! Workloads that one MPU is to look at: anybody puts them in, the MPU takes all.
//!
//! A stack whose members are linked through their own records (Treiber, "Systems
//! programming: coping with parallelism", 1986). Since it is only ever emptied as a whole,
//! the ABA problem does not arise. A member must not be put in again before it was taken.

use crate::atomic::AtomicU32;
use crate::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::ready::NONE;

/// The stack's head.
#[derive(Debug)]
pub(crate) struct Inbox {
    head: AtomicU32,
}

impl Default for Inbox {
    fn default() -> Self {
        Self { head: AtomicU32::new(NONE) }
    }
}

impl Inbox {
    /// Puts `id` in, whose link is `link`.
    pub(crate) fn put(&self, id: u32, link: &AtomicU32) {
        let mut head = self.head.load(Relaxed);
        loop {
            link.store(head, Relaxed);
            match self.head.compare_exchange_weak(head, id, Release, Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Whether nothing is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.head.load(Acquire) == NONE
    }

    /// Takes all and returns the one that was put in first; the others follow behind it.
    /// `link` finds a member's link.
    pub(crate) fn take<'a>(&self, link: impl Fn(u32) -> &'a AtomicU32) -> u32 {
        let mut id = self.head.swap(NONE, AcqRel);
        let mut behind = NONE;
        while id != NONE {
            let next = link(id).load(Relaxed);
            link(id).store(behind, Relaxed);
            (behind, id) = (id, next);
        }
        behind
    }
}
