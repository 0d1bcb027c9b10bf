//! Counts of one flow at the receiver: what arrived, twice, or after a later frame (RFC 4737).

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

/// Counts a flow by the sequence numbers that arrive.
#[derive(Clone, Debug)]
pub(crate) struct FlowCounter {
    counts: FlowCounts,
    /// The number after the highest that arrived.
    next: u32,
    /// A bit for each of the last numbers, whether it arrived.
    seen: [u64; WORDS],
}

impl FlowCounter {
    pub(crate) const fn new() -> Self {
        let counts = FlowCounts { received: 0, duplicates: 0, reordered: 0 };
        Self { counts, next: 0, seen: [0; WORDS] }
    }

    pub(crate) const fn counts(&self) -> FlowCounts {
        self.counts
    }

    pub(crate) fn arrived(&mut self, sequence: u32) {
        self.counts.received += 1;
        let ahead = sequence.wrapping_sub(self.next);
        if ahead < u32::MAX / 2 {
            self.forget(ahead);
            self.next = sequence.wrapping_add(1);
            self.mark(sequence);
            return;
        }
        let behind = self.next.wrapping_sub(sequence);
        // Of what is older nothing is known: it counts as new.
        if behind <= WINDOW && self.is_marked(sequence) {
            self.counts.duplicates += 1;
            return;
        }
        self.counts.reordered += 1;
        if behind <= WINDOW {
            self.mark(sequence);
        }
    }

    /// Clears the bits of `ahead` numbers from the next on.
    fn forget(&mut self, ahead: u32) {
        if ahead >= WINDOW {
            self.seen = [0; WORDS];
            return;
        }
        for number in 0..=ahead {
            let (word, bit) = place(self.next.wrapping_add(number));
            self.seen[word] &= !bit;
        }
    }

    fn mark(&mut self, sequence: u32) {
        let (word, bit) = place(sequence);
        self.seen[word] |= bit;
    }

    fn is_marked(&self, sequence: u32) -> bool {
        let (word, bit) = place(sequence);
        self.seen[word] & bit != 0
    }
}

const fn place(sequence: u32) -> (usize, u64) {
    let at = sequence % WINDOW;
    ((at / 64) as usize, 1 << (at % 64))
}

/// Frames within which a duplicate is known as such.
const WINDOW: u32 = 1024;
const WORDS: usize = WINDOW as usize / 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(sequences: impl IntoIterator<Item = u32>) -> (u64, u64, u64) {
        let mut counter = FlowCounter::new();
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
        let mut counter = FlowCounter::new();
        counter.next = u32::MAX - 1;
        for sequence in [u32::MAX - 1, u32::MAX, 0, 1, u32::MAX] {
            counter.arrived(sequence);
        }
        assert_eq!(counter.counts(), FlowCounts { received: 5, duplicates: 1, reordered: 0 });
    }
}
