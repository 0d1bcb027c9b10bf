//! [`RoundTrips`] as its JSON has it, all keys on one level, to read it by: `flatten` would read
//! through a buffer of untyped values.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

use super::{RoundTrips, Spread};

/// The fields of [`RoundTrips`] and [`Spread`], by their keys.
#[derive(Deserialize)]
struct Form {
    count: u64,
    lost: u64,
    #[serde(default)]
    unsent: u64,
    #[serde(rename = "seconds", with = "crate::seconds")]
    span: Duration,
    #[serde(rename = "responses_per_second")]
    rate: f64,
    #[serde(rename = "min_seconds", with = "crate::seconds")]
    min: Duration,
    #[serde(rename = "mean_seconds", with = "crate::seconds")]
    mean: Duration,
    #[serde(rename = "p50_seconds", with = "crate::seconds")]
    p50: Duration,
    #[serde(rename = "p90_seconds", with = "crate::seconds")]
    p90: Duration,
    #[serde(rename = "p99_seconds", with = "crate::seconds")]
    p99: Duration,
    #[serde(rename = "p999_seconds", with = "crate::seconds")]
    p999: Duration,
    #[serde(rename = "max_seconds", with = "crate::seconds")]
    max: Duration,
    #[serde(default)]
    histogram: Vec<(u64, u64)>,
}

impl<'de> Deserialize<'de> for RoundTrips {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Form::deserialize(deserializer).map(Self::from)
    }
}

impl From<Form> for RoundTrips {
    fn from(form: Form) -> Self {
        let Form { min, mean, p50, p90, p99, p999, max, .. } = form;
        Self {
            count: form.count,
            lost: form.lost,
            unsent: form.unsent,
            span: form.span,
            rate: form.rate,
            times: Spread { min, mean, p50, p90, p99, p999, max },
            histogram: form.histogram,
        }
    }
}
