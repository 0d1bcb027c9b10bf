//! Classifies datagrams by their sequence numbers alone: new, reordered (RFC 4737), duplicate,
//! late.

/// The sequence numbers that a receiver has seen: the highest, and a window of the last ones, 65,536 by
/// default.
#[derive(Clone, Debug)]
pub struct Sequence {
    highest: u64,
    seen: Box<[u64]>,
}

/// The class of a received datagram, by its sequence number: new, reordered, duplicate, late or
/// absurd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The sequence number is higher than all before.
    New,
    /// The sequence number was not seen before, but a higher one was (RFC 4737, section 3).
    Reordered,
    /// The sequence number was seen before.
    Duplicate,
    /// The sequence number lies behind the window: the datagram is reordered or a duplicate.
    Late,
    /// The sequence number is so far ahead that no sender can have reached it: the header is
    /// damaged.
    Absurd,
}

impl Default for Sequence {
    fn default() -> Self {
        Self::with_window(WINDOW)
    }
}

impl Sequence {
    /// No number was seen; the window has so many, rounded up to a multiple of 64.
    pub fn with_window(numbers: usize) -> Self {
        Self { highest: 0, seen: vec![0; numbers.div_ceil(64)].into_boxed_slice() }
    }

    const fn window(&self) -> u64 {
        self.seen.len() as u64 * 64
    }

    /// The highest sequence number received so far; 0: no datagram has arrived.
    pub const fn highest(&self) -> u64 {
        self.highest
    }

    /// The 64-bit sequence number whose low 32 bits are `low`, as a sender with 32-bit numbers
    /// sends them: the one closest to the highest so far.
    pub const fn widen(&self, low: u32) -> u64 {
        #[expect(clippy::cast_possible_truncation, reason = "the low half is meant")]
        let ahead = low.wrapping_sub(self.highest as u32).cast_signed();
        self.highest.saturating_add_signed(ahead as i64)
    }

    /// Classifies a datagram with this sequence number, and marks the number as seen.
    pub fn record(&mut self, number: u64) -> Arrival {
        if number > self.highest {
            if number - self.highest > LONGEST_GAP {
                return Arrival::Absurd;
            }
            self.advance(number);
            self.mark(number);
            return Arrival::New;
        }
        // 0 is no number that a sender uses (clause 12.3 of the iperf3 protocol).
        if number == 0 || self.highest - number >= self.window() {
            return Arrival::Late;
        }
        if self.mark(number) { Arrival::Reordered } else { Arrival::Duplicate }
    }

    /// Marks the `count` numbers that follow the highest as seen. [`Self::record`] of each of them,
    /// one after another, does the same.
    pub fn advance_in_order(&mut self, count: u64) {
        let mut left = count;
        while left > 0 {
            let (word, bit) = self.place(self.highest + 1);
            // As many as the word has room for.
            let marked = u64::from(64 - bit.trailing_zeros()).min(left);
            self.seen[word] |= (u64::MAX >> (64 - marked)) << bit.trailing_zeros();
            self.highest += marked;
            left -= marked;
        }
    }

    /// Moves the window so that `number` is its last, and clears the marks that left it.
    fn advance(&mut self, number: u64) {
        if number - self.highest >= self.window() {
            self.seen.fill(0);
        } else {
            for passed in self.highest + 1..=number {
                let (word, bit) = self.place(passed);
                self.seen[word] &= !bit;
            }
        }
        self.highest = number;
    }

    /// Marks the number, and returns whether it was not marked before.
    fn mark(&mut self, number: u64) -> bool {
        let (word, bit) = self.place(number);
        let fresh = self.seen[word] & bit == 0;
        self.seen[word] |= bit;
        fresh
    }

    const fn place(&self, number: u64) -> (usize, u64) {
        let position = number % self.window();
        ((position / 64) as usize, 1 << (position % 64))
    }
}

/// More than any link loses at once: 20 s at 200 million datagrams a second.
const LONGEST_GAP: u64 = 1 << 32;
const WINDOW: usize = 65_536;

#[cfg(test)]
mod tests {
    use super::Arrival::{Absurd, Duplicate, Late, New, Reordered};
    use super::*;

    fn arrivals(numbers: &[u64]) -> Vec<Arrival> {
        let mut sequence = Sequence::default();
        numbers.iter().map(|number| sequence.record(*number)).collect()
    }

    #[test]
    fn order_repetition_and_delay_are_told_apart() {
        assert_eq!(arrivals(&[1, 2, 4, 3, 3, 4]), [New, New, New, Reordered, Duplicate, Duplicate]);
        assert_eq!(arrivals(&[70_000, 4_464, 4_465]), [New, Late, Reordered]);
        assert_eq!(arrivals(&[0]), [Late]);
    }

    #[test]
    fn numbers_that_left_the_window_are_forgotten() {
        assert_eq!(arrivals(&[5, 65_541, 65_540, 6]), [New, New, Reordered, Reordered]);
        let far = 1 << 32;
        assert_eq!(arrivals(&[5, far, far]), [New, New, Duplicate]);
        assert_eq!(arrivals(&[5, far + 6, 6]), [New, Absurd, New]);
    }

    #[test]
    fn numbers_in_order_are_marked_as_one_by_one() {
        let mut together = Sequence::default();
        let mut apart = Sequence::default();
        for count in [1, 0, 62, 1, 64, 3, 200, 65_535, 65_536, 70_000, u64::from(u16::MAX)] {
            together.advance_in_order(count);
            (0..count).for_each(|_| assert_eq!(apart.record(apart.highest() + 1), New));
            assert_eq!((together.highest, &together.seen), (apart.highest, &apart.seen));
            // A gap, of which the window keeps the places free.
            let beyond = together.highest + 77;
            assert_eq!((together.record(beyond), apart.record(beyond)), (New, New));
        }
        let mut last = Sequence { highest: u64::MAX - 3, ..Sequence::default() };
        last.advance_in_order(3);
        assert_eq!((last.highest, last.record(u64::MAX)), (u64::MAX, Duplicate));
    }

    #[test]
    fn a_narrow_counter_is_followed_beyond_its_wrap() {
        let mut sequence = Sequence::default();
        for number in [1, 1 << 31, u64::from(u32::MAX)] {
            sequence.record(number);
        }
        assert_eq!(sequence.widen(2), (1 << 32) + 2);
        assert_eq!(sequence.widen(u32::MAX - 5), u64::from(u32::MAX) - 5);
        assert_eq!(Sequence::default().widen(3), 3);
    }
}
