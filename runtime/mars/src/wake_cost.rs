//! The CPU time that a sleep until a time takes of its thread.

use std::time::Duration;

use crate::estimate::Estimate;

/// An estimate of the CPU time that falling asleep until a time and waking up takes: a few
/// microseconds, on a virtual machine some ten, since setting a timer and halting leave it.
#[derive(Debug)]
pub(crate) struct WakeCost {
    usual: Estimate,
    /// Sleeps until the next one that is measured.
    left: u32,
}

impl Default for WakeCost {
    fn default() -> Self {
        // The median.
        Self { usual: Estimate { nanos: 0, up: 200, down: 200, least: 0, most: 100_000 }, left: 0 }
    }
}

impl WakeCost {
    /// Begins with a sleep. None: this one is not measured, since to measure takes time as well.
    pub(crate) fn begin(&mut self) -> Option<Duration> {
        let is_due = self.left == 0;
        self.left = if is_due { SLEEPS_BETWEEN } else { self.left - 1 };
        is_due.then(linux::clock::thread_cpu)
    }

    /// Ends with it.
    pub(crate) fn end(&mut self, began: Option<Duration>) {
        let Some(began) = began else { return };
        let took = linux::clock::thread_cpu().saturating_sub(began);
        self.usual.learn(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    pub(crate) const fn usual(&self) -> Duration {
        Duration::from_nanos(self.usual.nanos)
    }
}

const SLEEPS_BETWEEN: u32 = 7;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_takes_some_cpu_time_and_less_than_it_lasts() {
        let mut cost = WakeCost::default();
        let mut measured = 0;
        for _ in 0..8 * 200 {
            let began = cost.begin();
            measured += u32::from(began.is_some());
            std::thread::sleep(Duration::from_micros(100));
            cost.end(began);
        }
        assert_eq!(measured, 200, "one of eight");
        assert!(cost.usual() > Duration::ZERO && cost.usual() < Duration::from_micros(100));
    }
}
