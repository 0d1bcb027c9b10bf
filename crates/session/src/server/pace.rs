//! Whether a test that runs moves enough to keep its place when another client needs it.

use std::time::Duration;

use measurement::{BitRate, Timestamp};

use super::stay::{GRACE, Stay};

/// Each byte that moved pays for the time that it takes at the least rate. A test is idle when
/// it has used up what it paid.
pub(crate) struct Pace {
    below: BitRate,
    /// Bytes that had moved at the last look.
    seen: u64,
    /// The time that is paid.
    paid_until: Timestamp,
    last_look: Timestamp,
    next_look: Timestamp,
}

impl Pace {
    /// The pace of a test that starts `now` and must move no less than `below`. Of requests and
    /// responses a few in a second are enough.
    pub(crate) fn new(below: BitRate, has_exchange: bool, now: Timestamp) -> Self {
        let below = if has_exchange { below.min(OF_EXCHANGES) } else { below };
        Self::of(below, now)
    }

    fn of(below: BitRate, now: Timestamp) -> Self {
        let (paid_until, next_look) = (now.after(GRACE), now.after(LOOK_EVERY));
        Self { below, seen: 0, paid_until, last_look: now, next_look }
    }

    /// When to look next.
    pub(crate) const fn next_look(&self) -> Timestamp {
        self.next_look
    }

    /// Looks, if it is time for it, at the bytes that have `moved`, and tells `stay`.
    pub(crate) fn look(
        &mut self,
        now: Timestamp,
        least: Duration,
        moved: impl FnOnce() -> u64,
        stay: &Stay,
    ) {
        if now < self.next_look {
            return;
        }
        self.next_look = now.after(LOOK_EVERY.max(least));
        let moved = moved();
        let bits = moved.saturating_sub(self.seen).saturating_mul(8);
        self.seen = moved;
        let rate = self.below.bits_per_second();
        if rate == 0 {
            if bits > 0 {
                stay.prove();
            }
            return;
        }
        let nanos = u128::from(bits) * 1_000_000_000 / u128::from(rate);
        let paid = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)).min(MOST_PAID);
        // What it did not pay in time is not asked for later.
        self.paid_until = self.paid_until.max(self.last_look).after(paid).min(now.after(MOST_PAID));
        self.last_look = now;
        stay.be_busy_until(self.paid_until);
        if paid >= LOOK_EVERY {
            stay.prove();
        }
    }
}

const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Of 64 bytes each way, about one in ten seconds.
const OF_EXCHANGES: BitRate = BitRate::from_bits_per_second(100);
/// Blocks of a slow test come far apart; but no test pays for longer than that.
const MOST_PAID: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::super::stay::Displacement;
    use super::*;

    /// When a test is idle that moves `bytes` every `period`; none within a minute.
    fn idle_after(bytes: u64, period: Duration) -> Option<Duration> {
        let start = Timestamp::from_nanos(1);
        let (mut pace, stay) =
            (Pace::of(BitRate::from_bits_per_second(10_000), start), Stay::default());
        stay.be_busy_until(start.after(GRACE));
        (0..600).map(|step| Duration::from_millis(100) * step).find(|time| {
            let now = start.after(*time);
            let blocks = 1 + time.as_millis() / period.as_millis();
            let moved = bytes * u64::try_from(blocks).expect("few");
            pace.look(now, Duration::ZERO, || moved, &stay);
            stay.weakness(now) == Some(Displacement::Idle)
        })
    }

    #[test]
    fn a_trickle_is_idle_and_slow_blocks_are_not() {
        let five = Duration::from_secs(5);
        assert_eq!(idle_after(0, five), Some(Duration::from_secs(2)));
        assert_eq!(idle_after(1, five), Some(Duration::from_millis(2_100)));
        assert!(idle_after(600, Duration::from_millis(500)).is_some(), "9,600 bit/s");
        assert_eq!(idle_after(700, Duration::from_millis(500)), None, "11,200 bit/s");
        assert_eq!(idle_after(131_072, Duration::from_secs(8)), None, "a block at a time");
    }
}
