//! Quantiles of Student's t distribution.

/// The value that a t of `freedom` degrees of freedom, at least 1, stays within on both sides with
/// the probability `level`, 0 to 1.
///
/// The distribution (Abramowitz and Stegun: Handbook of Mathematical Functions, 26.7.1) is inverted
/// by bisection.
pub(crate) fn two_sided(level: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while within(high, freedom) < level && high < MOST {
        high *= 2.0;
    }
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        if within(middle, freedom) < level { low = middle } else { high = middle }
    }
    high
}

/// The probability that the absolute value of a t is more than that of `t`.
pub(super) fn beyond(t: f64, freedom: f64) -> f64 {
    incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

fn within(t: f64, freedom: f64) -> f64 {
    1.0 - beyond(t, freedom)
}

/// The regularized incomplete beta function by its continued fraction (Abramowitz and Stegun:
/// Handbook of Mathematical Functions, 26.5.8), evaluated as by Lentz.
fn incomplete_beta(x: f64, alpha: f64, beta: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges fast on this side of the mean only.
    if x > (alpha + 1.0) / (alpha + beta + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, beta, alpha);
    }
    let front = log_gamma(alpha + beta) - log_gamma(alpha) - log_gamma(beta);
    let front = (front + alpha * x.ln() + beta * (1.0 - x).ln()).exp() / alpha;
    let (mut above, mut below) = (1.0, 1.0 / nonzero(1.0 - (alpha + beta) * x / (alpha + 1.0)));
    let mut fraction = below;
    for step in 1..=TERMS {
        let step = f64::from(step);
        let place = alpha + 2.0 * step;
        let even = step * (beta - step) * x / ((place - 1.0) * place);
        let odd = -(alpha + step) * (alpha + beta + step) * x / (place * (place + 1.0));
        let before = fraction;
        for numerator in [even, odd] {
            below = 1.0 / nonzero(1.0 + numerator * below);
            above = nonzero(1.0 + numerator / above);
            fraction *= above * below;
        }
        if (fraction / before - 1.0).abs() < 1e-15 {
            break;
        }
    }
    front * fraction
}

const fn nonzero(number: f64) -> f64 {
    if number.abs() < f64::MIN_POSITIVE { f64::MIN_POSITIVE } else { number }
}

/// The logarithm of the gamma function of a positive number, by Stirling's series (Abramowitz and
/// Stegun, 6.1.41) after a shift by the recurrence.
fn log_gamma(x: f64) -> f64 {
    let (mut shifted, mut product) = (x, 1.0);
    while shifted < LARGE {
        product *= shifted;
        shifted += 1.0;
    }
    let inverse = 1.0 / (shifted * shifted);
    let series = (1.0 / 12.0
        - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse / 1680.0)))
        / shifted;
    let half_of_two_pi = 0.5 * std::f64::consts::TAU.ln();
    (shifted - 0.5) * shifted.ln() - shifted + half_of_two_pi + series - product.ln()
}

/// From here on Stirling's series is exact to the last digits.
const LARGE: f64 = 15.0;
const TERMS: u32 = 500;
const STEPS: u32 = 200;
/// Beyond any quantile that is asked for.
const MOST: f64 = 1e12;

#[cfg(test)]
mod tests {
    use super::*;

    /// NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, table of critical values of
    /// Student's t distribution.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        let table = [
            (0.95, 1.0, 12.706),
            (0.95, 2.0, 4.303),
            (0.95, 4.0, 2.776),
            (0.95, 10.0, 2.228),
            (0.95, 30.0, 2.042),
            (0.99, 4.0, 4.604),
            (0.99, 9.0, 3.250),
            (0.90, 100.0, 1.660),
            (0.998, 5.0, 5.893),
        ];
        for (level, freedom, expected) in table {
            let found = two_sided(level, freedom);
            assert!((found - expected).abs() < 0.0006, "{level} {freedom}: {found}");
        }
        let normal = two_sided(0.95, 1e6);
        assert!((normal - 1.959_966).abs() < 1e-5, "{normal}");
    }

    #[test]
    fn the_probability_grows_from_none_to_all() {
        assert!(within(0.0, 3.0) < 1e-12 && within(1e9, 3.0) > 0.999_999);
        // One degree of freedom is Cauchy's distribution.
        let half = within(1.0, 1.0);
        assert!((half - 0.5).abs() < 1e-12, "{half}");
        // Degrees of freedom need not be whole.
        assert!(two_sided(0.95, 2.5) < two_sided(0.95, 2.0));
    }
}
