//! A number of bytes or datagrams that all streams of a direction share.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering::Relaxed;

use linux::event::Wake;
use portable_atomic::AtomicU64;

/// What senders have left to send. A stream takes its part before it sends.
#[derive(Debug)]
pub struct Budget {
    limit: u64,
    taken: AtomicU64,
}

impl Budget {
    /// A budget of `limit` units.
    pub const fn new(limit: u64) -> Self {
        Self { limit, taken: AtomicU64::new(0) }
    }

    /// Takes up to `wanted`; 0: nothing is left.
    pub fn take(&self, wanted: u64) -> u64 {
        // Whoever gets 0 stops asking, so that the sum stays far from wrapping.
        let before = self.taken.fetch_add(wanted, Relaxed);
        self.limit.saturating_sub(before).min(wanted)
    }
}

/// What receivers are to receive. Becomes readable when they have.
#[derive(Debug)]
pub struct Goal {
    limit: u64,
    received: AtomicU64,
    reached: Wake,
}

impl Goal {
    /// A goal of `limit` bytes.
    ///
    /// # Errors
    /// What the kernel reports, e.g. too many open files.
    pub fn new(limit: u64) -> io::Result<Self> {
        Ok(Self { limit, received: AtomicU64::new(0), reached: Wake::new()? })
    }

    /// `bytes` more came.
    pub fn credit(&self, bytes: u64) {
        let before = self.received.fetch_add(bytes, Relaxed);
        if before < self.limit && before + bytes >= self.limit {
            self.reached.notify();
        }
    }

    /// Whether all came.
    pub fn is_reached(&self) -> bool {
        self.received.load(Relaxed) >= self.limit
    }
}

impl AsFd for Goal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reached.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_handed_out_than_there_is() {
        let budget = Budget::new(10);
        assert_eq!((budget.take(7), budget.take(7), budget.take(7)), (7, 3, 0));
    }

    #[test]
    fn a_goal_is_reached_by_the_sum_of_its_parts() {
        let goal = Goal::new(10).expect("eventfd");
        goal.credit(6);
        assert!(!goal.is_reached());
        goal.credit(6);
        assert!(goal.is_reached());
    }
}
