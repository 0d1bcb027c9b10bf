//! How host threads wait for an object: they sleep until it has changed.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU32, fence};
use std::time::Duration;

use crate::time::Time;

/// Rung at each change. Ringing costs a system call only while somebody listens, and takes
/// no lock.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rings: AtomicU32,
    listeners: AtomicU32,
}

impl Bell {
    /// Something has changed, which those who look from now on see.
    pub(crate) fn ring(&self) {
        fence(SeqCst);
        if self.listeners.load(SeqCst) > 0 {
            self.rings.fetch_add(1, SeqCst);
            linux::futex::wake(&self.rings, u32::MAX);
        }
    }

    /// Looks at each change until `look` finds what it looks for, or until `span` has
    /// passed; none: for ever.
    pub(crate) fn listen<T>(
        &self,
        span: Option<Duration>,
        mut look: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        if let Some(found) = look() {
            return Some(found);
        }
        let deadline = span.map(|span| Time::now().after(span));
        self.listeners.fetch_add(1, SeqCst);
        let found = self.look_until(deadline, look);
        self.listeners.fetch_sub(1, SeqCst);
        found
    }

    fn look_until<T>(
        &self,
        deadline: Option<Time>,
        mut look: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        loop {
            let heard = self.rings.load(SeqCst);
            fence(SeqCst);
            if let Some(found) = look() {
                return Some(found);
            }
            let now = Time::now();
            if deadline.is_some_and(|deadline| now >= deadline) {
                return None;
            }
            linux::futex::wait(&self.rings, heard, deadline.map(|at| at.since(now)));
        }
    }
}
