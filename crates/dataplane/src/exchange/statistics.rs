//! Statistics of round trips: requesters write them, any thread reads them.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

use measurement::{Probe, RoundTrips, Spread, Timestamp};
use portable_atomic::{AtomicU64, AtomicUsize};

use crate::histogram::{Histogram, Reading};

/// The round-trip times and losses of all requesters of a test, shared by their worker threads.
#[derive(Debug)]
pub struct RoundTripStatistics {
    /// Round-trip times in nanoseconds.
    times: Histogram<BITS>,
    shortest: AtomicU64,
    sum: AtomicU64,
    lost: AtomicU64,
    unsent: AtomicU64,
    /// Whether requesters over TCP connections that stay open send no more requests.
    closed: AtomicBool,
    probes: ProbeLog,
}

impl RoundTripStatistics {
    /// Empty statistics that also keep the first `probes` round trips one by one.
    pub fn new(probes: usize) -> Self {
        Self {
            times: Histogram::default(),
            shortest: AtomicU64::new(u64::MAX),
            sum: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            unsent: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            probes: ProbeLog::new(probes),
        }
    }

    /// Counts a response that arrived after `time`.
    pub(super) fn add(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.times.add_shared(nanos);
        self.sum.fetch_add(nanos, Relaxed);
        if nanos < self.shortest.load(Relaxed) {
            self.shortest.fetch_min(nanos, Relaxed);
        }
    }

    /// Counts a response that was lost.
    pub(super) fn add_lost(&self) {
        self.lost.fetch_add(1, Relaxed);
    }

    /// Counts requests that were not sent at their times.
    pub(super) fn add_unsent(&self, count: u64) {
        if count > 0 {
            self.unsent.fetch_add(count, Relaxed);
        }
    }

    /// Has requesters over TCP connections that stay open send no more requests; responses to
    /// those under way still count. Returns whether it had been called before.
    pub fn close(&self) -> bool {
        self.closed.swap(true, Relaxed)
    }

    /// Whether no more requests are sent.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
    }

    /// Keeps one probe, if there is room.
    pub(super) fn keep(&self, probe: &Probe) {
        self.probes.push(probe);
    }

    /// Resets all but the single round trips of [`Self::probes`], at the end of the omitted start
    /// of the test. A response that arrives at the same moment may count or not.
    pub fn begin(&self) {
        self.times.clear();
        self.shortest.store(u64::MAX, Relaxed);
        self.sum.store(0, Relaxed);
        self.lost.store(0, Relaxed);
        self.unsent.store(0, Relaxed);
    }

    /// The round-trip times and losses since [`Self::begin`], which was `span` ago.
    pub fn read(&self, span: Duration) -> RoundTrips {
        let reading = Reading::sum(std::iter::once(&self.times));
        let count = reading.count();
        let nanos = Duration::from_nanos;
        let quantile = |permille| nanos(reading.quantile(permille));
        let mut trips = RoundTrips::counted(count, self.lost.load(Relaxed), span);
        trips.unsent = self.unsent.load(Relaxed);
        let sum = nanos(self.sum.load(Relaxed));
        if let Some(count) = u32::try_from(count).ok().filter(|count| *count > 0) {
            trips.times = Spread {
                min: nanos(self.shortest.load(Relaxed)),
                mean: sum / count,
                p50: quantile(500),
                p90: quantile(900),
                p99: quantile(990),
                p999: quantile(999),
                max: nanos(reading.largest()),
            };
        }
        trips.histogram = reading.filled().collect();
        trips
    }

    /// The single round trips that were kept, in the order of their sending times.
    pub fn probes(&self) -> Vec<Probe> {
        let mut probes = self.probes.read();
        probes.sort_unstable_by_key(|probe| probe.sent);
        probes
    }
}

/// Room for a number of probes; later ones are not kept.
#[derive(Debug, Default)]
struct ProbeLog {
    claimed: AtomicUsize,
    written: AtomicUsize,
    slots: Box<[[AtomicU64; 4]]>,
}

impl ProbeLog {
    fn new(room: usize) -> Self {
        Self { slots: (0..room).map(|_| Default::default()).collect(), ..Self::default() }
    }

    fn push(&self, probe: &Probe) {
        let slot = self.claimed.fetch_add(1, Relaxed);
        let Some(slot) = self.slots.get(slot) else {
            // So that it does not wrap, however long the test.
            self.claimed.store(self.slots.len(), Relaxed);
            return;
        };
        let took = probe.round_trip.map_or(LOST, |time| time.as_nanos());
        let took = u64::try_from(took).unwrap_or(u64::MAX - 1);
        let values = [probe.sent.nanos(), took, probe.arrived.nanos(), probe.answered.nanos()];
        slot.iter().zip(values).for_each(|(place, value)| place.store(value, Relaxed));
        self.written.fetch_add(1, Release);
    }

    fn read(&self) -> Vec<Probe> {
        let written = self.written.load(Acquire).min(self.slots.len());
        let value = |place: &AtomicU64| place.load(Relaxed);
        let probe = |slot: &[AtomicU64; 4]| Probe {
            sent: Timestamp::from_nanos(value(&slot[0])),
            round_trip: Some(value(&slot[1]))
                .filter(|took| *took != u64::MAX)
                .map(Duration::from_nanos),
            arrived: Timestamp::from_nanos(value(&slot[2])),
            answered: Timestamp::from_nanos(value(&slot[3])),
        };
        self.slots[..written].iter().map(probe).collect()
    }
}

/// The time of a probe whose response was lost.
const LOST: u128 = u64::MAX as u128;
/// Times are exact to one part of 256.
const BITS: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    const fn micros(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    #[test]
    fn quantiles_are_close_and_the_ends_exact() {
        let statistics = RoundTripStatistics::new(0);
        (1..=1000).for_each(|time| statistics.add(micros(time)));
        statistics.add_lost();
        let trips = statistics.read(Duration::from_secs(10));
        assert_eq!((trips.count, trips.lost), (1000, 1));
        assert_eq!((trips.times.min, trips.times.max), (micros(1), micros(1000)));
        assert_eq!(trips.times.mean, Duration::from_nanos(500_500));
        for (found, exact) in [(trips.times.p50, 500), (trips.times.p99, 990)] {
            let beside = found.as_secs_f64() / micros(exact).as_secs_f64() - 1.0;
            assert!((0.0..0.005).contains(&beside), "{found:?} for {exact} us");
        }
        assert_eq!(trips.histogram.iter().map(|(_, count)| count).sum::<u64>(), 1000);
        statistics.begin();
        assert_eq!(statistics.read(micros(1)).times, Spread::default());
    }

    #[test]
    fn probes_are_kept_as_long_as_there_is_room() {
        let statistics = RoundTripStatistics::new(2);
        for sent in [3, 1, 2] {
            let round_trip = (sent != 1).then_some(micros(sent));
            let sent = Timestamp::from_nanos(sent);
            statistics.keep(&Probe { sent, round_trip, ..Probe::default() });
        }
        let probes = statistics.probes();
        assert_eq!(probes.iter().map(|probe| probe.sent.nanos()).collect::<Vec<_>>(), [1, 3]);
        assert_eq!(probes[0].round_trip, None);
        assert_eq!(probes[1].round_trip, Some(micros(3)));
    }
}
