//! How many blocks go back to back: as many as keep what a wake-up costs a small part of their
//! time, on a CPU that wakes soon and on one that wakes late.

use std::time::Duration;

use super::schedule::Schedule;

/// The length of batches.
#[derive(Clone, Copy, Debug)]
pub(super) struct BurstSize {
    least: usize,
    /// It grows with how late batches begin.
    grows: bool,
    /// How late nine of ten begin at most, in nanoseconds: it goes up by nine steps where one is
    /// later, and down by one where it is not, so that a stall is no reason for longer batches.
    lateness: u32,
}

impl BurstSize {
    /// Always as many, and at least one.
    pub(super) fn fixed(blocks: usize) -> Self {
        Self { least: blocks.max(1), grows: false, lateness: 0 }
    }

    /// As many datagrams as keep the price of a wake-up low, a few where they take long.
    pub(super) fn for_datagrams(schedule: &Schedule) -> Self {
        let within = |span: Duration| schedule.blocks_within(span);
        let least = within(LONG).min(FEW).max(within(SHORT)).max(1);
        Self { least, grows: true, lateness: 0 }
    }

    /// A batch began so late, for no reason but that nobody woke sooner.
    pub(super) fn learn(&mut self, lateness: Duration) {
        self.lateness = if lateness > self.lateness() {
            self.lateness.saturating_add(9 * STEP)
        } else {
            self.lateness.saturating_sub(STEP)
        };
    }

    /// How many go in the next one.
    pub(super) fn blocks(&self, schedule: &Schedule) -> usize {
        if !self.grows {
            return self.least;
        }
        let wanted = (self.lateness() * LEEWAY).min(LONGEST);
        schedule.blocks_within(wanted).min(MOST).max(self.least)
    }

    fn lateness(&self) -> Duration {
        Duration::from_nanos(self.lateness.into())
    }
}

/// So many datagrams are no burst that a queue would notice.
const FEW: usize = 4;
/// Fewer datagrams make a batch if these would span more than this.
const LONG: Duration = Duration::from_micros(500);
/// More make one if these would span less: about ten times what a wake-up costs at the least.
const SHORT: Duration = Duration::from_micros(47);
/// Nor do they grow beyond this many: more take longer to send than they may.
const MOST: usize = 256;
/// And not beyond this: more at once is a burst.
const LONGEST: Duration = Duration::from_millis(1);
/// A batch takes so many times as long as it is late: what is late by this part of its time
/// moves nothing.
pub(super) const LEEWAY: u32 = 3;
/// Nanoseconds: some fifty batches follow a CPU that sleeps deeper from now on.
const STEP: u32 = 100;

#[cfg(test)]
mod tests {
    use measurement::BitRate;

    use super::*;

    /// 58 microseconds each.
    fn schedule() -> Schedule {
        Schedule::new(BitRate::from_bits_per_second(200_000_000), 1_450)
    }

    fn late(micros: u64) -> usize {
        let mut burst_size = BurstSize::for_datagrams(&schedule());
        (0..4_000).for_each(|_| burst_size.learn(Duration::from_micros(micros)));
        burst_size.blocks(&schedule())
    }

    #[test]
    fn it_grows_with_how_late_batches_begin() {
        assert_eq!((late(0), late(75)), (4, 4));
        assert!((6..=8).contains(&late(150)), "{}", late(150));
        // A millisecond of them is enough.
        assert_eq!(late(900), 17);
    }

    #[test]
    fn a_length_that_was_asked_stays() {
        let mut burst_size = BurstSize::fixed(3);
        burst_size.learn(Duration::from_millis(1));
        assert_eq!(burst_size.blocks(&schedule()), 3);
    }
}
