//! Whether this process stands still: a thread that sleeps for moments and wakes much later, without
//! having waited for a CPU, was stopped, frozen, or waited for memory. One that waited for a CPU was
//! held back: by a quota where CPUs are idle.

use std::time::Duration;

use linux::clock;
use measurement::Timestamp;

/// The naps of a thread.
pub(super) struct StallDetector {
    waited: Option<Duration>,
    late: Duration,
}

/// For how long a thread was late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stalled {
    /// It did not wait for a CPU.
    pub(super) still: Duration,
    /// It did.
    pub(super) held: Duration,
}

impl StallDetector {
    pub(super) fn begin() -> Self {
        Self { waited: clock::thread_run_delay(), late: Duration::ZERO }
    }

    /// A nap that was to end at `due` ended `now`, which may be sooner.
    pub(super) fn woke(&mut self, due: Timestamp, now: Timestamp) {
        let late = now.since(due);
        if late >= LATE {
            self.late += late;
        }
    }

    /// How long all of them were late, and for how much of it the thread waited for a CPU; nothing
    /// where that is not known.
    pub(super) fn stalled(self) -> Stalled {
        let waited = clock::thread_run_delay().zip(self.waited);
        waited.map_or_else(Stalled::default, |(now, then)| {
            let held = now.saturating_sub(then).min(self.late);
            Stalled { still: self.late.saturating_sub(held), held }
        })
    }
}

/// Seven eighths of a stop of 100 ms show. To wake so often takes some 0.05 % of a CPU.
pub(super) const LONGEST: Duration = Duration::from_millis(25);
/// No host that is well wakes so late.
const LATE: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn naps_that_end_late_add_up_and_short_delays_do_not() {
        let mut stalls = StallDetector { waited: clock::thread_run_delay(), late: Duration::ZERO };
        stalls.woke(at(25), at(20));
        stalls.woke(at(25), at(34));
        assert_eq!(stalls.late, Duration::ZERO);
        stalls.woke(at(25), at(125));
        stalls.woke(at(150), at(200));
        assert_eq!(stalls.late, Duration::from_millis(150));
        // This thread waited for a CPU for at most a moment since.
        let stalled = stalls.stalled();
        assert!(stalled.still > Duration::from_millis(100), "{stalled:?}");
        assert_eq!(stalled.still + stalled.held, Duration::from_millis(150));
    }

    #[test]
    fn a_kernel_that_tells_no_run_delay_is_no_reason_to_suspect_anybody() {
        let stalls = StallDetector { waited: None, late: Duration::from_secs(1) };
        assert_eq!(stalls.stalled(), Stalled::default());
    }
}
