//! The number of blocks that go back to back: enough to keep the cost of a wake-up a small part
//! of their time, on a CPU that wakes soon and on one that wakes late.

use std::time::Duration;

use super::schedule::Schedule;

/// The number of blocks of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct BurstSize {
    least: u32,
    /// Whether it grows with the lateness of batches.
    grows: bool,
    /// An estimate of the 90th percentile of lateness in nanoseconds. It goes up by nine steps
    /// after a batch that is later, and down by one step after one that is not, so that a
    /// single stall does not make batches longer.
    lateness: u32,
    /// CPU time of a sleep until a batch is due, in nanoseconds.
    wake_cost: u32,
}

impl BurstSize {
    /// A fixed number of blocks, at least one.
    pub(super) fn fixed(blocks: usize) -> Self {
        Self::new(blocks.max(1), false)
    }

    /// A number of datagrams that keeps the cost of a wake-up low, and that is small where the
    /// datagrams take long.
    pub(super) fn for_datagrams(schedule: &Schedule) -> Self {
        let within = |span: Duration| schedule.blocks_within(span);
        let least = within(LONG).min(FEW).max(within(SHORT)).max(1);
        Self::new(least, true)
    }

    /// A number of frames that keeps the cost of a wake-up low; one where a wake-up costs a small part
    /// of the time between two. The frames of a group wait for each other in a device.
    pub(super) fn for_frames(schedule: &Schedule) -> Self {
        match schedule.blocks_within(SHORT) {
            0 => Self::new(1, true),
            _ => Self::for_datagrams(schedule),
        }
    }

    fn new(least: usize, grows: bool) -> Self {
        let least = u32::try_from(least).unwrap_or(u32::MAX);
        Self { least, grows, lateness: 0, wake_cost: 0 }
    }

    /// Sets the CPU time of a sleep until a batch is due.
    pub(super) fn set_wake_cost(&mut self, cost: Duration) {
        self.wake_cost = u32::try_from(cost.as_nanos()).unwrap_or(u32::MAX);
    }

    /// Adapts to the lateness of a batch that was late because the worker woke late. Blocks that are
    /// `apart` by more teach more, since there are fewer of them.
    pub(super) fn learn(&mut self, lateness: Duration, apart: Duration) {
        let step = u32::try_from(apart.as_nanos() / PARTS).unwrap_or(u32::MAX).max(STEP);
        self.lateness = if lateness > self.lateness() {
            self.lateness.saturating_add(step.saturating_mul(9))
        } else {
            self.lateness.saturating_sub(step)
        };
    }

    /// The number of blocks of the next batch.
    // One copy for all that ask for it, once in a batch.
    #[inline(never)]
    pub(super) fn blocks(&self, schedule: &Schedule) -> usize {
        let least = self.least as usize;
        if !self.grows {
            return least;
        }
        let wake_cost = Duration::from_nanos(self.wake_cost.into());
        let wanted = (self.lateness() * LEEWAY).max(wake_cost * WORTH).min(LONGEST);
        schedule.blocks_within(wanted).min(MOST).max(least)
    }

    fn lateness(&self) -> Duration {
        Duration::from_nanos(self.lateness.into())
    }
}

/// So many datagrams do not fill a queue noticeably.
const FEW: usize = 4;
/// A batch has fewer than [`FEW`] datagrams if these would span more than this.
const LONG: Duration = Duration::from_micros(500);
/// A batch has more than [`FEW`] datagrams if these would span less than this, which is about
/// [`WORTH`] times the least cost of a wake-up.
const SHORT: Duration = Duration::from_micros(47);
/// A batch spans this many times what a wake-up takes, so that wake-ups use a tenth of a CPU.
const WORTH: u32 = 10;
/// Batches do not grow beyond this many datagrams: more take longer to send than they may.
const MOST: usize = 256;
/// Batches do not grow beyond this time at the rate: more at once would fill queues.
const LONGEST: Duration = Duration::from_millis(1);
/// A batch spans this many times its usual lateness; lateness up to that part of its span does
/// not delay the next batch.
pub(super) const LEEWAY: u32 = 3;
/// A step is so small a part of the time between two blocks.
const PARTS: u128 = 100;
/// Least step in nanoseconds. After about fifty batches the estimate follows a CPU that sleeps deeper.
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
        let mut size = BurstSize::for_datagrams(&schedule());
        (0..4_000).for_each(|_| size.learn(Duration::from_micros(micros), schedule().span(1)));
        size.blocks(&schedule())
    }

    #[test]
    fn it_grows_with_how_late_batches_begin() {
        assert_eq!((late(0), late(75)), (4, 4));
        assert!((6..=8).contains(&late(150)), "{}", late(150));
        // A millisecond of them is enough.
        assert_eq!(late(900), 17);
    }

    #[test]
    fn it_grows_with_what_a_wake_up_takes() {
        let blocks = |mut size: BurstSize, micros| {
            size.set_wake_cost(Duration::from_micros(micros));
            size.blocks(&schedule())
        };
        let costs = [0, 5, 25, 60, 500];
        let usual = |micros| blocks(BurstSize::for_datagrams(&schedule()), micros);
        assert_eq!(costs.map(usual), [4, 4, 4, 10, 17]);
        assert_eq!(costs.map(|micros| blocks(BurstSize::fixed(3), micros)), [3; 5]);
    }

    #[test]
    fn frames_go_one_by_one_where_there_is_time() {
        let frames = |megabits: u64| {
            let schedule =
                Schedule::new(BitRate::from_bits_per_second(megabits * 1_000_000), 1_450);
            BurstSize::for_frames(&schedule).blocks(&schedule)
        };
        // Each 58, 46 and 4.8 microseconds.
        assert_eq!([200, 250, 2_400].map(frames), [1, 4, 9]);
    }

    #[test]
    fn a_length_that_was_asked_stays() {
        let mut size = BurstSize::fixed(3);
        size.learn(Duration::from_millis(1), schedule().span(1));
        assert_eq!(size.blocks(&schedule()), 3);
    }
}
