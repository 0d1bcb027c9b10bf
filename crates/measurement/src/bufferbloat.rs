//! The delay that load adds to round trips ([`Bufferbloat`]).

use std::time::Duration;

use crate::responsiveness::Grade;
use crate::round_trips::Loaded;

/// Bufferbloat: what load adds to the median round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bufferbloat {
    /// Median round trip on the idle path.
    pub idle: Duration,
    /// Median round trip under load.
    pub loaded: Duration,
}

impl Bufferbloat {
    /// The bufferbloat of tests with a probe: that of the test whose load added most, such as the
    /// worse direction. None: no test has answers both idle and under load.
    pub fn of<'a>(tests: impl Iterator<Item = &'a Loaded>) -> Option<Self> {
        let known = tests.filter(|test| test.idle.count > 0 && test.loaded.count > 0);
        let each =
            known.map(|test| Self { idle: test.idle.times.p50, loaded: test.loaded.times.p50 });
        each.max_by_key(Self::added)
    }

    /// The delay that the load added; zero if round trips under load were shorter.
    pub const fn added(&self) -> Duration {
        self.loaded.saturating_sub(self.idle)
    }

    /// The grade of the added delay.
    pub fn grade(&self) -> Grade {
        Grade::of(self.added())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::round_trips::{RoundTrips, Spread};

    const fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn the_bufferbloat_is_that_of_the_worse_direction() {
        let trips = |count, at| RoundTrips {
            times: Spread { p50: millis(at), ..Spread::default() },
            ..RoundTrips::counted(count, 0, millis(1_000))
        };
        let test = |idle, loaded| Loaded {
            idle: trips(5, idle),
            loaded: trips(5, loaded),
            ..Loaded::default()
        };
        let unanswered = Loaded { idle: trips(5, 9), loaded: trips(0, 0), ..Loaded::default() };
        let tests = [test(10, 110), test(10, 30), unanswered];
        let found = Bufferbloat::of(tests.iter()).expect("known");
        assert_eq!((found.idle, found.added(), found.grade()), (millis(10), millis(100), Grade::C));
        let found = Bufferbloat::of([test(1, 4), test(100, 130)].iter()).expect("known");
        assert_eq!((found.idle, found.grade()), (millis(100), Grade::B));
        assert_eq!(Bufferbloat::of([test(3, 2)].iter()).expect("known").added(), millis(0));
        assert_eq!(Bufferbloat::of(tests[2..].iter()), None);
    }
}
