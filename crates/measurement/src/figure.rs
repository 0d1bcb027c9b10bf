//! The main numbers of a test ([`Figure`]), by which runs are listed and compared: a rate for each
//! direction, or a median round-trip time. What is computed from several of them is not here.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::outcome::DirectionOutcome;
use crate::record::TestRecord;
use crate::units::{BitRate, show_time};

/// What a figure measures, and with it the unit of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Payload rate of one direction, in bit/s; a higher one is better.
    #[serde(rename = "rate_bits_per_second")]
    Rate,
    /// Median round-trip time of requests, in seconds; a lower one is better.
    #[serde(rename = "round_trip_seconds")]
    RoundTrip,
}

impl Quantity {
    /// Formats a value of this quantity with its unit: `941.4 Mbit/s`, `52.46 us`.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Rate => BitRate::from_bits_per_second(value.round() as u64).to_string(),
            Self::RoundTrip => show_time(Duration::try_from_secs_f64(value).unwrap_or_default()),
        }
    }

    /// How much better a value is than another whose ratio to it is `ratio`: above 1 is better.
    pub const fn gain(self, ratio: f64) -> f64 {
        match self {
            Self::Rate => ratio,
            Self::RoundTrip => 1.0 / ratio,
        }
    }
}

/// A main number of a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The row that it is of, e.g. `TCP receive (both ways), 3 streams`.
    pub row: String,
    /// What it measures.
    pub quantity: Quantity,
    /// The value, in the unit of the quantity; finite.
    pub value: f64,
}

impl TestRecord {
    /// The main numbers of the test: one for each direction, or the median round-trip time of an
    /// exchange. Empty: nothing was measured, or the test was a further measurement of a run, which
    /// nobody asked for.
    pub fn figures(&self) -> Vec<Figure> {
        if self.origin.question.is_some() {
            return Vec::new();
        }
        let round_trips = self.outcome.round_trips.as_ref().filter(|times| times.count > 0);
        let round_trips = round_trips.map(|times| Figure {
            row: self.plan.row(),
            quantity: Quantity::RoundTrip,
            value: times.times.p50.as_secs_f64(),
        });
        let rate = |one: &DirectionOutcome| {
            Some(Figure {
                row: self.plan.row_of_direction(one.direction),
                quantity: Quantity::Rate,
                value: one.headline()?.rate.bits_per_second() as f64,
            })
        };
        let rates = self.outcome.directions.iter().filter_map(rate);
        round_trips.into_iter().chain(rates).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_the_unit_of_its_measure() {
        assert_eq!(Quantity::Rate.show(941_400_000.4), "941.4 Mbit/s");
        assert_eq!(Quantity::RoundTrip.show(0.000_052_46), "52.46 us");
        assert_eq!(Quantity::RoundTrip.show(f64::NAN), "0 s");
        assert!(Quantity::RoundTrip.gain(2.0) < 1.0 && Quantity::Rate.gain(2.0) > 1.0);
    }
}
