//! How host threads wait for an object to change: on a futex (futex(2)). It does not serve
//! workloads, which stall instead.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU32, fence};
use std::time::Duration;

use crate::time::Time;

/// An event that is notified at each change of an object. Notifying takes no lock, and
/// costs a system call only while a host thread waits.
#[derive(Debug, Default)]
pub(crate) struct FutexEvent {
    generation: AtomicU32,
    waiters: AtomicU32,
}

impl FutexEvent {
    /// Whether a thread waits.
    pub(crate) fn is_awaited(&self) -> bool {
        self.waiters.load(SeqCst) > 0
    }

    /// Wakes the waiting threads, which then check the object again.
    pub(crate) fn notify(&self) {
        fence(SeqCst);
        self.notify_in_order();
    }

    /// As [`Self::notify`], of an object that changes by an operation that is sequentially
    /// consistent, and is looked at by such a one: that orders both without a fence.
    pub(crate) fn notify_in_order(&self) {
        if self.waiters.load(SeqCst) > 0 {
            self.generation.fetch_add(1, SeqCst);
            linux::futex::wake(&self.generation, u32::MAX);
        }
    }

    /// Calls `look` at each change until it returns a value, or until `span` has passed
    /// (`None`: without limit).
    pub(crate) fn wait_until<T>(
        &self,
        span: Option<Duration>,
        mut look: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        if let Some(found) = look() {
            return Some(found);
        }
        let deadline = span.map(|span| Time::now().after(span));
        self.waiters.fetch_add(1, SeqCst);
        let found = self.check_until(deadline, look);
        self.waiters.fetch_sub(1, SeqCst);
        found
    }

    fn check_until<T>(
        &self,
        deadline: Option<Time>,
        mut look: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        loop {
            let seen = self.generation.load(SeqCst);
            fence(SeqCst);
            if let Some(found) = look() {
                return Some(found);
            }
            let now = Time::now();
            if deadline.is_some_and(|deadline| now >= deadline) {
                return None;
            }
            linux::futex::wait(&self.generation, seen, deadline.map(|at| at.since(now)));
        }
    }
}
