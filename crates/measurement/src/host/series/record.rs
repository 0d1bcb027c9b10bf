//! A series as records have it: times and counters as differences, of which runs of zeros are one
//! number, and those at the end are left out. A long series has
//! the lists of the wire.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Formatter};

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Family, Series};
use crate::differences;
use crate::into_map::IntoMap;
use crate::units::Timestamp;

/// Time series of the counters and gauges of a host.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Series"))]
pub(crate) struct Form {
    /// Times of the readings, in order, on the clock of the host, in nanoseconds: the first, then
    /// the differences from each to the next.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    at_nanos: Vec<i64>,
    /// Times of the readings of a long series, instead of `at_nanos`: not as differences.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    at: Vec<Timestamp>,
    /// The families that were read: the first part of names, e.g. `softnet`. A counter of these
    /// that is not below did not change.
    families: BTreeSet<String>,
    /// Counters, which only grow: the first value, then the differences from each reading to the
    /// next. A number below zero stands for as many differences of zero; those at the end are left
    /// out.
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, Vec<i64>>"))]
    counters: BTreeMap<String, Vec<Step>>,
    /// For a family, the number by which all values of its counters are to be multiplied; 1 if it
    /// is not there.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    factors: BTreeMap<String, u64>,
    /// Gauges, with a value for each reading, or one if it never changed.
    gauges: BTreeMap<String, Vec<i64>>,
}

/// From one reading of a counter to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// By how much it grew.
    Grew(u64),
    /// Over how many readings it did not.
    Rested(u64),
}

impl Serialize for Step {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Grew(by) => serializer.serialize_u64(by),
            Self::Rested(times) => serializer.serialize_i64(-times.cast_signed()),
        }
    }
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;

        impl Visitor<'_> for Number {
            type Value = Step;

            fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number")
            }

            fn visit_u64<E: Error>(self, by: u64) -> Result<Step, E> {
                Ok(Step::Grew(by))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Step, E> {
                let times = number.unsigned_abs();
                Ok(if number < 0 { Step::Rested(times) } else { Step::Grew(times) })
            }
        }

        deserializer.deserialize_any(Number)
    }
}

fn steps(values: &[u64]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut before = 0_u64;
    for value in values {
        let by = value.saturating_sub(before);
        before = *value;
        match steps.last_mut() {
            Some(Step::Rested(times)) if by == 0 => *times += 1,
            Some(_) if by == 0 => steps.push(Step::Rested(1)),
            _ => steps.push(Step::Grew(by)),
        }
    }
    if matches!(steps.last(), Some(Step::Rested(_))) {
        steps.pop();
    }
    steps
}

/// The values of a counter at so many readings. None: the steps are more.
fn values(steps: &[Step], readings: usize) -> Option<Vec<u64>> {
    let (mut values, mut sum) = (Vec::new(), 0_u64);
    for step in steps {
        let (by, times) = match *step {
            Step::Grew(by) => (by, 1),
            Step::Rested(times) => (0, usize::try_from(times).ok()?),
        };
        sum = sum.saturating_add(by);
        let length = values.len().checked_add(times).filter(|length| *length <= readings)?;
        values.resize(length, sum);
    }
    values.resize(readings, sum);
    Some(values)
}

/// The common divisor of the counters of each family; those of little use are left out.
fn factors(series: &Series) -> BTreeMap<String, u64> {
    let mut factors = BTreeMap::<String, u64>::new();
    for (name, values) in series.counters() {
        let factor = factors.entry(Family::name_in(name).to_owned()).or_default();
        *factor = values.iter().copied().fold(*factor, common_divisor);
    }
    factors.retain(|_, factor| *factor >= LEAST_FACTOR);
    factors
}

/// Euclid's algorithm.
const fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn factor(factors: &BTreeMap<String, u64>, name: &str) -> u64 {
    factors.get(Family::name_in(name)).copied().unwrap_or(1).max(1)
}

/// Writes the series of a host.
pub(crate) fn serialize<S: Serializer>(series: &Series, serializer: S) -> Result<S::Ok, S::Error> {
    let (mut at_nanos, mut at) = (Vec::new(), Vec::new());
    if series.at.len() > MOST_READINGS || !series.is_whole() {
        at.clone_from(&series.at);
    } else {
        at_nanos = differences::written(series.at.iter().map(|at| at.nanos()));
    }
    // Times of zero at the end would be lost.
    if at_nanos.len() != series.at.len() {
        at_nanos.clear();
        at.clone_from(&series.at);
    }
    let whole = |values: &[u64]| {
        let mut before = 0_u64;
        let grown = values.iter().map(|value| {
            let by = value.saturating_sub(before);
            before = *value;
            Step::Grew(by)
        });
        grown.collect()
    };
    let is_short = at.is_empty();
    let factors = if is_short { factors(series) } else { BTreeMap::new() };
    let written = series.counters().map(|(name, list)| {
        let factor = factor(&factors, name);
        let list: Vec<_> = list.iter().map(|value| value / factor).collect();
        (name.to_owned(), if is_short { steps(&list) } else { whole(&list) })
    });
    let counters = written.into_map();
    let form = Form {
        at_nanos,
        at,
        families: series.families.clone(),
        counters,
        factors,
        gauges: series.gauges.clone(),
    };
    form.serialize(serializer)
}

