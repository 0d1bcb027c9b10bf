//! The shaping of a link: rate, burst and queue.
//!
//! The terms are those of the token bucket filter, `tc-tbf(8)`, which counts Ethernet
//! frames without preamble, checksum and gap.

use std::num::NonZeroU64;
use std::time::Duration;

use linux::netlink::TokenBucket;

/// A rate to which a link can be shaped: not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate {
    bits_per_second: NonZeroU64,
}

impl Rate {
    /// A rate of `bits` bits per second; `None` for zero.
    pub const fn from_bits_per_second(bits: u64) -> Option<Self> {
        match NonZeroU64::new(bits) {
            Some(bits_per_second) => Some(Self { bits_per_second }),
            None => None,
        }
    }

    /// The rate in bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.bits_per_second.get()
    }

    /// The rate in bytes per second, rounded up so that it stays above zero.
    pub const fn bytes_per_second(self) -> u64 {
        self.bits_per_second.get().div_ceil(8)
    }

    /// The bytes that pass in `time`, at most `u32::MAX`.
    fn bytes_in(self, time: Duration) -> u32 {
        let bytes = u128::from(self.bytes_per_second()) * time.as_nanos() / NANOSECONDS_PER_SECOND;
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }
}

/// The shaping of a test link by a token bucket filter (tc-tbf(8)), for each direction separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// The sustained rate of Ethernet frames.
    pub rate: Rate,
    /// Bytes that may leave at once after a pause; at least one frame.
    pub burst_bytes: u32,
    /// Longest time that a frame waits in the queue; more frames are dropped.
    pub latency: Duration,
}

impl Shape {
    /// A shape with this rate, a burst of 4 ms at it, and a queue of 50 ms.
    ///
    /// The kernel refills the bucket by high-resolution timers, so that 4 ms are ample, and a short
    /// test gains little from the initial burst. The burst is at least two GSO packets of 64 KiB,
    /// so that a late timer does not reduce the rate.
    pub fn with_rate(rate: Rate) -> Self {
        let burst_bytes = rate.bytes_in(BURST_TIME).max(SMALLEST_BURST_BYTES);
        Self { rate, burst_bytes, latency: DEFAULT_LATENCY }
    }

    /// Limit of the queue in bytes: what passes in `latency` at the rate, and a burst.
    ///
    /// `tc` computes its limit in the same way: `rate * latency + burst` (`tc/q_tbf.c` of
    /// iproute2).
    pub fn limit_bytes(&self) -> u32 {
        let waiting = self.rate.bytes_in(self.latency);
        waiting.saturating_add(self.burst_bytes)
    }

    pub(crate) fn bucket(&self) -> TokenBucket {
        TokenBucket {
            rate_bytes_per_second: self.rate.bytes_per_second(),
            burst_bytes: self.burst_bytes,
            limit_bytes: self.limit_bytes(),
        }
    }
}

/// Two GSO packets of the largest size.
const SMALLEST_BURST_BYTES: u32 = 2 * 65_536;
/// Time in which a burst passes at the rate.
const BURST_TIME: Duration = Duration::from_millis(4);
const DEFAULT_LATENCY: Duration = Duration::from_millis(50);
const NANOSECONDS_PER_SECOND: u128 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(bits: u64) -> Rate {
        Rate::from_bits_per_second(bits).expect("not zero")
    }

    #[test]
    fn the_limit_is_rate_times_latency_plus_burst() {
        let shape = Shape {
            rate: rate(80_000_000),
            burst_bytes: 5_000,
            latency: Duration::from_millis(70),
        };
        assert_eq!(shape.limit_bytes(), 700_000 + 5_000);
    }

    #[test]
    fn the_default_burst_passes_in_4_ms_but_holds_two_large_packets() {
        assert_eq!(Shape::with_rate(rate(1_000_000_000)).burst_bytes, 500_000);
        assert_eq!(Shape::with_rate(rate(1)).burst_bytes, 131_072);
    }

    #[test]
    fn sizes_beyond_32_bits_saturate() {
        let shape = Shape::with_rate(rate(u64::MAX));
        assert_eq!(shape.burst_bytes, u32::MAX);
        assert_eq!(shape.limit_bytes(), u32::MAX);
    }

    #[test]
    fn a_rate_is_never_zero() {
        assert_eq!(Rate::from_bits_per_second(0), None);
        assert_eq!(rate(1).bytes_per_second(), 1);
    }
}
