//! Medians, and how far the values lie apart.

/// Median, minimum and maximum of some values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The middle one, or the mean of the two in the middle.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
}

impl Spread {
    /// Median, minimum and maximum of the finite ones of `values`. `None`: there are none.
    pub fn from_values(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let values = sorted(values);
        let (least, most) = (*values.first()?, *values.last()?);
        let (below, above) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
        Some(Self { median: f64::midpoint(below, above), least, most })
    }

    /// Median, minimum and maximum of the ratios `ours / theirs`, pair by pair: a disturbance of a
    /// round affects both. A division by zero is left out. `None`: there are no ratios.
    pub fn from_ratios(ours: &[f64], theirs: &[f64]) -> Option<Self> {
        Self::from_values(ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs))
    }
}

/// The median of the finite ones of `values`: the middle one, or the mean of both in the middle.
/// `None`: there are none.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    Spread::from_values(values).map(|spread| spread.median)
}

/// The percentile `percent` of the finite ones of `values`: the sorted value at the index `(count -
/// 1) * percent / 100`, rounded down, without interpolation. `None`: there are none.
pub fn percentile(values: impl IntoIterator<Item = f64>, percent: usize) -> Option<f64> {
    let values = sorted(values);
    values.get(values.len().checked_sub(1)? * percent.min(100) / 100).copied()
}

fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let odd = Spread { median: 2.0, least: 1.0, most: 9.0 };
        assert_eq!(Spread::from_values([9.0, 1.0, 2.0]), Some(odd));
        let even = Spread { median: 2.5, least: 1.0, most: 9.0 };
        assert_eq!(Spread::from_values([9.0, 2.0, 3.0, 1.0]), Some(even));
        assert_eq!((Spread::from_values([]), median([])), (None, None));
        assert_eq!((median([3.0, 1.0, 2.0]), median([4.0, 1.0])), (Some(2.0), Some(2.5)));
    }

    #[test]
    fn ratios_are_taken_pair_by_pair() {
        let ratios = Spread { median: 2.0, least: 0.5, most: 3.0 };
        assert_eq!(Spread::from_ratios(&[4.0, 3.0, 1.0], &[2.0, 1.0, 2.0]), Some(ratios));
    }

    #[test]
    fn a_ratio_to_nothing_does_not_count() {
        let ratios = Spread { median: 1.0, least: 1.0, most: 1.0 };
        assert_eq!(Spread::from_ratios(&[0.0, 1.0, 2.0], &[0.0, 0.0, 2.0]), Some(ratios));
        assert_eq!(Spread::from_ratios(&[], &[]), None);
    }

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let values = || (1..=100).rev().map(f64::from);
        assert_eq!((percentile(values(), 0), percentile(values(), 100)), (Some(1.0), Some(100.0)));
        assert_eq!((percentile(values(), 50), percentile(values(), 99)), (Some(50.0), Some(99.0)));
        assert_eq!(percentile([], 50), None);
    }
}
