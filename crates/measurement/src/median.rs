//! Medians: of an even number of values the mean of the two in the middle ([`BitRate::median`]), or
//! the upper one of them ([`upper_median`]). No other quantiles.

use std::cmp::Ordering;

use crate::units::BitRate;

/// The median, which is one of the values: of an even number the upper one of the two in the middle.
/// None if there are no values.
pub fn upper_median<T: Copy>(
    values: impl IntoIterator<Item = T>,
    order: impl Fn(&T, &T) -> Ordering,
) -> Option<T> {
    middles(values, order).map(|(_, upper)| upper)
}

impl BitRate {
    /// The median: the rate in the middle, or the mean of the two in the middle. None if there are no
    /// rates.
    pub fn median(rates: impl IntoIterator<Item = Self>) -> Option<Self> {
        let (lower, upper) = middles(rates, Self::cmp)?;
        let middle = lower.bits_per_second().midpoint(upper.bits_per_second());
        Some(Self::from_bits_per_second(middle))
    }
}

/// The two values in the middle: of an odd number the same one twice.
fn middles<T: Copy>(
    values: impl IntoIterator<Item = T>,
    order: impl Fn(&T, &T) -> Ordering,
) -> Option<(T, T)> {
    let mut values: Vec<T> = values.into_iter().collect();
    if values.is_empty() {
        return None;
    }
    let (middle, is_odd) = (values.len() / 2, !values.len().is_multiple_of(2));
    let (below, upper, _) = values.select_nth_unstable_by(middle, &order);
    let lower = below.iter().copied().max_by(&order).filter(|_| !is_odd);
    Some((lower.unwrap_or(*upper), *upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn median(rates: &[u64]) -> Option<u64> {
        let rates = rates.iter().copied().map(BitRate::from_bits_per_second);
        BitRate::median(rates).map(BitRate::bits_per_second)
    }

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_the_two_middles() {
        assert_eq!(median(&[9, 1, 2]), Some(2));
        assert_eq!(median(&[9, 2, 4, 1]), Some(3));
        assert_eq!((median(&[7]), median(&[])), (Some(7), None));
    }

    #[test]
    fn the_upper_median_is_one_of_the_values() {
        let upper = |values: &[u32]| upper_median(values.iter().copied(), u32::cmp);
        assert_eq!((upper(&[9, 1, 2]), upper(&[9, 2, 4, 1])), (Some(2), Some(4)));
        assert_eq!(upper(&[]), None);
    }
}
