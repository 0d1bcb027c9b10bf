//! Results of requests and responses: round-trip times and losses ([`RoundTrips`]), single probes
//! ([`Probe`]), and times before and during a load ([`Loaded`], [`OneWay`]).

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::responsiveness::{Grade, Responsiveness};
use crate::units::Timestamp;

mod form;

/// Round-trip times of a test, or of a part of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoundTrips {
    /// Number of responses that arrived in time.
    pub count: u64,
    /// Number of requests whose response did not arrive in time; zero over TCP.
    pub lost: u64,
    /// Number of requests that were not sent, because this end was too slow or too many responses
    /// were outstanding.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub unsent: u64,
    /// Time in which requests were sent, in seconds.
    #[serde(rename = "seconds", with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub span: Duration,
    /// Responses per second.
    #[serde(rename = "responses_per_second")]
    pub rate: f64,
    /// Distribution of the round-trip times.
    #[serde(flatten)]
    pub times: Spread,
    /// Histogram of the round-trip times: for each bucket that is not empty, its upper limit in
    /// nanoseconds and the number of times in it.
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

/// Distribution of times in seconds: minimum, mean, quantiles and maximum; all zero if there are no
/// times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spread {
    /// Shortest time in seconds.
    #[serde(with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[serde(rename = "min_seconds")]
    pub min: Duration,
    /// Mean time in seconds.
    #[serde(with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[serde(rename = "mean_seconds")]
    pub mean: Duration,
    /// Median in seconds.
    #[serde(with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[serde(rename = "p50_seconds")]
    pub p50: Duration,
    /// 90th percentile in seconds.
    #[serde(with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[serde(rename = "p90_seconds")]
    pub p90: Duration,
    /// 99th percentile in seconds.
    #[serde(with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[serde(rename = "p99_seconds")]
    pub p99: Duration,
    /// 99.9th percentile in seconds.
    #[serde(with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[serde(rename = "p999_seconds")]
    pub p999: Duration,
    /// Longest time in seconds.
    #[serde(with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[serde(rename = "max_seconds")]
    pub max: Duration,
}

impl RoundTrips {
    /// Round trips without times: only the number of responses and of losses and the duration are
    /// known.
    pub fn counted(count: u64, lost: u64, span: Duration) -> Self {
        let rate = if span.is_zero() { 0.0 } else { count as f64 / span.as_secs_f64() };
        Self { count, lost, span, rate, ..Self::default() }
    }

    /// Round-trip times of probes that were sent within `span`. A probe without a response counts
    /// as lost.
    pub fn from_probes(probes: &[Probe], span: Duration) -> Self {
        let times: Vec<_> = probes.iter().filter_map(|probe| probe.round_trip).collect();
        let lost = (probes.len() - times.len()) as u64;
        Self {
            times: Spread::from_times(&times),
            histogram: histogram(&times),
            ..Self::counted(times.len() as u64, lost, span)
        }
    }
}

/// Histogram of `times`, in buckets as wide as one part in 256 of their values.
fn histogram(times: &[Duration]) -> Vec<(u64, u64)> {
    let nanos = |time: &Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let largest = times.iter().map(nanos).max().unwrap_or(0);
    let mut buckets = BTreeMap::new();
    for nanos in times.iter().map(nanos) {
        let fill = (1 << nanos.max(1).ilog2().saturating_sub(PRECISION_BITS)) - 1;
        *buckets.entry((nanos | fill).min(largest)).or_default() += 1;
    }
    buckets.into_iter().collect()
}

/// Significant bits of a bucket's limit, after the first.
const PRECISION_BITS: u32 = 8;

impl Spread {
    /// Distribution of `times`, with exact quantiles; all zero if `times` is empty.
    pub fn from_times(times: &[Duration]) -> Self {
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

/// A request that was sent at a fixed time, independent of earlier responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Probe {
    /// Time of sending, on the clock of the requester, in nanoseconds.
    #[serde(rename = "sent_nanos")]
    pub sent: Timestamp,
    /// Round-trip time in seconds. None: the response did not arrive.
    #[serde(rename = "round_trip_seconds", with = "crate::seconds::optional", default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub round_trip: Option<Duration>,
    /// Time of arrival, on the clock of the responder, in nanoseconds; zero: not known.
    #[serde(rename = "arrived_nanos")]
    pub arrived: Timestamp,
    /// Time when the response left, on the clock of the responder, in nanoseconds; zero: not known.
    #[serde(rename = "answered_nanos")]
    pub answered: Timestamp,
}

/// The round-trip times of a probe beside a test: on the idle path before it, and under its load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Loaded {
    /// Time from one request to the next, in seconds.
    #[serde(rename = "every_seconds", with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub every: Duration,
    /// Round-trip times before the test.
    pub idle: RoundTrips,
    /// Round-trip times during the test, without the omitted start.
    pub loaded: RoundTrips,
    /// One-way delays. None: the offset of the clocks is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub one_way: Option<OneWay>,
    /// Grade of the delay that the load added to the median. None: there are no answers to compare.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub grade: Option<Grade>,
    /// Round trips per minute under load. None: no probe was answered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub responsiveness: Option<Responsiveness>,
}

/// One-way delays before and during a test.
///
/// The offset of the clocks is estimated from the shortest round trips, as NTP does (RFC 5905,
/// section 8), which assumes that both directions of the idle path have the same delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OneWay {
    /// Delay of requests before the test.
    pub idle_there: Spread,
    /// Delay of responses before the test.
    pub idle_back: Spread,
    /// Delay of requests during the test.
    pub loaded_there: Spread,
    /// Delay of responses during the test.
    pub loaded_back: Spread,
    /// Maximum error of the delays in seconds: half of the shortest round trip, plus the drift
    /// between the clocks.
    #[serde(rename = "clock_error_seconds", with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
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
        let spread = Spread::from_times(&times);
        assert_eq!((spread.min, spread.max), (micros(1), micros(1000)));
        assert_eq!(
            [spread.p50, spread.p90, spread.p99, spread.p999],
            [500, 900, 990, 999].map(micros)
        );
        assert_eq!(Spread::from_times(&[micros(7)]).p999, micros(7));
        assert_eq!(Spread::from_times(&[]), Spread::default());
    }

    #[test]
    fn what_did_not_come_is_lost_and_no_time() {
        let came = Probe { round_trip: Some(micros(30)), ..Probe::default() };
        let trips = RoundTrips::from_probes(&[came, Probe::default()], Duration::from_secs(2));
        assert_eq!((trips.count, trips.lost, trips.times.max), (1, 1, micros(30)));
        assert!((trips.rate - 0.5).abs() < 1e-9);
        assert_eq!(trips.histogram, [(30_000, 1)]);
    }

    #[test]
    fn a_bucket_has_times_that_are_nearly_equal() {
        let nanos = [100, 100, 1_000_000, 1_001_000, 1_300_000].map(Duration::from_nanos);
        let buckets = histogram(&nanos);
        assert_eq!(buckets.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [2, 2, 1]);
        assert_eq!((buckets[0].0, buckets[2].0), (100, 1_300_000));
        assert!((1_001_000..1_005_000).contains(&buckets[1].0), "{buckets:?}");
        assert_eq!(histogram(&[]), []);
    }
}
