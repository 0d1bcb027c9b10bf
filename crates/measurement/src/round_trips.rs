//! How long answers took.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Timestamp;

/// The answers of one test, or of a part of its time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundTrips {
    /// Answers that came in time.
    pub count: u64,
    /// Requests without an answer; over TCP there are none.
    pub lost: u64,
    /// Requests with a time of their own that could not be sent then, as this end was too slow
    /// or too many waited; none of them was sent later.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub unsent: u64,
    /// For how long requests were sent.
    #[serde(rename = "seconds", with = "crate::seconds")]
    #[schemars(with = "f64")]
    pub span: Duration,
    /// Answers in a second.
    pub rate: f64,
    /// Where their times lie, from request to answer.
    #[serde(flatten)]
    pub times: Spread,
    /// The same as a histogram: for each bucket that is not empty its upper end in
    /// nanoseconds and how many times lie in it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub histogram: Vec<(u64, u64)>,
}

#[cfg_attr(
    target_pointer_width = "64",
    expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in a reference")
)]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Where times lie, all in seconds; zeroes if there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// The shortest, in seconds.
    #[serde(with = "crate::seconds")]
    #[schemars(with = "f64")]
    pub min: Duration,
    /// Their mean, in seconds.
    #[serde(with = "crate::seconds")]
    #[schemars(with = "f64")]
    pub mean: Duration,
    /// Half of them are no longer, in seconds.
    #[serde(with = "crate::seconds")]
    #[schemars(with = "f64")]
    pub p50: Duration,
    /// 90 of 100 are no longer, in seconds.
    #[serde(with = "crate::seconds")]
    #[schemars(with = "f64")]
    pub p90: Duration,
    /// 99 of 100 are no longer, in seconds.
    #[serde(with = "crate::seconds")]
    #[schemars(with = "f64")]
    pub p99: Duration,
    /// 999 of 1000 are no longer, in seconds.
    #[serde(with = "crate::seconds")]
    #[schemars(with = "f64")]
    pub p999: Duration,
    /// The longest, in seconds.
    #[serde(with = "crate::seconds")]
    #[schemars(with = "f64")]
    pub max: Duration,
}

impl RoundTrips {
    /// `count` answers in `span`, of which nothing else is known yet.
    pub fn counted(count: u64, lost: u64, span: Duration) -> Self {
        let rate = if span.is_zero() { 0.0 } else { count as f64 / span.as_secs_f64() };
        Self { count, lost, span, rate, ..Self::default() }
    }

    /// Of probes that were sent in `span`.
    pub fn of_probes(probes: &[Probe], span: Duration) -> Self {
        let times: Vec<_> = probes.iter().filter_map(|probe| probe.round_trip).collect();
        let lost = (probes.len() - times.len()) as u64;
        Self { times: Spread::of(&times), ..Self::counted(times.len() as u64, lost, span) }
    }
}

impl Spread {
    /// Of `times`, exactly.
    pub fn of(times: &[Duration]) -> Self {
        let mut sorted = times.to_vec();
        sorted.sort_unstable();
        let (Some(min), Some(max)) = (sorted.first(), sorted.last()) else {
            return Self::default();
        };
        let sum: Duration = sorted.iter().sum();
        let count = u32::try_from(sorted.len()).unwrap_or(u32::MAX);
        let at = |permille: usize| sorted[(sorted.len() * permille).div_ceil(1000).max(1) - 1];
        Self {
            min: *min,
            mean: sum / count,
            p50: at(500),
            p90: at(900),
            p99: at(990),
            p999: at(999),
            max: *max,
        }
    }
}

/// One request that was sent at its time, whatever became of the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Probe {
    /// When it was sent, on the clock of the one who asks.
    pub sent: Timestamp,
    /// How long the answer took; none: it did not come.
    #[serde(with = "crate::seconds::optional", skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Option<f64>")]
    pub round_trip: Option<Duration>,
    /// When it arrived, on the clock of the one who answers; zero: that is not known.
    pub arrived: Timestamp,
    /// When the answer left, on the same clock.
    pub answered: Timestamp,
}

/// A probe that went beside a test: how long it took when nothing else moved, and how long
/// while the test did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Loaded {
    /// Time from one request to the next.
    #[serde(rename = "every_seconds", with = "crate::seconds")]
    #[schemars(with = "f64")]
    pub every: Duration,
    /// Before the test.
    pub idle: RoundTrips,
    /// During the test, the omitted start left out.
    pub loaded: RoundTrips,
    /// How long requests and answers took apart; none: the clocks do not tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub one_way: Option<OneWay>,
}

/// Delay of each way, by clocks that were compared.
///
/// The difference of the clocks is taken from the shortest round trips, as NTP does (RFC 5905,
/// section 8), which takes both ways for equal: what is unequal on an idle path is not seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OneWay {
    /// Of requests, before the test.
    pub idle_there: Spread,
    /// Of answers, before the test.
    pub idle_back: Spread,
    /// Of requests, during the test.
    pub loaded_there: Spread,
    /// Of answers, during the test.
    pub loaded_back: Spread,
    /// By how much each of these may be wrong, in seconds: half of the shortest round trip,
    /// and what the clocks drifted apart.
    #[serde(rename = "clock_error_seconds", with = "crate::seconds")]
    #[schemars(with = "f64")]
    pub clock_error: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn micros(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    #[test]
    fn quantiles_are_values_that_came() {
        let times: Vec<_> = (1..=1000).rev().map(micros).collect();
        let spread = Spread::of(&times);
        assert_eq!((spread.min, spread.max), (micros(1), micros(1000)));
        assert_eq!(
            [spread.p50, spread.p90, spread.p99, spread.p999],
            [500, 900, 990, 999].map(micros)
        );
        assert_eq!(Spread::of(&[micros(7)]).p999, micros(7));
        assert_eq!(Spread::of(&[]), Spread::default());
    }

    #[test]
    fn what_did_not_come_is_lost_and_no_time() {
        let came = Probe { round_trip: Some(micros(30)), ..Probe::default() };
        let trips = RoundTrips::of_probes(&[came, Probe::default()], Duration::from_secs(2));
        assert_eq!((trips.count, trips.lost, trips.times.max), (1, 1, micros(30)));
        assert!((trips.rate - 0.5).abs() < 1e-9);
    }
}
