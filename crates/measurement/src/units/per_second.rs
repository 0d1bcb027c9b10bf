//! How often something happens in a second: packets, pages.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::scaled;

/// A number of events in a second, e.g. of packets. Never negative, and always finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct PerSecond(f64);

impl PerSecond {
    /// Makes it from a number of events in a second; zero if that is negative or not finite.
    pub const fn new(events: f64) -> Self {
        if events.is_finite() && events > 0.0 { Self(events) } else { Self(0.0) }
    }

    /// The number of events in a second.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for PerSecond {
    /// Four significant digits with a decimal prefix: `12.15 M/s`.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&scaled(self.0.round() as u64, 1000.0, &["/s", "k/s", "M/s", "G/s", "T/s"]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_print_four_digits_and_a_prefix() {
        assert_eq!(PerSecond::new(12_148_688.0).to_string(), "12.15 M/s");
        assert_eq!(PerSecond::new(812.4).to_string(), "812 /s");
        assert_eq!(PerSecond::new(f64::NAN), PerSecond::new(-1.0));
    }
}
