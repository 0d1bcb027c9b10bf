//! Amounts of bytes or datagrams that all streams of a direction share: [`Budget`] for
//! senders, [`Goal`] for receivers.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::Duration;

use linux::event::EventFd;
use portable_atomic::AtomicU64;

/// The bytes (TCP) or datagrams (UDP) that all senders of one direction of a test may still send. A
/// stream takes a part of them before it sends.
#[derive(Debug)]
pub struct Budget {
    units: u64,
    limit: AtomicU64,
    taken: AtomicU64,
}

impl Budget {
    /// A budget of `units` (bytes over TCP, datagrams over UDP) that counts from the start of the
    /// test.
    pub const fn new(units: u64) -> Self {
        Self { units, limit: AtomicU64::new(units), taken: AtomicU64::new(0) }
    }

    /// A budget of `units` (bytes over TCP, datagrams over UDP) that counts from the call of
    /// [`Self::begin`] on, at the end of the omitted start of the test. Before that it is
    /// unlimited.
    pub const fn deferred(units: u64) -> Self {
        Self { units, limit: AtomicU64::new(UNLIMITED), taken: AtomicU64::new(0) }
    }

    /// Hands out nothing until [`Self::begin`]: while the omitted units are counted, senders could
    /// send more than the whole budget.
    pub fn hold(&self) {
        self.limit.store(HELD, Relaxed);
    }

    /// Begins to count a [deferred](Self::deferred) budget: its units follow the first `omitted`.
    pub fn begin(&self, omitted: u64) {
        self.limit.store(omitted.saturating_add(self.units).min(HELD - 1), Relaxed);
    }

    /// Takes up to `wanted` units (bytes or datagrams) and returns how many it took; 0: none is
    /// left. `None`: the budget is on [hold](Self::hold), and the stream asks again.
    pub fn take(&self, wanted: u64) -> Option<u64> {
        if self.limit.load(Relaxed) == HELD {
            return None;
        }
        // A stream that gets 0 ends, so that the sum stays far from wrapping.
        let before = self.taken.fetch_add(wanted, Relaxed);
        Some(self.limit.load(Relaxed).saturating_sub(before).min(wanted))
    }
}

/// Time after which a stream asks a budget on hold again.
pub(crate) const HOLD_RETRY: Duration = Duration::from_micros(50);
/// A limit that no test reaches.
const UNLIMITED: u64 = u64::MAX - 1;
/// In place of a limit: nothing is handed out.
const HELD: u64 = u64::MAX;

/// The number of bytes that all receivers of one direction of a test are to receive. Its descriptor
/// becomes readable when they have arrived (eventfd(2)).
#[derive(Debug)]
pub struct Goal {
    bytes: u64,
    limit: AtomicU64,
    received: AtomicU64,
    reached: EventFd,
}

impl Goal {
    /// A goal that is reached when `bytes` bytes of payload have been received.
    ///
    /// # Errors
    /// `EMFILE`, `ENFILE`: no more descriptors; `ENOMEM` (eventfd(2)).
    pub fn new(bytes: u64) -> io::Result<Self> {
        let (limit, received) = (AtomicU64::new(bytes), AtomicU64::new(0));
        Ok(Self { bytes, limit, received, reached: EventFd::new()? })
    }

    /// A goal of `bytes` bytes that counts from the call of [`Self::begin`] on, at the end of the
    /// omitted start of the test. Before that it is never reached.
    ///
    /// # Errors
    /// `EMFILE`, `ENFILE`: no more descriptors; `ENOMEM` (eventfd(2)).
    pub fn deferred(bytes: u64) -> io::Result<Self> {
        Ok(Self { limit: AtomicU64::new(u64::MAX), ..Self::new(bytes)? })
    }

    /// Begins to count a [deferred](Self::deferred) goal: its bytes follow the first `omitted`.
    pub fn begin(&self, omitted: u64) {
        self.limit.store(omitted.saturating_add(self.bytes), SeqCst);
        // They may have arrived since those were counted.
        if self.received.load(SeqCst) >= self.limit.load(SeqCst) {
            self.reached.notify();
        }
    }

    /// Adds `bytes` bytes that were received. If they reach the goal, its descriptor becomes
    /// readable.
    pub fn credit(&self, bytes: u64) {
        // In one order with `begin`: one of the two sees that the goal is reached.
        let before = self.received.fetch_add(bytes, SeqCst);
        let limit = self.limit.load(SeqCst);
        if before < limit && before + bytes >= limit {
            self.reached.notify();
        }
    }

    /// Whether all bytes of the goal were received; false for a deferred goal that has not begun.
    pub fn is_reached(&self) -> bool {
        self.received.load(Relaxed) >= self.limit.load(Relaxed)
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
        assert_eq!([7, 7, 7].map(|wanted| budget.take(wanted)), [Some(7), Some(3), Some(0)]);
    }

    #[test]
    fn a_deferred_budget_counts_from_its_begin() {
        let budget = Budget::deferred(10);
        assert_eq!(budget.take(100), Some(100));
        budget.begin(100);
        assert_eq!([7, 7].map(|wanted| budget.take(wanted)), [Some(7), Some(3)]);
        let goal = Goal::deferred(10).expect("eventfd");
        goal.credit(100);
        goal.begin(100);
        assert!(!goal.is_reached());
        goal.credit(10);
        assert!(goal.is_reached());
    }

    #[test]
    fn nothing_is_handed_out_while_the_omitted_units_are_counted() {
        let budget = Budget::deferred(10);
        assert_eq!(budget.take(100), Some(100));
        budget.hold();
        assert_eq!([7, 7].map(|wanted| budget.take(wanted)), [None, None]);
        budget.begin(100);
        assert_eq!([7, 7].map(|wanted| budget.take(wanted)), [Some(7), Some(3)]);
    }

    #[test]
    fn what_moved_since_the_omitted_was_counted_is_part_of_the_amount() {
        let budget = Budget::deferred(10);
        assert_eq!(budget.take(103), Some(103));
        budget.begin(100);
        assert_eq!([7, 7].map(|wanted| budget.take(wanted)), [Some(7), Some(0)]);
        let goal = Goal::deferred(10).expect("eventfd");
        goal.credit(110);
        goal.begin(100);
        assert!(goal.is_reached());
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
