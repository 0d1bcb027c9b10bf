//! Where the mean of a row of values changes.
//!
//! Optimal partitioning: of all ways to cut the row the one with the least sum of squares
//! about the means of its parts, and a penalty for each cut (B. Jackson et al.: An algorithm
//! for optimal partitioning of data on an interval, IEEE Signal Processing Letters 12, 2005;
//! the recursion of PELT, R. Killick, P. Fearnhead, I. A. Eckley: JASA 107, 2012, without its
//! pruning, which gains nothing where nothing changes). The noise is taken from the
//! differences of neighbours, on which few changes have no hold.

use std::ops::Range;

use measurement::upper_median;

/// The parts of `values` whose means differ, in order. Values that are made of whole grains
/// differ by one of these without a change.
pub(super) fn stretches(values: &[f64], grain: f64) -> Vec<Range<usize>> {
    let noise = noise(values).max(SMALLEST * median(values.iter().copied())).max(grain);
    if noise <= 0.0 {
        return std::iter::once(0..values.len()).collect();
    }
    let sums = Sums::from_values(values, noise);
    merged(partition(&sums, values.len()), &sums)
}

/// Standard deviation, by the median of the differences of neighbours, which have twice the
/// variance. For a normal distribution it is 1.4826 times the median (F. R. Hampel: JASA 69,
/// 1974).
fn noise(values: &[f64]) -> f64 {
    let differences = values.windows(2).map(|pair| (pair[1] - pair[0]).abs());
    1.4826 * median(differences) / std::f64::consts::SQRT_2
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    upper_median(values, f64::total_cmp).unwrap_or(0.0)
}

/// Sums from the begin to each index, of the values in units of the noise, about their
/// median so that large numbers do not drown small differences.
struct Sums {
    plain: Vec<f64>,
    squares: Vec<f64>,
    middle: f64,
}

impl Sums {
    fn from_values(values: &[f64], noise: f64) -> Self {
        let middle = median(values.iter().copied()) / noise;
        let mut sums = Self { plain: vec![0.0], squares: vec![0.0], middle };
        let (mut plain, mut squares) = (0.0, 0.0);
        for value in values {
            let value = value / noise - middle;
            (plain, squares) = (plain + value, squares + value * value);
            sums.plain.push(plain);
            sums.squares.push(squares);
        }
        sums
    }

    /// Mean of a part, about the median.
    fn mean(&self, part: &Range<usize>) -> f64 {
        (self.plain[part.end] - self.plain[part.start]) / part.len() as f64
    }

    /// Sum of the squares about the mean of a part.
    fn cost(&self, part: &Range<usize>) -> f64 {
        let squares = self.squares[part.end] - self.squares[part.start];
        squares - self.mean(part).powi(2) * part.len() as f64
    }

    /// Whether the means of two parts are the same for a reader.
    fn is_alike(&self, one: &Range<usize>, other: &Range<usize>) -> bool {
        let (one, other) = (self.mean(one), self.mean(other));
        (one - other).abs() <= ALIKE * (self.middle + one.max(other)).abs()
    }
}

/// The cheapest way to cut the first `count` values.
fn partition(sums: &Sums, count: usize) -> Vec<Range<usize>> {
    let penalty = penalty(count);
    let mut least = vec![0.0; count + 1];
    let mut cut = vec![0; count + 1];
    for end in 1..=count {
        let starts = (0..end).filter(|start| *start == 0 || least_part(*start, end));
        let costs = starts.map(|start| {
            let before = if start == 0 { 0.0 } else { least[start] + penalty };
            (before + sums.cost(&(start..end)), start)
        });
        let best = costs.min_by(|one, other| one.0.total_cmp(&other.0));
        (least[end], cut[end]) = best.unwrap_or_default();
    }
    let mut parts = Vec::new();
    let mut end = count;
    while end > 0 {
        parts.push(cut[end]..end);
        end = cut[end];
    }
    parts.reverse();
    parts
}

/// Whether both what is before a cut and what is after it are long enough to have a mean.
const fn least_part(start: usize, end: usize) -> bool {
    start >= SHORTEST && end - start >= SHORTEST
}

/// What a cut must gain. Chance gains twice the logarithm of the length at most (Y.-C. Yao:
/// Statistics & Probability Letters 6, 1988); the rest is for noise that is known only
/// roughly, of short rows above all, so that of a hundred rows that do not change one is cut.
fn penalty(count: usize) -> f64 {
    let count = count as f64;
    (2.0 * count.ln() + CAUTION) * (1.0 + ROUGH / count)
}

/// Joins neighbours whose means differ by less than matters.
fn merged(parts: Vec<Range<usize>>, sums: &Sums) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for part in parts {
        match joined.last_mut() {
            Some(last) if sums.is_alike(last, &part) => last.end = part.end,
            _ => joined.push(part),
        }
    }
    joined
}

/// Noise of a rate is no smaller than this part of it: clocks and buffers make as much.
const SMALLEST: f64 = 0.02;
/// Means that differ by less than this part are the same.
const ALIKE: f64 = 0.03;
/// Values that a part has at least.
const SHORTEST: usize = 3;
/// Found by trials with rows that do not change; see the tests.
const CAUTION: f64 = 10.0;
/// Likewise.
const ROUGH: f64 = 20.0;

#[cfg(test)]
mod tests {
    use super::*;

    /// Random numbers, the same in each run.
    struct Chance(fastrand::Rng);

    impl Chance {
        const fn from_seed(seed: u64) -> Self {
            Self(fastrand::Rng::with_seed(seed))
        }

        /// Of a normal distribution with mean 0 and deviation 1 (Box and Muller, 1958).
        fn normal(&mut self) -> f64 {
            let (radius, angle) = (self.0.f64().max(1e-300), self.0.f64());
            (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
        }
    }

    /// How many of 1,000 rows of `count` values with 10 % noise are cut.
    fn false_alarms(count: usize) -> usize {
        let mut chance = Chance::from_seed(count as u64);
        let mut row = || (0..count).map(|_| 1e6 * (1.0 + 0.1 * chance.normal())).collect();
        let rows = (0..1_000).map(|_| row());
        rows.filter(|row: &Vec<f64>| stretches(row, 0.0).len() > 1).count()
    }

    #[test]
    fn noise_is_no_change() {
        for count in [8, 12, 20, 50, 100] {
            let alarms = false_alarms(count);
            assert!(alarms <= 10, "{alarms} of 1,000 rows of {count} are cut");
        }
    }

    #[test]
    fn a_change_as_large_as_the_noise_shows_in_long_rows() {
        let mut chance = Chance::from_seed(1);
        let mut row =
            |mean: f64| -> Vec<f64> { (0..50).map(|_| mean + 0.1 * chance.normal()).collect() };
        let values = [row(1.0), row(1.2)].concat();
        let found = stretches(&values, 0.0);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].end.abs_diff(50) <= 3, "{found:?}");
    }

    #[test]
    fn whole_grains_and_nothing_are_no_change() {
        let grains: Vec<_> = (0..60).map(|step| f64::from(8 + step % 2 + step / 30)).collect();
        assert_eq!(stretches(&grains, 1.0).len(), 1);
        assert_eq!(stretches(&[0.0; 30], 0.0).len(), 1);
    }
}
