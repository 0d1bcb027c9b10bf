//! The number of blocks that go back to back: enough to keep the cost of a wake-up a small part
//! of their time, on a CPU that wakes soon and on one that wakes late.

use std::time::Duration;

use super::schedule::Schedule;

/// The number of blocks of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct BurstSize {
    least: usize,
    /// Whether it grows with the lateness of batches.
    grows: bool,
    /// An estimate of the 90th percentile of lateness in nanoseconds. It goes up by nine steps
    /// after a batch that is later, and down by one step after one that is not, so that a
    /// single stall does not make batches longer.
    lateness: u32,
}

impl BurstSize {
    /// A fixed number of blocks, at least one.
    pub(super) fn fixed(blocks: usize) -> Self {
        Self { least: blocks.max(1), grows: false, lateness: 0 }
    }

    /// A number of datagrams that keeps the cost of a wake-up low, and that is small where the
    /// datagrams take long.
    pub(super) fn for_datagrams(schedule: &Schedule) -> Self {
        let within = |span: Duration| schedule.blocks_within(span);
        let least = within(LONG).min(FEW).max(within(SHORT)).max(1);
        Self { least, grows: true, lateness: 0 }
    }

    /// A number of frames that keeps the cost of a wake-up low; one where a wake-up costs a small part
    /// of the time between two. The frames of a group wait for each other in a device.
    pub(super) fn for_frames(schedule: &Schedule) -> Self {
        match schedule.blocks_within(SHORT) {
            0 => Self { least: 1, grows: true, lateness: 0 },
            _ => Self::for_datagrams(schedule),
        }
    }

    /// Adapts to the lateness of a batch that was late because the worker woke late.
    pub(super) fn learn(&mut self, lateness: Duration) {
        self.lateness = if lateness > self.lateness() {
            self.lateness.saturating_add(9 * STEP)
        } else {
            self.lateness.saturating_sub(STEP)
        };
    }

    /// The number of blocks of the next batch.
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

/// So many datagrams do not fill a queue noticeably.
const FEW: usize = 4;
/// A batch has fewer than [`FEW`] datagrams if these would span more than this.
const LONG: Duration = Duration::from_micros(500);
/// A batch has more than [`FEW`] datagrams if these would span less than this, which is about
/// ten times the least cost of a wake-up.
const SHORT: Duration = Duration::from_micros(47);
/// Batches do not grow beyond this many datagrams: more take longer to send than they may.
const MOST: usize = 256;
/// Batches do not grow beyond this time at the rate: more at once would fill queues.
const LONGEST: Duration = Duration::from_millis(1);
/// A batch spans this many times its usual lateness; lateness up to that part of its span does
/// not delay the next batch.
pub(super) const LEEWAY: u32 = 3;
/// Nanoseconds. After about fifty batches the estimate follows a CPU that sleeps deeper.
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
        (0..4_000).for_each(|_| size.learn(Duration::from_micros(micros)));
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
        size.learn(Duration::from_millis(1));
        assert_eq!(size.blocks(&schedule()), 3);
    }
}
