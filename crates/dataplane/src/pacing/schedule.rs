//! The schedule of a paced stream: the times at which blocks are due if none is ever late.

use std::time::Duration;

use measurement::{BitRate, Timestamp};

/// Times that lie one gap apart, in picoseconds: at 10 Gbit/s a nanosecond would be two percent
/// of the gap between small datagrams.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    gap_picos: u128,
    next_picos: u128,
}

impl Schedule {
    /// A schedule of blocks of `block` bytes at `rate`. Rate zero is unlimited: there are no
    /// gaps.
    pub(super) fn new(rate: BitRate, block: u64) -> Self {
        let bits = u128::from(block) * 8;
        let gap_picos = (bits * PICOS_PER_SECOND)
            .checked_div(rate.bits_per_second().into())
            .unwrap_or_default();
        Self { gap_picos, next_picos: 0 }
    }

    /// Makes the first block due at `now`.
    pub(super) fn start(&mut self, now: Timestamp) {
        self.next_picos = u128::from(now.nanos()) * PICOS_PER_NANO;
    }

    /// The time when the next block is due.
    pub(super) fn next(&self) -> Timestamp {
        Timestamp::from_nanos(narrow(self.next_picos / PICOS_PER_NANO))
    }

    /// Moves on by `count` blocks, which were sent.
    pub(super) fn advance(&mut self, count: usize) {
        self.next_picos = self.next_picos.saturating_add(self.gap_picos * count as u128);
    }

    /// Makes all later blocks due `span` later.
    pub(super) const fn delay(&mut self, span: Duration) {
        self.next_picos = self.next_picos.saturating_add(span.as_nanos() * PICOS_PER_NANO);
    }

    /// The time that `count` blocks take.
    pub(super) fn span(&self, count: usize) -> Duration {
        Duration::from_nanos(narrow(self.gap_picos * count as u128 / PICOS_PER_NANO))
    }

    /// The number of blocks that take no longer than `span`.
    pub(super) fn blocks_within(&self, span: Duration) -> usize {
        let picos = span.as_nanos() * PICOS_PER_NANO;
        picos.checked_div(self.gap_picos).map_or(1, |count| count.try_into().unwrap_or(usize::MAX))
    }
}

fn narrow(nanos: u128) -> u64 {
    u64::try_from(nanos).unwrap_or(u64::MAX)
}

const PICOS_PER_NANO: u128 = 1_000;
const PICOS_PER_SECOND: u128 = 1_000_000_000_000;
