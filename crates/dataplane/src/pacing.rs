//! When the next block is due at a given rate.

use std::time::Duration;

use measurement::{BitRate, Timestamp};

/// Spaces blocks evenly in time. A short stall is made up for; the deficit of a
/// long one is dropped, because a burst at line rate is not the rate asked for.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    gap: Duration,
    /// What it makes up for at the most; a block that is due is none.
    longest_deficit: Duration,
    due: Option<Timestamp>,
    stalled: Duration,
}

impl Pacer {
    /// Datagrams of `length` bytes at `rate`. After a stall of more than 10 ms it does
    /// not catch up: the receiver's buffer may hold no more.
    pub fn of_datagrams(rate: BitRate, length: u64) -> Self {
        Self::new(rate, length, Duration::from_millis(10))
    }

    /// Blocks of `block` bytes of a byte stream at `rate`, whose network delays them
    /// now and then; it does not catch up with more than 100 ms.
    pub fn of_blocks(rate: BitRate, block: u64) -> Self {
        Self::new(rate, block, Duration::from_millis(100))
    }

    fn new(rate: BitRate, block: u64, longest: Duration) -> Self {
        let gap = rate.time_for(block);
        Self { gap, longest_deficit: longest.max(gap), due: None, stalled: Duration::ZERO }
    }

    /// How many of `most` blocks may go now; none: when the next one is due.
    pub fn allowance(&mut self, now: Timestamp, most: usize) -> Result<usize, Timestamp> {
        let due = *self.due.get_or_insert(now);
        if now < due {
            return Err(due);
        }
        let behind = now.since(due);
        if behind > self.longest_deficit {
            self.stalled += behind;
            self.due = Some(now);
            return Ok(1.min(most));
        }
        let gap = self.gap.as_nanos().max(1);
        let owed = usize::try_from(behind.as_nanos() / gap).unwrap_or(usize::MAX);
        Ok(owed.saturating_add(1).min(most))
    }

    /// `count` blocks went.
    pub fn sent(&mut self, count: usize) {
        if let Some(due) = &mut self.due {
            *due = due.after(self.gap * u32::try_from(count).unwrap_or(u32::MAX));
        }
    }

    /// Time whose blocks were dropped because the sender had stalled.
    pub const fn stalled(&self) -> Duration {
        self.stalled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Timestamp {
        Timestamp::from_nanos(1_000_000_000 + micros * 1_000)
    }

    /// One block of 125 bytes each 100 microseconds.
    fn pacer() -> Pacer {
        Pacer::of_datagrams(BitRate::from_bits_per_second(10_000_000), 125)
    }

    #[test]
    fn blocks_are_due_one_gap_apart() {
        let mut pacer = pacer();
        assert_eq!(pacer.allowance(at(0), 64), Ok(1));
        pacer.sent(1);
        assert_eq!(pacer.allowance(at(40), 64), Err(at(100)));
        assert_eq!(pacer.allowance(at(100), 64), Ok(1));
    }

    #[test]
    fn a_short_stall_is_made_up_for_and_a_long_one_is_not() {
        let mut pacer = pacer();
        assert_eq!(pacer.allowance(at(0), 64), Ok(1));
        pacer.sent(1);
        assert_eq!(pacer.allowance(at(450), 64), Ok(4));
        assert_eq!(pacer.allowance(at(450), 2), Ok(2));
        pacer.sent(4);
        assert_eq!(pacer.allowance(at(900_000), 64), Ok(1));
        assert!(pacer.stalled() > Duration::from_millis(800));
        pacer.sent(1);
        assert_eq!(pacer.allowance(at(900_001), 64), Err(at(900_100)));
    }

    #[test]
    fn slow_datagrams_are_not_taken_for_stalls() {
        let mut pacer = Pacer::of_datagrams(BitRate::from_bits_per_second(8_000), 100);
        for step in 0..10 {
            assert_eq!(pacer.allowance(at(step * 100_000 + 15_000), 64), Ok(1));
            pacer.sent(1);
        }
        assert_eq!(pacer.stalled(), Duration::ZERO);
    }

    #[test]
    fn the_average_is_the_rate() {
        let mut pacer = pacer();
        let mut sent = 0;
        for step in 0..1_000 {
            if let Ok(count) = pacer.allowance(at(step * 70), 64) {
                pacer.sent(count);
                sent += count;
            }
        }
        assert!((698..=701).contains(&sent), "{sent} blocks in 70 ms");
    }
}
