//! Random numbers that a seed repeats. Not for secrets.

/// A sequence of numbers.
#[derive(Clone, Debug)]
pub(super) struct Random(fastrand::Rng);

impl Random {
    /// The sequence of a seed.
    pub(super) const fn from_seed(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// A seed that is new each time.
    pub(super) fn fresh_seed() -> u64 {
        linux::entropy::random().map_or(1, u64::from_le_bytes)
    }

    /// A number below `bound`; 0 if there is none.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0.usize(..bound.max(1))
    }

    /// One of a list.
    pub(super) fn one_of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    pub(super) fn byte(&mut self) -> u8 {
        self.0.u8(..)
    }

    pub(super) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.byte()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_below_their_bound() {
        let mut random = Random::from_seed(1);
        assert!((0..1000).all(|_| random.below(3) < 3));
        assert_eq!(random.below(0), 0);
    }
}
