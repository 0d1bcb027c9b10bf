//! Numbers as they are printed: a value, and how far it may be from what was counted.

use std::ops::Add;

/// A printed number, with half a unit of its last digit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Figure {
    pub(super) value: f64,
    /// The counted value lies within this distance; 0: the number is exact.
    pub(super) half: f64,
}

impl Figure {
    /// A number without rounding, e.g. of JSON.
    pub(super) const fn exact(value: f64) -> Self {
        Self { value, half: 0.0 }
    }

    /// The number that is all of `text`, e.g. `15.1`, `15,1` or `1.3e-05`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = &text.replace(',', ".");
        let value: f64 = text.parse().ok().filter(|value: &f64| value.is_finite())?;
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let decimals = mantissa.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let exponent = exponent.parse::<i32>().ok()?.saturating_sub(i32::try_from(decimals).ok()?);
        Some(Self { value, half: 0.5 * 10_f64.powi(exponent) })
    }

    /// The number in a smaller unit.
    pub(super) fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, half: self.half * factor }
    }

    pub(super) fn least(self) -> f64 {
        self.value - self.half
    }

    pub(super) fn most(self) -> f64 {
        self.value + self.half
    }

    /// Whether both may be of one count, but for this share of the larger one.
    pub(super) fn agrees(self, other: Self, tolerance: f64) -> bool {
        let apart = (self.value - other.value).abs();
        apart <= self.half + other.half + tolerance * self.value.abs().max(other.value.abs())
    }

    /// The nearest whole number; zero for what is below.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates, and the value is not negative"
    )]
    pub(super) fn whole(self) -> u64 {
        self.value.round().max(0.0) as u64
    }

    /// The nearest whole number, which may be negative.
    #[expect(clippy::cast_possible_truncation, reason = "`as` saturates")]
    pub(super) fn whole_signed(self) -> i64 {
        self.value.round() as i64
    }
}

impl Add for Figure {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { value: self.value + other.value, half: self.half + other.half }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_unit_of_the_last_digit_is_what_is_not_known() {
        for (text, value, half) in [
            ("15.1", 15.1, 0.05),
            ("152", 152.0, 0.5),
            ("0.00", 0.0, 0.005),
            ("1e+02", 100.0, 50.0),
        ] {
            let figure = Figure::parse(text).expect("a number");
            assert!((figure.value - value).abs() < 1e-9, "{text}");
            assert!((figure.half - half).abs() < 1e-9, "{text} {figure:?}");
        }
        assert_eq!(Figure::parse("nan"), None);
        assert_eq!(Figure::parse("1e999"), None);
    }

    #[test]
    fn numbers_agree_within_their_rounding() {
        let (printed, counted) = (Figure::parse("127"), Figure::exact(126.6));
        assert!(printed.expect("a number").agrees(counted, 0.0));
        assert!(!printed.expect("a number").agrees(Figure::exact(126.0), 0.0));
        assert!(printed.expect("a number").agrees(Figure::exact(126.0), 0.01));
    }
}
