//! Ratios of runs and their confidence intervals, from logarithms.

use measurement::comparison::{EffectSize, RatioInterval};

use super::student;

/// Effect over pairs of runs, before and after, by Student's t of their differences. None: there are fewer than
/// three pairs.
pub(super) fn paired(pairs: &[(f64, f64)], level: f64) -> Option<EffectSize> {
    let differences: Vec<_> = pairs.iter().map(|(before, after)| after - before).collect();
    let count = differences.len();
    if count < LEAST_PAIRS {
        return None;
    }
    let error = (variance(&differences)? / count as f64).sqrt();
    let freedom = count as f64 - 1.0;
    Some(effect(mean(&differences)?, error * student::two_sided(level, freedom)))
}

/// Effect over runs that belong to no pairs, by Welch's t, with the degrees of freedom of F. E. Satterthwaite
/// (Biometrics Bulletin 2, 1946; B. L. Welch: Biometrika 34, 1947). None: a side has fewer than two
/// runs.
pub(super) fn welch(before: &[f64], after: &[f64], level: f64) -> Option<EffectSize> {
    let (difference, error, freedom) = difference(before, after)?;
    Some(effect(difference, error * student::two_sided(level, freedom)))
}

/// The difference of two means, its standard error, and the degrees of freedom of that.
pub(super) fn difference(before: &[f64], after: &[f64]) -> Option<(f64, f64, f64)> {
    let of = |runs: &[f64]| Some((variance(runs)? / runs.len() as f64, runs.len() as f64 - 1.0));
    let ((one, of_one), (other, of_other)) = (of(before)?, of(after)?);
    let sum = one + other;
    // Runs that are all alike vary a little less than can be seen.
    let freedom = sum * sum / (one * one / of_one + other * other / of_other);
    let freedom = if freedom.is_finite() { freedom } else { of_one.min(of_other) };
    Some((mean(after)? - mean(before)?, sum.sqrt(), freedom))
}

/// How likely two means of runs of one distribution differ at least as much as these: Student's t
/// with one variance. None: a side has fewer than two runs.
pub(super) fn chance(before: &[f64], after: &[f64]) -> Option<f64> {
    let (one, other) = (before.len() as f64, after.len() as f64);
    let freedom = one + other - 2.0;
    let squares = variance(before)? * (one - 1.0) + variance(after)? * (other - 1.0);
    let error = (squares / freedom * (1.0 / one + 1.0 / other)).sqrt();
    let difference = mean(after)? - mean(before)?;
    let differs = if difference == 0.0 { 1.0 } else { 0.0 };
    Some(if error > 0.0 { student::beyond(difference / error, freedom) } else { differs })
}

/// The ratio of the geometric means; none: a side has no run.
pub(super) fn ratio(before: &[f64], after: &[f64]) -> Option<f64> {
    Some((mean(after)? - mean(before)?).exp())
}

fn effect(difference: f64, half: f64) -> EffectSize {
    let interval =
        RatioInterval { low: (difference - half).exp(), high: (difference + half).exp() };
    EffectSize { ratio: difference.exp(), interval: Some(interval) }
}

/// The mean; none of nothing.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The variance of a sample; none: it has fewer than two values.
fn variance(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some(squares / (values.len() - 1) as f64)
}

/// The interval of two pairs is wider than any change that is looked for.
const LEAST_PAIRS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) -> bool {
        (found - expected).abs() < 1e-3
    }

    /// Worked by hand: differences 0.1, 0.2, 0.3 have the mean 0.2 and the standard error
    /// 0.1 / sqrt(3), and t is 4.303.
    #[test]
    fn pairs_have_the_interval_of_their_differences() {
        let pairs = [(1.0, 1.1), (5.0, 5.2), (2.0, 2.3)];
        let effect = paired(&pairs, 0.95).expect("three pairs");
        let interval = effect.interval.expect("three pairs");
        assert!(close(effect.ratio, 0.2_f64.exp()), "{effect:?}");
        assert!(close(interval.low, (0.2 - 0.248_4_f64).exp()), "{interval:?}");
        assert!(close(interval.high, (0.2 + 0.248_4_f64).exp()), "{interval:?}");
        assert_eq!(paired(&pairs[..2], 0.95), None);
    }

    /// Worked by hand: variances 1 and 4 of three runs each: error sqrt(5/3), freedom
    /// (5/3)^2 / ((1/3)^2/2 + (4/3)^2/2) = 2.941.
    #[test]
    fn runs_without_pairs_have_welchs_error_and_freedom() {
        let (difference, error, freedom) =
            difference(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0]).expect("three runs each");
        assert!(close(difference, 2.0) && close(error, 1.291), "{difference} {error}");
        assert!(close(freedom, 2.941), "{freedom}");
        assert!(welch(&[1.0], &[1.0, 2.0], 0.95).is_none());
    }

    #[test]
    fn runs_that_are_all_alike_have_a_narrow_interval_and_not_none() {
        let effect = welch(&[1.0, 1.0], &[2.0, 2.0], 0.95).expect("two runs each");
        let interval = effect.interval.expect("two runs each");
        assert!(close(interval.low, effect.ratio) && close(interval.high, effect.ratio));
    }
}
