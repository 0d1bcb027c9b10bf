//! The inbox of an MPU: any thread adds workloads, the MPU takes all at once.
//!
//! It is a stack linked through the records of its members (Treiber, "Systems programming:
//! coping with parallelism", 1986). Since it is only ever emptied as a whole, the ABA
//! problem does not arise. A member must not be added again before it has been taken.

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
    /// Adds `id`, whose link is `link`.
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

    /// Whether the inbox is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.head.load(Acquire) == NONE
    }

    /// Takes all members and returns the one that was added first; the others follow
    /// through their links. `link` finds the link of a member.
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
