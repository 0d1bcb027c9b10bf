//! Records as OpenMetrics 1.0.

use std::fmt::Write as _;
use std::io::{self, Write};

use measurement::{DirectionOutcome, RecordSet, RoundTrips, Stamp};
use time::UtcDateTime;

use super::{Export, SummaryWriter, Width};
use crate::results::{self, ResultRow};

/// Output format `openmetrics`: success, rate, loss, retransmitted segments, jitter, round trips and
/// the stamp of each row. What is not known has no sample.
#[derive(Clone, Copy, Debug)]
pub struct OpenMetrics;

impl Export for OpenMetrics {
    fn name(&self) -> &'static str {
        "openmetrics"
    }

    fn summary(&self) -> &'static str {
        "OpenMetrics: rate, loss, round trips and stamp of each row"
    }

    fn write(&self, records: &RecordSet, _: Width, out: &mut dyn Write) -> io::Result<()> {
        let rows: Vec<_> =
            results::rows(&records.records).into_iter().map(LabelledRow::new).collect();
        if let Some(success) = success(records) {
            writeln!(out, "{RUN_SUCCESS}{success}")?;
        }
        for family in FAMILIES {
            let samples: String = rows.iter().map(|row| (family.samples)(family, row)).collect();
            if samples.is_empty() {
                continue;
            }
            let Family { name, unit, kind, help, .. } = family;
            writeln!(out, "# TYPE {name} {kind}")?;
            if !unit.is_empty() {
                writeln!(out, "# UNIT {name} {unit}")?;
            }
            write!(out, "# HELP {name} {help}\n{samples}")?;
        }
        writeln!(out, "# EOF")
    }

    fn summary_writer(&self) -> Option<SummaryWriter> {
        Some(|summary, out| summary.grid().write_open_metrics(summary.name(), out))
    }
}

/// A result with its labels.
struct LabelledRow<'a> {
    result: ResultRow<'a>,
    /// Its labels, without braces.
    labels: String,
}

impl<'a> LabelledRow<'a> {
    fn new(result: ResultRow<'a>) -> Self {
        let mut labels = format!("row=\"{}\"", escaped(&result.title));
        let more = [("peer", result.peer()), ("run", result.run.clone())];
        for (name, value) in more.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            // A string takes everything.
            _ = write!(labels, ",{name}=\"{value}\"");
        }
        Self { result, labels }
    }
}

/// Label values are escaped as OpenMetrics has it.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Whether all tests of a run came to their end. None: there is no run.
fn success(records: &RecordSet) -> Option<u8> {
    let rows = results::rows(&records.records);
    let is_run = !rows.is_empty() || records.error.is_some();
    let succeeded = records.error.is_none() && rows.iter().all(ResultRow::is_complete);
    is_run.then_some(u8::from(succeeded))
}

