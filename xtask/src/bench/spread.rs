//! Medians, and how far the values lie apart.

/// The middle and the ends of some values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    /// The middle one, or the mean of the two in the middle.
    pub(super) median: f64,
    /// The least.
    pub(super) least: f64,
    /// The most.
    pub(super) most: f64,
}

impl Spread {
    /// Of values that are numbers; none if there are none.
    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let (below, above) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
        Some(Self { median: f64::midpoint(below, above), least, most })
    }

    /// Of ours over theirs, pair by pair; a pair whose second is zero has no ratio.
    pub(super) fn of_ratios(ours: &[f64], theirs: &[f64]) -> Option<Self> {
        Self::of(ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let odd = Spread { median: 2.0, least: 1.0, most: 9.0 };
        assert_eq!(Spread::of([9.0, 1.0, 2.0]), Some(odd));
        let even = Spread { median: 2.5, least: 1.0, most: 9.0 };
        assert_eq!(Spread::of([9.0, 2.0, 3.0, 1.0]), Some(even));
        assert_eq!(Spread::of([]), None);
    }

    #[test]
    fn ratios_are_taken_pair_by_pair() {
        let ratios = Spread { median: 2.0, least: 0.5, most: 3.0 };
        assert_eq!(Spread::of_ratios(&[4.0, 3.0, 1.0], &[2.0, 1.0, 2.0]), Some(ratios));
    }

    #[test]
    fn a_ratio_to_nothing_does_not_count() {
        let ratios = Spread { median: 1.0, least: 1.0, most: 1.0 };
        assert_eq!(Spread::of_ratios(&[0.0, 1.0, 2.0], &[0.0, 0.0, 2.0]), Some(ratios));
        assert_eq!(Spread::of_ratios(&[], &[]), None);
    }
}
