//! One-way delays, by the compared clocks of both ends.

use std::time::Duration;

use measurement::{OneWay, Probe, Spread, Timestamp};

/// Estimates the one-way delays of probes before and during a test; those after it help to compare
/// the clocks. None: the peer did not report its times.
pub(super) fn estimate(idle: &[Probe], loaded: &[Probe], after: &[Probe]) -> Option<OneWay> {
    let clocks = Clocks::compare(idle, after)?;
    let spreads = |probes: &[Probe]| {
        let ways: Vec<_> = probes.iter().filter_map(|probe| clocks.ways(probe)).collect();
        let there: Vec<_> = ways.iter().map(|(there, _)| *there).collect();
        let back: Vec<_> = ways.iter().map(|(_, back)| *back).collect();
        (Spread::from_times(&there), Spread::from_times(&back))
    };
    let ((idle_there, idle_back), (loaded_there, loaded_back)) = (spreads(idle), spreads(loaded));
    let last = loaded.last().or(idle.last())?.sent;
    let clock_error = clocks.error(last);
    Some(OneWay { idle_there, idle_back, loaded_there, loaded_back, clock_error })
}

/// By how much the peer's clock is ahead: it drifts from the first value to the second.
struct Clocks {
    first: Difference,
    second: Option<Difference>,
}

/// The difference of the clocks by one probe.
#[derive(Clone, Copy)]
struct Difference {
    at: Timestamp,
    /// Nanoseconds.
    ahead: i128,
    round_trip: Duration,
}

impl Difference {
    fn by_probe(probe: &Probe) -> Option<Self> {
        let round_trip = probe.round_trip?;
        if probe.arrived == Timestamp::default() || probe.answered == Timestamp::default() {
            return None;
        }
        // An answer cannot have rested there for longer than it was away.
        let rested = nanos(probe.answered) - nanos(probe.arrived);
        if rested < 0 || rested > nanos_of(round_trip) {
            return None;
        }
        let received = probe.sent.after(round_trip);
        let there = nanos(probe.arrived) - nanos(probe.sent);
        let back = nanos(received) - nanos(probe.answered);
        Some(Self { at: probe.sent, ahead: (there - back) / 2, round_trip })
    }

    /// The difference with the smallest possible error.
    fn best(probes: &[Probe]) -> Option<Self> {
        probes.iter().filter_map(Self::by_probe).min_by_key(|difference| difference.round_trip)
    }
}

impl Clocks {
    fn compare(before: &[Probe], after: &[Probe]) -> Option<Self> {
        let first = Difference::best(before)?;
        Some(Self { first, second: Difference::best(after) })
    }

    fn ahead(&self, at: Timestamp) -> i128 {
        let Some(second) = self.second else { return self.first.ahead };
        let span = (nanos(second.at) - nanos(self.first.at)).max(1);
        let drift = second.ahead - self.first.ahead;
        self.first.ahead + drift * (nanos(at) - nanos(self.first.at)) / span
    }

    /// One-way delay of the request, and of the answer.
    fn ways(&self, probe: &Probe) -> Option<(Duration, Duration)> {
        let round_trip = probe.round_trip?;
        Difference::by_probe(probe)?;
        let ahead = self.ahead(probe.sent);
        let there = nanos(probe.arrived) - ahead - nanos(probe.sent);
        let back = nanos(probe.sent.after(round_trip)) - (nanos(probe.answered) - ahead);
        let most = nanos_of(round_trip);
        Some((span(there.min(most)), span(back.min(most))))
    }

    /// The largest error of a one-way delay until `last`.
    fn error(&self, last: Timestamp) -> Duration {
        let half = |difference: Difference| difference.round_trip / 2;
        match self.second {
            Some(second) => half(self.first).max(half(second)),
            None => half(self.first) + last.since(self.first.at) / LARGEST_DRIFT,
        }
    }
}

fn nanos_of(span: Duration) -> i128 {
    i128::try_from(span.as_nanos()).unwrap_or(i128::MAX)
}

fn nanos(time: Timestamp) -> i128 {
    i128::from(time.nanos())
}

/// No delay is negative: what is below zero lies within the error.
fn span(nanos: i128) -> Duration {
    Duration::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
}

/// One part of ten thousand, the tolerance of cheap crystals (RFC 5905, section 4, has 15 of a
/// million for disciplined clocks).
const LARGEST_DRIFT: u32 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    const fn micros(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    /// A probe sent at `sent` to a peer whose clock is ahead by `ahead`.
    fn probe(sent: u64, (there, back): (u64, u64), ahead: u64) -> Probe {
        let sent = Timestamp::default().after(micros(sent));
        let arrived = sent.after(micros(there + ahead));
        Probe { sent, round_trip: Some(micros(there + back)), arrived, answered: arrived }
    }

    #[test]
    fn a_queue_is_found_on_the_way_that_has_it() {
        let idle: Vec<_> = (0..10).map(|at| probe(at * 1_000, (50, 50), 7_000_000)).collect();
        let loaded: Vec<_> = (10..20).map(|at| probe(at * 1_000, (1_050, 50), 7_000_000)).collect();
        let found = estimate(&idle, &loaded, &[]).expect("the times are there");
        assert_eq!((found.loaded_there.p50, found.loaded_back.p50), (micros(1_050), micros(50)));
        assert_eq!((found.idle_there.p50, found.idle_back.p50), (micros(50), micros(50)));
        assert!((micros(50)..micros(60)).contains(&found.clock_error), "{found:?}");
    }

    #[test]
    fn clocks_that_drift_are_compared_twice() {
        // 100 us in a second.
        let ahead = |at: u64| 5_000 + at / 10_000;
        let probes = |from: u64, to: u64| -> Vec<Probe> {
            let at = (from..to).map(|step| step * 100_000);
            at.map(|at| probe(at, (40, 40), ahead(at))).collect()
        };
        let (idle, loaded, after) = (probes(1, 11), probes(11, 50), probes(50, 60));
        let found = estimate(&idle, &loaded, &after).expect("the times are there");
        for way in [found.loaded_there, found.loaded_back] {
            assert!((micros(39)..=micros(41)).contains(&way.p50), "{way:?}");
        }
        assert_eq!(found.clock_error, micros(40));
    }

    #[test]
    fn without_times_nothing_is_said() {
        let silent = Probe { arrived: Timestamp::default(), ..probe(1, (5, 5), 0) };
        assert_eq!(estimate(&[silent], &[silent], &[]), None);
    }
}
