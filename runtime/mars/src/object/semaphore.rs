//! A counting semaphore.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use crate::context::Workloads;
use crate::futex_event::FutexEvent;
use crate::mpu::Mpu;
use crate::object::WaitList;
use crate::workload::Wait;

/// A counting semaphore for workloads and threads. A token that is released goes to the workload
/// that has waited longest; none overtakes it.
#[derive(Debug)]
pub struct Semaphore {
    tokens: AtomicU32,
    waiters: WaitList,
    changed: FutexEvent,
}

impl Semaphore {
    /// A semaphore that begins with `tokens` tokens, for the workloads of one context.
    pub fn new(workloads: &Workloads, tokens: u32) -> Self {
        let waiters = WaitList::new(&workloads.shared);
        Self { tokens: AtomicU32::new(tokens), waiters, changed: FutexEvent::default() }
    }

    /// Whether a workload or a host thread waits for this object.
    pub fn is_awaited(&self) -> bool {
        self.waiters.is_awaited() || self.changed.is_awaited()
    }

    /// Number of tokens that can be acquired now.
    pub fn tokens(&self) -> u32 {
        self.tokens.load(SeqCst)
    }

    /// Takes one token without waiting. Returns false if no token is left, or if workloads already
    /// wait for one: they come first.
    pub fn try_acquire(&self) -> bool {
        self.waiters.is_empty_in_order() && self.take()
    }

    fn take(&self) -> bool {
        let one_less = |tokens: u32| tokens.checked_sub(1);
        self.tokens.fetch_update(SeqCst, SeqCst, one_less).is_ok()
    }

    /// Takes one token.
    ///
    /// # Errors
    /// No token is left, or others wait. The workload returns
    /// [`Next::Stalled`](crate::Next::Stalled) with this wait, and calls this again in its next
    /// turn; if it does not, its token is lost.
    pub fn acquire<M>(&self, mpu: &mut Mpu<'_, M>) -> Result<(), Wait> {
        if self.waiters.take_wake_value(mpu).is_some() || self.try_acquire() {
            return Ok(());
        }
        let mut waiters = self.waiters.lock_list_in_order();
        if waiters.is_first() && self.take() { Ok(()) } else { Err(waiters.join(mpu, 0)) }
    }

    /// Takes one token on a host thread (not a worker thread of the runtime), which blocks until a token is free,
    /// at most for `span` (`None`: without limit). Returns false if it got none.
    pub fn acquire_on_host(&self, span: Option<Duration>) -> bool {
        self.changed.wait_until(span, || self.try_acquire().then_some(())).is_some()
    }

    /// Returns one token to the semaphore: to the workload that has waited longest, if one waits.
    pub fn release(&self) {
        loop {
            if self.waiters.wake_one_in_order(0) {
                return;
            }
            self.tokens.fetch_add(1, SeqCst);
            // A workload may have begun to wait before the token was returned.
            if self.waiters.is_empty_in_order() || !self.take() {
                break;
            }
        }
        self.changed.notify_in_order();
    }
}
