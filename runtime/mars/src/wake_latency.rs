//! The wake-up latency of a thread that sleeps until a time, estimated from earlier
//! wake-ups.

use std::time::Duration;

use crate::estimate::Estimate;

/// How precisely a deadline is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    /// As late as the kernel wakes the thread, without spinning.
    Late,
    /// To some microseconds, without spinning for long.
    About,
    /// To the microsecond, at the price of spinning.
    Exact,
}

/// Estimates of the wake-up latency. They follow its changes: a CPU that sleeps longer
/// enters a deeper idle state.
#[derive(Debug)]
pub(crate) struct WakeLatency {
    usual: Estimate,
    seldom_later: Estimate,
}

impl Default for WakeLatency {
    fn default() -> Self {
        Self {
            // Three of five wake-ups are less late, and spin for the difference; with fewer the
            // rest comes late so often that the rate is not kept.
            usual: Estimate { nanos: 4_000, up: 30, down: 20, least: 0, most: 20_000 },
            // All but three of a hundred.
            seldom_later: Estimate { nanos: 20_000, up: 485, down: 15, least: 5_000, most: 60_000 },
        }
    }
}

impl WakeLatency {
    /// Records that the thread woke so much later than requested.
    pub(crate) fn woke(&mut self, lateness: Duration) {
        let nanos = u64::try_from(lateness.as_nanos()).unwrap_or(u64::MAX);
        self.usual.learn(nanos);
        self.seldom_later.learn(nanos);
    }

    /// How long before a deadline to wake; the rest is spent spinning.
    pub(crate) const fn lead(&self, precision: Precision) -> Duration {
        Duration::from_nanos(match precision {
            Precision::Late => 0,
            Precision::About => self.usual.nanos,
            Precision::Exact => self.seldom_later.nanos,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lead_follows_how_late_the_thread_wakes() {
        let mut wake_latency = WakeLatency::default();
        // From 6 to 15.9 microseconds, each as often.
        for round in 0..20_000_u64 {
            wake_latency.woke(Duration::from_nanos(6_000 + round * 37 % 100 * 100));
        }
        let lead = |precision| wake_latency.lead(precision).as_nanos();
        assert!((11_000..13_000).contains(&lead(Precision::About)), "{wake_latency:?}");
        assert!((14_500..17_000).contains(&lead(Precision::Exact)), "{wake_latency:?}");
    }

    #[test]
    fn one_long_sleep_is_no_reason_to_spin_for_long() {
        let mut wake_latency = WakeLatency::default();
        (0..10_000).for_each(|_| wake_latency.woke(Duration::from_secs(1)));
        assert_eq!(wake_latency.lead(Precision::Exact), Duration::from_micros(60));
        assert_eq!(wake_latency.lead(Precision::About), Duration::from_micros(20));
    }
}
