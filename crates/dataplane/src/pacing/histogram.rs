//! How often values of each size came: written by one thread, read by any.

use std::sync::atomic::Ordering::Relaxed;

use measurement::Quantiles;
use portable_atomic::AtomicU64;

/// Counts of values: below eight exactly, above to within an eighth.
#[derive(Debug)]
pub(super) struct Histogram {
    counts: [AtomicU64; BUCKETS],
    largest: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: [const { AtomicU64::new(0) }; BUCKETS], largest: AtomicU64::new(0) }
    }
}

impl Histogram {
    /// Counts a value. Only one thread calls it.
    pub(super) fn add(&self, value: u64) {
        let count = &self.counts[bucket_of(value)];
        count.store(count.load(Relaxed) + 1, Relaxed);
        if value > self.largest.load(Relaxed) {
            self.largest.store(value, Relaxed);
        }
    }
}

/// Several histograms read as one.
#[derive(Debug)]
pub(super) struct Reading {
    counts: [u64; BUCKETS],
    largest: u64,
}

impl Reading {
    pub(super) fn of<'a>(histograms: impl Iterator<Item = &'a Histogram>) -> Self {
        let mut reading = Self { counts: [0; BUCKETS], largest: 0 };
        for histogram in histograms {
            for (sum, count) in reading.counts.iter_mut().zip(&histogram.counts) {
                *sum += count.load(Relaxed);
            }
            reading.largest = reading.largest.max(histogram.largest.load(Relaxed));
        }
        reading
    }

    pub(super) fn quantiles(&self) -> Quantiles {
        Quantiles { p50: self.quantile(50), p99: self.quantile(99), max: self.largest }
    }

    /// The upper end of the bucket that holds the value.
    fn quantile(&self, percent: u128) -> u64 {
        let all: u128 = self.counts.iter().copied().map(u128::from).sum();
        let mut below = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            below += u128::from(*count);
            if below > 0 && below * 100 >= all * percent {
                return upper_end(bucket).min(self.largest);
            }
        }
        0
    }

    /// One count for each power of two, up to the last that is not zero.
    pub(super) fn powers_of_two(&self) -> Vec<u64> {
        let mut powers = vec![0; u64::BITS as usize];
        for (bucket, count) in self.counts.iter().enumerate() {
            powers[upper_end(bucket).max(1).ilog2() as usize] += count;
        }
        let used = powers.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
        powers.truncate(used);
        powers
    }
}

/// Eight buckets for each power of two, as in HdrHistogram.
#[expect(clippy::cast_possible_truncation, reason = "what is cast is below eight")]
const fn bucket_of(value: u64) -> usize {
    if value < EIGHT {
        return value as usize;
    }
    let power = value.ilog2();
    let eighth = (value >> (power - 3)) - EIGHT;
    (power as usize - 2) * EIGHT as usize + eighth as usize
}

const fn upper_end(bucket: usize) -> u64 {
    let (power, eighth) = (bucket as u64 / EIGHT, bucket as u64 % EIGHT);
    if power == 0 {
        return eighth;
    }
    let last = (1_u64 << (power - 1)) - 1;
    ((EIGHT + eighth) << (power - 1)) + last
}

const EIGHT: u64 = 8;
const BUCKETS: usize = bucket_of(u64::MAX) + 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_bucket() {
        for value in (0..1_000).chain((3..64).flat_map(|power| {
            let power = 1_u64 << power;
            [power - 1, power, power + power / 8 - 1, power + power / 8]
        })) {
            let bucket = bucket_of(value);
            assert!(value <= upper_end(bucket), "{value}");
            assert!(bucket == 0 || value > upper_end(bucket - 1), "{value}");
        }
        assert_eq!(upper_end(bucket_of(u64::MAX)), u64::MAX);
    }

    #[test]
    fn quantiles_are_those_of_all_histograms_together() {
        let (one, two) = (Histogram::default(), Histogram::default());
        (0..98).for_each(|_| one.add(4));
        two.add(5);
        two.add(1_000);
        let reading = Reading::of([&one, &two].into_iter());
        assert_eq!(reading.quantiles(), Quantiles { p50: 4, p99: 5, max: 1_000 });
        assert_eq!(reading.powers_of_two(), [0, 0, 99, 0, 0, 0, 0, 0, 0, 1]);
        let empty = Reading::of(std::iter::empty());
        assert_eq!((empty.quantiles(), empty.powers_of_two()), (Quantiles::default(), vec![]));
    }
}