/// Reads the series of a host.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Series, D::Error> {
    let form = Form::deserialize(deserializer)?;
    let readings = form.at_nanos.len();
    if readings > MOST_READINGS {
        return Err(D::Error::custom("a series with too many readings"));
    }
    let at = match readings {
        0 => form.at,
        _ => differences::read(&form.at_nanos, readings).map(Timestamp::from_nanos).collect(),
    };
    let read = |(name, steps): (String, Vec<Step>)| -> Result<_, &str> {
        // Those of the wire may be fewer than the times, which is found later.
        let readings = if readings == 0 { steps.len() } else { readings };
        let values = values(&steps, readings).ok_or("a counter with more values than readings")?;
        let factor = factor(&form.factors, &name);
        Ok((name, values.into_iter().map(|value| value.saturating_mul(factor)).collect()))
    };
    let mut counters = BTreeMap::new();
    for pair in form.counters {
        let (name, values) = read(pair).map_err(D::Error::custom)?;
        counters.insert(name, values);
    }
    Ok(Series { at, families: form.families, counters, gauges: form.gauges })
}

/// Below, a family has as many digits with it.
const LEAST_FACTOR: u64 = 1_000;
/// Beyond, a reader would take much memory for little text.
const MOST_READINGS: usize = 256;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::host::Family;
    use crate::host::counter::{SOFTNET_DROPPED, THERMAL_MILLICELSIUS};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Part(#[serde(with = "super")] Series);

    fn series(values: &[u64]) -> Series {
        let at = (0..values.len() as u64).map(|index| Timestamp::from_nanos(100 + 10 * index));
        let mut series = Series::new(at.collect());
        series.note_read(Family::SOFTNET);
        series.put(SOFTNET_DROPPED.on(0), values.to_vec());
        series.put_gauge(THERMAL_MILLICELSIUS.on(0), vec![40]);
        series
    }

    #[test]
    fn runs_of_zeros_are_one_number_and_those_at_the_end_none() {
        let part = Part(series(&[7, 7, 7, 9, 9, 9, 9]));
        let json = serde_json::to_value(&part).expect("JSON");
        assert_eq!(json["counters"]["softnet.0.dropped"], json!([7, -2, 2]));
        assert_eq!(json["at_nanos"], json!([100, 10, 10, 10, 10, 10, 10]));
        assert!(json.get("at").is_none());
        assert_eq!(serde_json::from_value::<Part>(json).expect("a series"), part);
        let large = Part(series(&[0, 0, u64::MAX, u64::MAX]));
        let text = serde_json::to_string(&large).expect("JSON");
        assert_eq!(serde_json::from_str::<Part>(&text).expect("a series"), large);
    }

    #[test]
    fn a_common_factor_of_a_family_is_written_once() {
        let part = Part(series(&[20_000, 20_000, 90_000]));
        let json = serde_json::to_value(&part).expect("JSON");
        assert_eq!(json["factors"], json!({ "softnet": 10_000 }));
        assert_eq!(json["counters"]["softnet.0.dropped"], json!([2, -1, 7]));
        assert_eq!(serde_json::from_value::<Part>(json).expect("a series"), part);
    }

    #[test]
    fn the_lists_of_a_long_series_are_read() {
        let long = Part(series(&(0..300).collect::<Vec<_>>()));
        let json = serde_json::to_value(&long).expect("JSON");
        assert!(json.get("at_nanos").is_none());
        assert_eq!(serde_json::from_value::<Part>(json).expect("a series"), long);
    }

    #[test]
    fn impossible_lists_are_refused() {
        let read = |at: Vec<i64>, list: &[i64]| {
            serde_json::from_value::<Part>(json!({
                "at_nanos": at, "families": [], "counters": { "a.b": list }, "gauges": {},
            }))
        };
        assert!(read(vec![1, 2], &[5, -1]).is_ok());
        for list in [&[5, -2][..], &[5, i64::MIN], &[1, 1, 1]] {
            assert!(read(vec![1, 2], list).is_err(), "{list:?}");
        }
        assert!(read(vec![1; 257], &[1]).is_err());
    }
}
