//! Counts of one flow at the receiver: what arrived, twice, or after a later frame (RFC 4737).

use dataplane::udp::{Arrival, Sequence};

/// Counts of a flow, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// Frames that arrived, duplicates included.
    pub received: u64,
    /// Frames that had arrived before.
    pub duplicates: u64,
    /// Frames that arrived after one that was sent later.
    pub reordered: u64,
}

impl FlowCounts {
    /// Different frames that arrived.
    pub const fn unique(&self) -> u64 {
        self.received - self.duplicates
    }

    /// The counts of both.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            received: self.received + other.received,
            duplicates: self.duplicates + other.duplicates,
            reordered: self.reordered + other.reordered,
        }
    }
}

/// Counts a flow by the sequence numbers that arrive, from 0 on.
#[derive(Clone, Debug)]
pub(crate) struct FlowCounter {
    counts: FlowCounts,
    sequence: Sequence,
}

impl Default for FlowCounter {
    fn default() -> Self {
        Self { counts: FlowCounts::default(), sequence: Sequence::with_window(WINDOW) }
    }
}

impl FlowCounter {
    pub(crate) const fn counts(&self) -> FlowCounts {
        self.counts
    }

    pub(crate) fn arrived(&mut self, sequence: u32) {
        self.counts.received += 1;
        match self.sequence.record(self.sequence.widen(sequence.wrapping_add(1))) {
            Arrival::New => {}
            Arrival::Duplicate => self.counts.duplicates += 1,
            // Of what is older nothing is known: it counts as new.
            Arrival::Reordered | Arrival::Late | Arrival::Absurd => self.counts.reordered += 1,
        }
    }
}

/// Frames within which a duplicate is known as such.
const WINDOW: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(sequences: impl IntoIterator<Item = u32>) -> (u64, u64, u64) {
        let mut counter = FlowCounter::default();
        sequences.into_iter().for_each(|sequence| counter.arrived(sequence));
        let counts = counter.counts();
        (counts.received, counts.duplicates, counts.reordered)
    }

    #[test]
    fn frames_in_order_are_neither_late_nor_twice() {
        assert_eq!(counts(0..5_000), (5_000, 0, 0));
        assert_eq!(counts((0..5_000).step_by(3)), (1_667, 0, 0));
    }

    #[test]
    fn duplicates_and_late_frames_are_told_apart() {
        assert_eq!(counts([0, 1, 1, 2]), (4, 1, 0));
        assert_eq!(counts([0, 2, 1, 3]), (4, 0, 1));
        assert_eq!(counts([0, 2, 1, 1, 2]), (5, 2, 1));
        // Farther back than the window nothing is remembered.
        assert_eq!(counts([0, 5_000, 0]), (3, 0, 1));
        assert_eq!(counts([0, 1_023, 0, 1_024, 1_024 - 1_023]), (5, 1, 1));
    }

    #[test]
    fn numbers_wrap_around() {
        let to_the_end = (1..4).map(|quarter| quarter << 30);
        let around = [u32::MAX - 1, u32::MAX, 0, 1, u32::MAX];
        assert_eq!(counts(to_the_end.chain(around)), (8, 1, 0));
    }
}
