//! Instants in nanoseconds of the monotonic clock.

use std::time::Duration;

/// An instant of `CLOCK_MONOTONIC`, in nanoseconds (clock_gettime(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The current time of `CLOCK_MONOTONIC` (clock_gettime(2)).
    pub fn now() -> Self {
        Self(nanos(linux::clock::monotonic()))
    }

    /// The instant `nanos` nanoseconds after the epoch of `CLOCK_MONOTONIC` (clock_gettime(2)).
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds from the epoch of `CLOCK_MONOTONIC` (clock_gettime(2)) to this instant.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// The instant that is `span` later than this one.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(nanos(span)))
    }

    /// The instant that is `span` earlier than this one.
    #[must_use]
    pub fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(span)))
    }

    /// The time from `earlier` to this instant; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_never_wrap() {
        let (early, late) = (Time::from_nanos(10), Time::from_nanos(30));
        assert_eq!(late.since(early), Duration::from_nanos(20));
        assert_eq!(early.since(late), Duration::ZERO);
        assert_eq!(early.before(Duration::from_secs(1)), Time::default());
        assert_eq!(late.after(Duration::MAX).nanos(), u64::MAX);
    }
}
