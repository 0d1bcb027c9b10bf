//! The clock as an argument: a running test reads the time through this, so that unit tests
//! can script it. No timers and no waiting.

use measurement::Timestamp;

/// Reads the time.
pub(crate) trait Clock: Send + Sync {
    /// The time now, on the scale of `CLOCK_MONOTONIC` (clock_gettime(2)).
    fn now(&self) -> Timestamp;
}

/// The clock of this host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        dataplane::now()
    }
}

/// A clock that stands where a test set it.
#[cfg(test)]
#[derive(Debug, Default)]
pub(crate) struct ScriptedClock(std::sync::atomic::AtomicU64);

#[cfg(test)]
impl ScriptedClock {
    /// A clock that shows `now`.
    pub(crate) fn at(now: Timestamp) -> Self {
        Self(now.nanos().into())
    }

    /// Moves the clock forward by `span`.
    pub(crate) fn advance(&self, span: std::time::Duration) {
        let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        self.0.fetch_add(nanos, std::sync::atomic::Ordering::SeqCst);
    }
}

#[cfg(test)]
impl Clock for ScriptedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.0.load(std::sync::atomic::Ordering::SeqCst))
    }
}
