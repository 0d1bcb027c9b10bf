//! When the next block is due at a given rate.

use std::time::Duration;

use measurement::{BitRate, Timestamp};

/// Spaces blocks evenly in time. A short stall is made up for; the deficit of a
/// long one is dropped, because a burst at line rate is not the rate asked for.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    gap: Duration,
    /// Blocks that go back to back when the first of them is due.
    burst: usize,
    /// What is left of a burst that has begun.
    begun: usize,
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
        let longest_deficit = longest.max(gap);
        Self { gap, burst: 1, begun: 0, longest_deficit, due: None, stalled: Duration::ZERO }
    }

    /// Lets `burst` blocks go back to back whenever the rate allows the first of them; it
    /// then waits until the average is the rate again. At least one.
    #[must_use]
    pub fn with_burst(mut self, burst: usize) -> Self {
        self.burst = burst.max(1);
        let whole = self.gap.saturating_mul(u32::try_from(self.burst).unwrap_or(u32::MAX));
        self.longest_deficit = self.longest_deficit.max(whole);
        self
    }

    /// How many of `most` blocks may go now; none: when the next one is due.
    pub fn allowance(&mut self, now: Timestamp, most: usize) -> Result<usize, Timestamp> {
        let due = *self.due.get_or_insert(now);
        if now < due && self.begun == 0 {
            return Err(due);
        }
        let owed = self.owed(now, due);
        if owed > 0 && self.begun == 0 {
            self.begun = self.burst;
        }
        Ok(owed.max(self.begun).min(most))
    }

    /// How many blocks are due, if any.
    fn owed(&mut self, now: Timestamp, due: Timestamp) -> usize {
        if now < due {
            return 0;
        }
        let behind = now.since(due);
        if behind > self.longest_deficit {
            self.stalled += behind;
            self.due = Some(now);
            return 1;
        }
        let gap = self.gap.as_nanos().max(1);
        usize::try_from(behind.as_nanos() / gap).unwrap_or(usize::MAX).saturating_add(1)
    }

    /// `count` blocks went.
    pub fn sent(&mut self, count: usize) {
        self.begun = self.begun.saturating_sub(count);
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
    fn a_burst_goes_at_once_when_its_first_block_is_due() {
        let mut pacer = pacer().with_burst(10);
        assert_eq!(pacer.allowance(at(0), 64), Ok(10));
        pacer.sent(10);
        assert_eq!(pacer.allowance(at(999), 64), Err(at(1_000)));
        assert_eq!(pacer.allowance(at(1_000), 4), Ok(4));
        pacer.sent(4);
        // The rest of a burst waits for nothing, though the average is above the rate.
        assert_eq!(pacer.allowance(at(1_001), 64), Ok(6));
        pacer.sent(6);
        assert_eq!(pacer.allowance(at(1_002), 64), Err(at(2_000)));
    }

    #[test]
    fn the_average_of_bursts_is_the_rate_even_block_by_block() {
        let mut pacer = pacer().with_burst(7);
        let mut sent = 0;
        for step in 0..10_000 {
            if pacer.allowance(at(step * 10), 1).is_ok() {
                pacer.sent(1);
                sent += 1;
            }
        }
        assert!((1_000..=1_007).contains(&sent), "{sent} blocks in 100 ms");
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
