//! The inbox of an MPU: any thread adds workloads, the MPU takes all at once. What the MPU itself
//! adds is in a stack of its own, which needs no atomic exchange.
//!
//! Each is a stack linked through the records of its members (Treiber, "Systems programming:
//! coping with parallelism", 1986). Since the one of the others is only ever emptied as a whole, the ABA
//! problem does not arise. A member must not be added again before it has been taken.

use crate::atomic::AtomicU32;
use crate::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::ready::NONE;

/// The heads of the stacks.
#[derive(Debug)]
pub(crate) struct Inbox {
    /// Head of the stack of what other threads have added.
    head: AtomicU32,
    /// Head of the stack of what the MPU itself has added. Only its thread uses it.
    own: AtomicU32,
}

impl Default for Inbox {
    fn default() -> Self {
        Self { head: AtomicU32::new(NONE), own: AtomicU32::new(NONE) }
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

    /// Adds `id`, whose link is `link`. Only the MPU's own thread calls this.
    pub(crate) fn put_own(&self, id: u32, link: &AtomicU32) {
        link.store(self.own.load(Relaxed), Relaxed);
        self.own.store(id, Relaxed);
    }

    /// Whether the inbox is empty. Only the MPU's own thread calls this.
    pub(crate) fn is_empty(&self) -> bool {
        self.own.load(Relaxed) == NONE && self.head.load(Acquire) == NONE
    }

    /// Takes all that other threads have added, and returns the one that was added first; the others
    /// follow through their links. `link` finds the link of a member.
    pub(crate) fn take<'a>(&self, link: impl Fn(u32) -> &'a AtomicU32) -> u32 {
        match self.head.load(Relaxed) {
            NONE => NONE,
            _ => reversed(self.head.swap(NONE, AcqRel), link),
        }
    }

    /// Takes all that the MPU itself has added, as [`Self::take`] does.
    pub(crate) fn take_own<'a>(&self, link: impl Fn(u32) -> &'a AtomicU32) -> u32 {
        let last = self.own.load(Relaxed);
        self.own.store(NONE, Relaxed);
        reversed(last, link)
    }
}

/// Turns round the list that begins with `id`; returns its new first member.
fn reversed<'a>(mut id: u32, link: impl Fn(u32) -> &'a AtomicU32) -> u32 {
    let mut behind = NONE;
    while id != NONE {
        let next = link(id).load(Relaxed);
        link(id).store(behind, Relaxed);
        (behind, id) = (id, next);
    }
    behind
}
