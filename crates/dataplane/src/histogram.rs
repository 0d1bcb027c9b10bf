//! Histograms with logarithmic buckets, as in HdrHistogram: written while a test runs, read by
//! any thread.

use std::sync::atomic::Ordering::Relaxed;

use measurement::Quantiles;
use portable_atomic::AtomicU64;

/// Counts of values: below 2^`BITS` exactly, above to within one part of 2^`BITS`.
#[derive(Debug)]
pub struct Histogram<const BITS: u32> {
    counts: Box<[AtomicU64]>,
    largest: AtomicU64,
}

impl<const BITS: u32> Default for Histogram<BITS> {
    fn default() -> Self {
        let counts = (0..buckets(BITS)).map(|_| AtomicU64::new(0)).collect();
        Self { counts, largest: AtomicU64::new(0) }
    }
}

impl<const BITS: u32> Histogram<BITS> {
    /// Counts a value. Only one thread calls it.
    pub fn add(&self, value: u64) {
        let count = &self.counts[bucket_of(BITS, value)];
        count.store(count.load(Relaxed) + 1, Relaxed);
        if value > self.largest.load(Relaxed) {
            self.largest.store(value, Relaxed);
        }
    }

    /// Counts a value. Any thread calls it.
    pub fn add_shared(&self, value: u64) {
        self.counts[bucket_of(BITS, value)].fetch_add(1, Relaxed);
        if value > self.largest.load(Relaxed) {
            self.largest.fetch_max(value, Relaxed);
        }
    }

    /// Forgets all values.
    pub fn clear(&self) {
        self.counts.iter().for_each(|count| count.store(0, Relaxed));
        self.largest.store(0, Relaxed);
    }
}

/// Several histograms read as one.
#[derive(Debug)]
pub struct Reading<const BITS: u32> {
    counts: Vec<u64>,
    largest: u64,
}

impl<const BITS: u32> Reading<BITS> {
    /// The sum of several histograms.
    pub fn sum<'a>(histograms: impl Iterator<Item = &'a Histogram<BITS>>) -> Self {
        let mut reading = Self { counts: vec![0; buckets(BITS)], largest: 0 };
        for histogram in histograms {
            for (sum, count) in reading.counts.iter_mut().zip(&histogram.counts) {
                *sum += count.load(Relaxed);
            }
            reading.largest = reading.largest.max(histogram.largest.load(Relaxed));
        }
        reading
    }

    /// The values that came after an `earlier` reading of the same histograms; the largest of them
    /// is the upper end of its bucket.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let pairs = self.counts.iter().zip(&earlier.counts);
        let counts: Vec<_> = pairs.map(|(now, then)| now.saturating_sub(*then)).collect();
        let last = counts.iter().rposition(|count| *count > 0);
        let largest = last.map_or(0, |last| upper_end(BITS, last).min(self.largest));
        Self { counts, largest }
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The largest value, exactly.
    pub const fn largest(&self) -> u64 {
        self.largest
    }

    /// The upper end and the count of each bucket that is not empty.
    pub fn filled(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(bucket, count)| (upper_end(BITS, bucket).min(self.largest), *count))
    }

    /// Median, 99th percentile and maximum.
    pub fn quantiles(&self) -> Quantiles {
        Quantiles { p50: self.quantile(500), p99: self.quantile(990), max: self.largest }
    }

    /// The value that `permille` of a thousand values do not exceed: the upper end of its
    /// bucket.
    pub fn quantile(&self, permille: u128) -> u64 {
        let all: u128 = self.counts.iter().copied().map(u128::from).sum();
        let mut below = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            below += u128::from(*count);
            if below > 0 && below * 1000 >= all * permille {
                return upper_end(BITS, bucket).min(self.largest);
            }
        }
        0
    }

    /// One count for each power of two, up to the last that is not zero.
    pub fn powers_of_two(&self) -> Vec<u64> {
        let mut powers = vec![0; u64::BITS as usize];
        for (bucket, count) in self.counts.iter().enumerate() {
            powers[upper_end(BITS, bucket).max(1).ilog2() as usize] += count;
        }
        let used = powers.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
        powers.truncate(used);
        powers
    }
}

/// 2^`bits` buckets for each power of two, as in HdrHistogram.
#[expect(clippy::cast_possible_truncation, reason = "what is cast is a number of buckets")]
const fn bucket_of(bits: u32, value: u64) -> usize {
    let parts = 1 << bits;
    if value < parts {
        return value as usize;
    }
    let power = value.ilog2();
    let part = (value >> (power - bits)) - parts;
    ((power - bits + 1) as usize) * parts as usize + part as usize
}

const fn upper_end(bits: u32, bucket: usize) -> u64 {
    let parts = 1 << bits;
    let (power, part) = (bucket as u64 / parts, bucket as u64 % parts);
    if power == 0 {
        return part;
    }
    let last = (1_u64 << (power - 1)) - 1;
    ((parts + part) << (power - 1)) + last
}

const fn buckets(bits: u32) -> usize {
    bucket_of(bits, u64::MAX) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_bucket() {
        for value in (0..1_000).chain((3..64).flat_map(|power| {
            let power = 1_u64 << power;
            [power - 1, power, power + power / 8 - 1, power + power / 8]
        })) {
            for bits in [3, 8] {
                let bucket = bucket_of(bits, value);
                assert!(value <= upper_end(bits, bucket), "{value}");
                assert!(bucket == 0 || value > upper_end(bits, bucket - 1), "{value}");
            }
        }
        assert_eq!(upper_end(3, bucket_of(3, u64::MAX)), u64::MAX);
    }

    #[test]
    fn quantiles_are_those_of_all_histograms_together() {
        let (one, two) = (Histogram::<3>::default(), Histogram::default());
        (0..98).for_each(|_| one.add(4));
        two.add(5);
        two.add(1_000);
        let reading = Reading::sum([&one, &two].into_iter());
        assert_eq!(reading.quantiles(), Quantiles { p50: 4, p99: 5, max: 1_000 });
        assert_eq!(reading.powers_of_two(), [0, 0, 99, 0, 0, 0, 0, 0, 0, 1]);
        let empty = Reading::<3>::sum(std::iter::empty());
        assert_eq!((empty.quantiles(), empty.powers_of_two()), (Quantiles::default(), vec![]));
    }
}
