//! How long a test may keep its place when another client needs it.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use measurement::units::show_time;
use measurement::{BitRate, Timestamp};
use portable_atomic::{AtomicBool, AtomicU64};

use super::limits::Excess;
use super::metrics::Refusal;

/// Which tests make room when another client needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Yielding {
    /// Those that move less than this; zero: none for that reason.
    pub below: BitRate,
    /// Those that have run for so long; none: none for that reason.
    pub after: Option<Duration>,
}

impl Yielding {
    /// No test makes room for what it does.
    pub const NEVER: Self = Self { below: BitRate::from_bits_per_second(0), after: None };
}

/// What is known of a test that has a place: its conversation writes, the acceptor reads.
#[derive(Debug, Default)]
pub(crate) struct Stay {
    /// Until when it counts as busy, whatever it does.
    busy_until: AtomicU64,
    /// It keeps its place however little it moves.
    may_idle: AtomicBool,
    /// When it has had its time; zero: never.
    ends: AtomicU64,
    /// It has moved as much as it must.
    is_proven: AtomicBool,
}

/// Why a test makes room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Displacement {
    /// It does next to nothing.
    Idle,
    /// It has run for long.
    Overtime,
    /// Its client has so many tests of so many.
    Share { tests: usize, all: usize },
}

impl Stay {
    /// It has a place from `now` on.
    pub(crate) fn begin(&self, now: Timestamp, yielding: &Yielding) {
        self.be_busy_until(now.after(GRACE));
        self.may_idle.store(yielding.below.bits_per_second() == 0, Relaxed);
        let ends = yielding.after.map_or(0, |after| now.after(after).nanos());
        self.ends.store(ends, Relaxed);
    }

    pub(crate) fn be_busy_until(&self, until: Timestamp) {
        self.busy_until.store(until.nanos(), Relaxed);
    }

    /// Until when it counts as busy, in nanoseconds of the clock.
    pub(crate) fn busy_until(&self) -> u64 {
        self.busy_until.load(Relaxed)
    }

    /// It has moved what a test must move.
    pub(crate) fn prove(&self) {
        self.is_proven.store(true, Relaxed);
    }

    pub(crate) fn is_proven(&self) -> bool {
        self.is_proven.load(Relaxed)
    }

    /// Why it makes room for whoever needs it; none: it does not.
    pub(crate) fn weakness(&self, now: Timestamp) -> Option<Displacement> {
        let ends = self.ends.load(Relaxed);
        if !self.may_idle.load(Relaxed) && now.nanos() >= self.busy_until.load(Relaxed) {
            Some(Displacement::Idle)
        } else {
            (ends > 0 && now.nanos() >= ends).then_some(Displacement::Overtime)
        }
    }
}

impl Displacement {
    /// What the client of the test hears.
    pub(crate) fn words(self, yielding: &Yielding) -> Excess {
        let (why, words) = match self {
            Self::Idle => {
                (Refusal::Idle, format!("it moved less than {} (--yield-below)", yielding.below))
            }
            Self::Overtime => {
                let time = show_time(yielding.after.unwrap_or_default());
                (Refusal::Overtime, format!("it ran for {time} (--yield-after)"))
            }
            Self::Share { tests, all } => {
                (Refusal::Displaced, format!("its address had {tests} of {all} tests"))
            }
        };
        Excess { why, words: format!("another client needed the place: {words}") }
    }
}

/// How long a test counts as busy that has just got its place, or is about to end.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_may_stay_as_long_as_it_is_busy_and_not_longer_than_its_time() {
        let at = |seconds| Timestamp::from_nanos(1).after(Duration::from_secs(seconds));
        let yielding = Yielding {
            below: BitRate::from_bits_per_second(10_000),
            after: Some(Duration::from_secs(600)),
        };
        let stay = Stay::default();
        stay.begin(at(0), &yielding);
        assert_eq!(stay.weakness(at(1)), None);
        assert_eq!(stay.weakness(at(2)), Some(Displacement::Idle));
        stay.be_busy_until(at(700));
        assert_eq!(stay.weakness(at(599)), None);
        assert_eq!(stay.weakness(at(600)), Some(Displacement::Overtime));
        let patient = Yielding { below: BitRate::from_bits_per_second(0), ..yielding };
        stay.begin(at(0), &patient);
        assert_eq!(stay.weakness(at(599)), None);
        assert_eq!(stay.weakness(at(600)), Some(Displacement::Overtime));
        let endless = Yielding { after: None, ..yielding };
        stay.begin(at(0), &endless);
        stay.be_busy_until(at(10_000));
        assert_eq!(stay.weakness(at(9_999)), None);
    }
}
