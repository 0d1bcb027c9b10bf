//! Records in the line protocol of InfluxDB 2: a point for each result, and one for each interval.

use std::fmt::Write as _;
use std::io::{self, Write};

use measurement::RecordSet;
use time::UtcDateTime;

use super::{Export, Width};
use crate::results::{self, ResultRow};

/// Output format `influx`: the measurements `linerate_test` and `linerate_interval`, with times in
/// nanoseconds since the epoch. A result whose start is not known has no time.
#[derive(Clone, Copy, Debug)]
pub struct Influx;

impl Export for Influx {
    fn name(&self) -> &'static str {
        "influx"
    }

    fn summary(&self) -> &'static str {
        "InfluxDB line protocol: a point for each result and interval"
    }

    fn write(&self, records: &RecordSet, _: Width, out: &mut dyn Write) -> io::Result<()> {
        for row in results::rows(&records.records) {
            let tags = tags(&row);
            let started = row.started().map(UtcDateTime::unix_timestamp_nanos);
            write_point(out, ("linerate_test", &tags), &fields(&row), started)?;
            for interval in row.intervals().iter().flat_map(|one| &one.intervals) {
                let fields = [
                    float("rate_bits_per_second", interval.rate.bits_per_second() as f64),
                    count("payload_bytes", interval.bytes),
                    count("retransmitted_segments", interval.retransmits),
                    ("missing_datagrams", format!("{}i", interval.missing)),
                    ("omitted", interval.omitted.to_string()),
                ];
                let time = started.map(|started| started + nanos(interval.to));
                write_point(out, ("linerate_interval", &tags), &fields, time)?;
            }
        }
        Ok(())
    }
}

type Field = (&'static str, String);

/// The tags of a result, with the comma before each.
fn tags(row: &ResultRow<'_>) -> String {
    let record = row.record;
    let known = [
        ("host", row.host()),
        ("peer", row.peer()),
        ("row", Some(row.title.clone())),
        ("transport", Some(row.transport())),
        ("direction", Some(row.direction())),
        ("run", row.run.clone()),
    ];
    let known = known.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    let given = record.tags.iter().map(|(key, value)| (format!("tag_{key}"), value.clone()));
    let mut tags = String::new();
    // A tag without a value is none.
    for (key, value) in known.chain(given).filter(|(_, value)| !value.is_empty()) {
        // A string takes everything.
        _ = write!(tags, ",{}={}", escaped(&key), escaped(&value));
    }
    tags
}

fn fields(row: &ResultRow<'_>) -> Vec<Field> {
    let mut fields = vec![("success", row.is_complete().to_string())];
    if let Some(outcome) = row.outcome {
        if let Some(moved) = outcome.arrived() {
            fields.push(float("rate_bits_per_second", moved.rate.bits_per_second() as f64));
            fields.push(count("payload_bytes", moved.bytes));
        }
        if let Some(sent) = outcome.offered {
            fields.push(float("sent_bits_per_second", sent.rate.bits_per_second() as f64));
        }
        if let Some(datagrams) = outcome.datagrams {
            fields.push(float("lost_ratio", datagrams.loss()));
            fields.push(count("lost_datagrams", datagrams.lost));
        }
        fields.extend(outcome.retransmits.map(|all| count("retransmitted_segments", all)));
        fields.extend(outcome.jitter_seconds.map(|jitter| float("jitter_seconds", jitter)));
    }
    if let Some(trips) = row.round_trips() {
        let times = &trips.times;
        fields.extend([
            float("round_trip_median_seconds", times.p50.as_secs_f64()),
            float("round_trip_p90_seconds", times.p90.as_secs_f64()),
            float("round_trip_p99_seconds", times.p99.as_secs_f64()),
            float("round_trip_max_seconds", times.max.as_secs_f64()),
            count("round_trips", trips.count),
        ]);
    }
    let stamp = row.record.judgement.as_ref().map(|judgement| judgement.stamp);
    fields.extend(stamp.map(|stamp| ("stamp", format!("\"{stamp}\""))));
    fields
}

fn write_point(
    out: &mut dyn Write,
    (measurement, tags): (&str, &str),
    fields: &[Field],
    nanos: Option<i128>,
) -> io::Result<()> {
    let fields: Vec<_> = fields.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let time = nanos.map_or_else(String::new, |nanos| format!(" {nanos}"));
    writeln!(out, "{measurement}{tags} {}{time}", fields.join(","))
}

/// Without a suffix a number is a float.
fn float(key: &'static str, value: f64) -> Field {
    (key, value.to_string())
}

/// An integer has 64 bits and a sign.
fn count(key: &'static str, value: u64) -> Field {
    (key, format!("{}i", i64::try_from(value).unwrap_or(i64::MAX)))
}

fn nanos(span: std::time::Duration) -> i128 {
    i128::try_from(span.as_nanos()).unwrap_or(i128::MAX)
}

/// Tags have commas, equals signs and spaces after a backslash. A line ends the point, and a
/// backslash at the end of a value would take the separator away: both become a space.
fn escaped(text: &str) -> String {
    let text = text.replace(|one: char| one.is_control() || one == '\\', " ");
    text.replace(',', "\\,").replace('=', "\\=").replace(' ', "\\ ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(records: &RecordSet) -> String {
        let mut out = Vec::new();
        Influx.write(records, Width::UNKNOWN, &mut out).expect("a vector takes all");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn each_result_and_each_interval_is_a_point() {
        let text = include_bytes!("../../tests/records/four-rows.json");
        let mut records = crate::import::record::read(text).expect("records");
        records.records[0].tags.insert("site, a=b".into(), "the lab\\\n".into());
        let text = written(&records);
        let intervals: usize = records
            .records
            .iter()
            .flat_map(|one| &one.intervals)
            .map(|one| one.intervals.len())
            .sum();
        let of = |name: &str| text.lines().filter(|line| line.starts_with(name)).count();
        assert_eq!([of("linerate_test,"), of("linerate_interval,")], [4, intervals]);
        let first = text.lines().next().expect("a line");
        assert!(first.contains(",row=TCP\\ send,transport=tcp,direction=send"), "{first}");
        assert!(first.contains(",tag_site\\,\\ a\\=b=the\\ lab\\ \\  success=true,"), "{first}");
        let (_, time) = first.rsplit_once(' ').expect("a time");
        assert!(time.parse::<u64>().is_ok_and(|time| time > 1_577_836_800_000_000_000), "{first}");
    }

    #[test]
    fn a_failed_test_has_no_success_and_what_is_not_known_is_left_out() {
        let text = include_bytes!("../../tests/records/failed-tcp.json");
        let records = crate::import::record::read(text).expect("records");
        let text = written(&records);
        assert!(text.contains(" success=false"), "{text}");
        assert!(!text.contains("lost_ratio"), "{text}");
    }
}