struct Family {
    name: &'static str,
    /// Empty: none.
    unit: &'static str,
    kind: &'static str,
    help: &'static str,
    /// The samples of a row, a line each; empty: not known.
    samples: fn(&Self, &LabelledRow<'_>) -> String,
}

const FAMILIES: &[Family] = &[
    Family {
        name: "linerate_test_success",
        unit: "",
        kind: "gauge",
        help: "Whether the test ran to its end.",
        samples: |family, row| family.value(row, Some(u8::from(row.result.is_complete()))),
    },
    Family {
        name: "linerate_test_start_timestamp_seconds",
        unit: "seconds",
        kind: "gauge",
        help: "When the test started, since the epoch.",
        samples: |family, row| {
            family.value(row, row.result.started().map(UtcDateTime::unix_timestamp))
        },
    },
    Family {
        name: "linerate_test_rate_bits_per_second",
        unit: "bits_per_second",
        kind: "gauge",
        help: "Rate of the payload that was delivered.",
        samples: |family, row| {
            let moved = row.result.outcome.and_then(DirectionOutcome::arrived);
            family.value(row, moved.map(|moved| moved.rate.bits_per_second()))
        },
    },
    Family {
        name: "linerate_test_lost_ratio",
        unit: "ratio",
        kind: "gauge",
        help: "Lost datagrams as a share of those sent.",
        samples: |family, row| {
            let datagrams = row.result.outcome.and_then(|one| one.datagrams);
            family.value(row, datagrams.map(|datagrams| datagrams.loss()))
        },
    },
    Family {
        name: "linerate_test_retransmitted_segments",
        unit: "segments",
        kind: "gauge",
        help: "Segments that TCP retransmitted.",
        samples: |family, row| {
            family.value(row, row.result.outcome.and_then(|one| one.retransmits))
        },
    },
    Family {
        name: "linerate_test_jitter_seconds",
        unit: "seconds",
        kind: "gauge",
        help: "Interarrival jitter at the receiver (RFC 3550).",
        samples: |family, row| {
            family.value(row, row.result.outcome.and_then(|one| one.jitter_seconds))
        },
    },
    Family {
        name: "linerate_test_round_trip_seconds",
        unit: "seconds",
        kind: "summary",
        help: "Round-trip times of requests, or of the probe under load.",
        samples: round_trips,
    },
    Family {
        name: STAMP,
        unit: "",
        kind: "stateset",
        help: "Whether the result is to be trusted.",
        samples: stamp,
    },
];

impl Family {
    fn value(&self, row: &LabelledRow<'_>, value: Option<impl ToString>) -> String {
        let value = value.map(|value| value.to_string());
        value.map_or_else(String::new, |value| format!("{}{{{}}} {value}\n", self.name, row.labels))
    }
}

fn round_trips(family: &Family, row: &LabelledRow<'_>) -> String {
    let Some(RoundTrips { times, count, .. }) = row.result.round_trips() else {
        return String::new();
    };
    let (name, labels) = (family.name, &row.labels);
    let quantiles = [(0.5, times.p50), (0.9, times.p90), (0.99, times.p99)];
    let each = quantiles.iter().map(|(quantile, time)| {
        format!("{name}{{{labels},quantile=\"{quantile}\"}} {}\n", time.as_secs_f64())
    });
    each.chain([format!("{name}_count{{{labels}}} {count}\n")]).collect()
}

/// Each state has a sample, whose label has the name of the family: one is 1, the others are 0.
fn stamp(_: &Family, row: &LabelledRow<'_>) -> String {
    let Some(judgement) = &row.result.record.judgement else { return String::new() };
    let states = [Stamp::Valid, Stamp::Suspect, Stamp::Invalid];
    let each = states.iter().map(|state| {
        let is_it = u8::from(*state == judgement.stamp);
        format!("{STAMP}{{{},{STAMP}=\"{state}\"}} {is_it}\n", row.labels)
    });
    each.collect()
}

/// A family without labels, also of a run that has no result.
const RUN_SUCCESS: &str = "\
# TYPE linerate_run_success gauge
# HELP linerate_run_success Whether all tests of the run came to their end.
linerate_run_success ";
const STAMP: &str = "linerate_test_stamp";

#[cfg(test)]
mod tests {
    use super::*;

    fn written(records: &RecordSet) -> String {
        let mut out = Vec::new();
        OpenMetrics.write(records, Width::UNKNOWN, &mut out).expect("a vector takes all");
        String::from_utf8(out).expect("UTF-8")
    }

    fn four_rows() -> RecordSet {
        let text = include_bytes!("../../tests/records/four-rows.json");
        let mut set = crate::import::record::read(text).expect("records");
        for record in &mut set.records {
            record.judgement = Some(analysis::judge(record));
        }
        set
    }

    #[test]
    fn a_stamp_is_a_state_set() {
        let mut records = four_rows();
        let judgement = records.records[0].judgement.as_mut().expect("it is judged");
        judgement.stamp = Stamp::Suspect;
        let text = written(&records);
        assert!(text.contains("# TYPE linerate_test_stamp stateset\n"), "{text}");
        let send: Vec<_> = text
            .lines()
            .filter(|line| line.starts_with("linerate_test_stamp{row=\"TCP send\","))
            .map(|line| line.rsplit_once(STAMP).expect("a label").1)
            .collect();
        assert_eq!(send, ["=\"VALID\"} 0", "=\"SUSPECT\"} 1", "=\"INVALID\"} 0"]);
        assert!(text.ends_with("} 0\n# EOF\n"), "{text}");
    }

    #[test]
    fn runs_of_a_row_are_told_apart_and_what_is_not_known_is_left_out() {
        let mut records = four_rows();
        records.records.truncate(1);
        records.records.push(records.records[0].clone());
        records.records[1].judgement = None;
        records.records[1].outcome.directions[0].retransmits = None;
        let text = written(&records);
        let of = |name: &str, run: u8| {
            let run = format!("run=\"{run}\"");
            text.lines().filter(|line| line.starts_with(name) && line.contains(&run)).count()
        };
        for (name, counts) in [
            ("linerate_test_rate_bits_per_second{", [1, 1]),
            ("linerate_test_retransmitted_segments{", [1, 0]),
            ("linerate_test_stamp{", [3, 0]),
            ("linerate_test_lost_ratio{", [0, 0]),
        ] {
            assert_eq!([of(name, 1), of(name, 2)], counts, "{name} {text}");
        }
        assert_eq!(written(&RecordSet::new(Vec::new())), "# EOF\n");
    }

    #[test]
    fn label_values_are_escaped() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
