//! What a finding does to a test ([`Effect`]); in particular the rate that a limit allows
//! ([`Bound`]), with its arithmetic in words.

use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

use crate::units::BitRate;

/// What the cause of a finding does to a test: it bounds the rate, or explains loss or delay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// It bounds the rate of payload.
    Rate(Bound),
    /// It explains loss; it bounds no rate by itself.
    Loss,
    /// It explains delay; it bounds no rate by itself.
    Delay,
    /// The rate that it allows is not known.
    #[default]
    Unknown,
}

/// The rate of payload that one limit allows, if nothing else limits: a roofline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bound {
    /// The least rate that it allows.
    #[serde(rename = "from_bits_per_second")]
    pub from: BitRate,
    /// The greatest rate that it allows.
    #[serde(rename = "to_bits_per_second")]
    pub to: BitRate,
    /// How the rate is computed, in words: `a window of 65,536 bytes each 20 ms`.
    pub arithmetic: String,
}

impl Effect {
    /// Whether this is [`Self::Unknown`]: the rate that the cause allows is not known.
    pub fn is_unknown(&self) -> bool {
        *self == Self::Unknown
    }

    /// The rate that the cause allows. None: it explains loss or delay and bounds no rate, or the
    /// rate is not known.
    pub const fn bound(&self) -> Option<&Bound> {
        match self {
            Self::Rate(bound) => Some(bound),
            Self::Loss | Self::Delay | Self::Unknown => None,
        }
    }
}

impl Bound {
    /// A limit whose rate, in bits per second, is known exactly. `arithmetic` says in words how it
    /// is computed.
    pub fn exact(bits_per_second: f64, arithmetic: impl Into<String>) -> Self {
        Self::between(bits_per_second, bits_per_second, arithmetic)
    }

    /// A limit whose rate is between two values, in bits per second and in either order.
    /// `arithmetic` says in words how they are computed.
    pub fn between(from: f64, to: f64, arithmetic: impl Into<String>) -> Self {
        let (from, to) = (rate(from.min(to)), rate(from.max(to)));
        Self { from, to, arithmetic: arithmetic.into() }
    }
}

impl Display for Bound {
    /// `at most 26.21 Mbit/s (a window of 65,536 bytes each 20 ms)`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { from, to, arithmetic } = self;
        if from == to {
            write!(f, "at most {to} ({arithmetic})")
        } else {
            write!(f, "{from} to {to} ({arithmetic})")
        }
    }
}

/// Without sign and fraction; what is no number is zero.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn rate(bits_per_second: f64) -> BitRate {
    BitRate::from_bits_per_second(bits_per_second.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_says_how_it_is_computed() {
        let exact = Bound::exact(65_536.0 * 8.0 / 0.02, "a window of 65,536 bytes each 20 ms");
        assert_eq!(exact.to_string(), "at most 26.21 Mbit/s (a window of 65,536 bytes each 20 ms)");
        let range = Bound::between(2e9, 1e9, "a share");
        assert_eq!(range.to_string(), "1.000 Gbit/s to 2.000 Gbit/s (a share)");
    }

    #[test]
    fn what_is_no_rate_is_zero() {
        for number in [f64::NAN, -1.0] {
            assert_eq!(Bound::exact(number, "").from.bits_per_second(), 0);
        }
        assert_eq!(Bound::exact(f64::INFINITY, "").to.bits_per_second(), u64::MAX);
    }

    #[test]
    fn an_effect_is_read_as_it_is_written() {
        let all = [Effect::Rate(Bound::exact(1e6, "a link")), Effect::Loss, Effect::Unknown];
        for effect in all {
            let text = serde_json::to_string(&effect).expect("it is data");
            assert_eq!(serde_json::from_str::<Effect>(&text).expect("readable"), effect);
        }
    }
}
