//! Records as a data file of flent (version 4 of its format, `flent/resultset.py`), which flent
//! plots and tabulates: JSON, compressed by gzip.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use measurement::RecordSet;
use serde_json::{Map, Value, json};
use time::UtcDateTime;

use super::{Export, Width};
use crate::results::{self, ResultRow};

mod series;

use series::{Kind, Series};

/// Output format `flent`: rates in Mbit/s and round trips in ms over time. Tests follow each other
/// on the axis of time without a gap, in the order in which they ran.
#[derive(Clone, Copy, Debug)]
pub struct Flent;

impl Export for Flent {
    fn name(&self) -> &'static str {
        "flent"
    }

    fn summary(&self) -> &'static str {
        "data file of flent (.flent.gz): rates and round trips over time"
    }

    fn is_text(&self) -> bool {
        false
    }

    fn write(&self, records: &RecordSet, _: Width, out: &mut dyn Write) -> io::Result<()> {
        let rows = results::rows(&records.records);
        let mut gzip = GzEncoder::new(out, Compression::default());
        measurement::json::write(&data_file(&rows), &mut gzip)?;
        gzip.finish().map(drop)
    }
}

fn data_file(rows: &[ResultRow<'_>]) -> Value {
    let all = series::of(rows);
    let length = rows.iter().map(ResultRow::seconds).sum::<f64>();
    let step = STEP.max(length / MOST_STEPS);
    let count = (length / step).ceil().max(1.0);
    let steps = (1..=u32::MAX).map(f64::from).take_while(|number| *number <= count);
    let times: Vec<_> = steps.map(|number| number * step).collect();
    let begin = rows.first().and_then(ResultRow::started).map(UtcDateTime::unix_timestamp);
    let begin = begin.unwrap_or_default() as f64;
    let named = |value: &dyn Fn(&Series) -> Value| {
        all.iter().map(|one| (one.name.clone(), value(one))).collect::<Map<_, _>>()
    };
    json!({
        "version": 4,
        "metadata": metadata(rows, &all, (length, step)),
        "x_values": times,
        "results": named(&|one| one.sampled(&times, step).into()),
        "raw_values": named(&|one| one.raw(begin).into()),
    })
}

/// As flent has them; names of its tests choose its plots.
fn metadata(rows: &[ResultRow<'_>], all: &[Series], (length, step): (f64, f64)) -> Value {
    let has = |prefix: &str| all.iter().any(|one| one.name.starts_with(prefix));
    let name = match (has("TCP"), has("UDP")) {
        (true, _) => "tcp_bidirectional",
        (_, true) => "udp_flood",
        _ => "ping",
    };
    let first = rows.first();
    let started = first.and_then(ResultRow::started).unwrap_or(UtcDateTime::UNIX_EPOCH);
    let (hour, minute, second, micros) = started.time().as_hms_micro();
    let time = format!("{}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z", started.date());
    let here = first.and_then(|row| row.record.environment.as_ref());
    let unit = |one: &Series| {
        let unit = match one.kind {
            Kind::Rate => "Mbits/s",
            Kind::RoundTrip => "ms",
        };
        (one.name.clone(), json!({ "UNITS": unit }))
    };
    json!({
        "NAME": name,
        "TITLE": rows.iter().map(|row| row.title.clone()).collect::<Vec<_>>().join("; "),
        "NOTE": concat!("exported by linerate ", env!("CARGO_PKG_VERSION")),
        "HOST": first.and_then(ResultRow::peer),
        "LOCAL_HOST": here.map(|here| here.host.clone()),
        "KERNEL_RELEASE": here.map(|here| here.kernel.clone()),
        "TIME": time,
        "T0": time,
        "LENGTH": length,
        "TOTAL_LENGTH": length,
        "STEP_SIZE": step,
        "SERIES_META": all.iter().map(unit).collect::<Map<_, _>>(),
    })
}

/// flent's own default, in seconds.
const STEP: f64 = 0.2;
/// More than a plot can show.
const MOST_STEPS: f64 = 20_000.0;

#[cfg(test)]
mod tests {
    use flate2::read::GzDecoder;

    use super::*;

    fn written(text: &[u8]) -> Value {
        let records = crate::import::record::read(text).expect("records");
        let mut out = Vec::new();
        Flent.write(&records, Width::UNKNOWN, &mut out).expect("a vector takes all");
        serde_json::from_reader(GzDecoder::new(&out[..])).expect("JSON")
    }

    #[test]
    fn rates_follow_each_other_in_series_of_equal_length() {
        let file = written(include_bytes!("../../tests/records/four-rows.json"));
        let count = file["x_values"].as_array().map(Vec::len);
        let results = file["results"].as_object().expect("series");
        let names: Vec<_> = results.keys().map(String::as_str).collect();
        assert_eq!(names, ["TCP upload", "TCP download", "UDP upload", "UDP download"]);
        let mut ends = 0;
        for (name, values) in results {
            let values = values.as_array().expect("values");
            assert_eq!(Some(values.len()), count, "{name}");
            let known = |value: &Value| value.as_f64().is_some_and(|rate| rate > 0.0);
            let begin = values.iter().position(known).expect("a rate");
            assert!(begin >= ends, "{name} begins at {begin}");
            ends = values.iter().rposition(known).expect("a rate");
        }
    }

    #[test]
    fn round_trips_are_in_milliseconds() {
        let file = written(include_bytes!("../../tests/records/latency.json"));
        let results = file["results"].as_object().expect("series");
        let ping = results.keys().find(|name| name.starts_with("Ping (ms)")).expect("a series");
        let values = results[ping].as_array().expect("values");
        assert!(values.iter().filter_map(Value::as_f64).all(|ms| (0.001..10_000.0).contains(&ms)));
    }
}
