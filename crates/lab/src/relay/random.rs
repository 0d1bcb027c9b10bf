//! Random decisions that can be made again: the same seed, the same decisions.

/// `SplitMix64` (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) const fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// Whether something happens that does so in this share of cases, from 0 to 1.
    pub(super) fn happens(&mut self, share: f64) -> bool {
        // 53 bits are what a number of that type holds exactly.
        let drawn = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        drawn < share
    }

    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_kept_and_can_be_repeated() {
        let draw = || {
            let mut random = Random::seeded(7);
            (0..100_000).filter(|_| random.happens(0.1)).count()
        };
        assert!((9_500..10_500).contains(&draw()), "{}", draw());
        assert_eq!(draw(), draw());
    }

    #[test]
    fn never_and_always_are_what_they_say() {
        let mut random = Random::seeded(1);
        assert!((0..1_000).all(|_| !random.happens(0.0) && random.happens(1.0)));
    }
}
