//! Round-trip times of records as a log of HdrHistogram (interval log format 1.3), which
//! HdrHistogram's own tools and plotters read.

use std::io::{self, Write};
use std::time::Duration;

use measurement::{RecordSet, RoundTrips};
use time::UtcDateTime;

use super::{Export, Width};
use crate::results::{self, ResultRow};

mod encoding;

/// Output format `hdr-log`: a line for each distribution of round-trip times in nanoseconds, with
/// the row as its tag; before and under load are two. The maximum of a line is in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct HdrLog;

impl Export for HdrLog {
    fn name(&self) -> &'static str {
        "hdr-log"
    }

    fn summary(&self) -> &'static str {
        "HdrHistogram log of the round-trip times, in nanoseconds"
    }

    fn write(&self, records: &RecordSet, _: Width, out: &mut dyn Write) -> io::Result<()> {
        let rows = results::rows(&records.records);
        let first = rows.iter().filter_map(since_epoch).min().unwrap_or_default();
        let seconds = first.as_secs_f64();
        writeln!(out, "#[linerate: round-trip times in nanoseconds, maxima in milliseconds]")?;
        writeln!(out, "#[Histogram log format version 1.3]")?;
        writeln!(out, "#[StartTime: {seconds:.3} (seconds since epoch)]")?;
        let keys =
            ["StartTimestamp", "Interval_Length", "Interval_Max", "Interval_Compressed_Histogram"];
        writeln!(out, "{}", keys.map(|key| format!("\"{key}\"")).join(","))?;
        for row in &rows {
            let since = since_epoch(row).unwrap_or(first).saturating_sub(first).as_secs_f64();
            for (tag, trips) in distributions(row) {
                let length = trips.span.as_secs_f64();
                let largest = trips.histogram.last().map_or(0, |(nanos, _)| *nanos);
                let max = Duration::from_nanos(largest).as_secs_f64() * 1e3;
                let histogram = encoding::encode(&trips.histogram);
                writeln!(out, "Tag={tag},{since:.3},{length:.3},{max:.3},{histogram}")?;
            }
        }
        Ok(())
    }
}

fn since_epoch(row: &ResultRow<'_>) -> Option<Duration> {
    Duration::try_from(row.started()? - UtcDateTime::UNIX_EPOCH).ok()
}

/// The distributions of a result, each with its tag.
fn distributions<'a>(row: &ResultRow<'a>) -> Vec<(String, &'a RoundTrips)> {
    let outcome = &row.record.outcome;
    let exchange = outcome.round_trips.as_ref().map(|trips| ("", trips));
    let probes = outcome.latency.as_ref();
    let probes = probes.map(|probes| [("-idle", &probes.idle), ("-loaded", &probes.loaded)]);
    let all = exchange.into_iter().chain(probes.into_iter().flatten());
    let run = row.run.as_ref().map_or_else(String::new, |run| format!("-{run}"));
    // A comma or a space would end the tag.
    let name = (row.title.clone() + &run).replace(", ", "-").replace(' ', "-");
    let counted = all.filter(|(_, trips)| !trips.histogram.is_empty());
    counted.map(|(suffix, trips)| (name.clone() + suffix, trips)).collect()
}

#[cfg(test)]
mod tests {
    use base64::prelude::{BASE64_STANDARD, Engine};
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    use super::*;

    #[test]
    fn each_distribution_is_a_line_with_the_row_as_its_tag() {
        let text = include_bytes!("../../tests/records/latency.json");
        let records = crate::import::record::read(text).expect("records");
        let mut out = Vec::new();
        HdrLog.write(&records, Width::UNKNOWN, &mut out).expect("a vector takes all");
        let out = String::from_utf8(out).expect("text");
        let lines: Vec<_> = out.lines().filter(|line| line.starts_with("Tag=")).collect();
        let rows = results::rows(&records.records);
        let all: Vec<_> = rows.iter().flat_map(distributions).collect();
        assert!(!all.is_empty() && lines.len() == all.len(), "{out}");
        let histograms = IntervalLogIterator::new(out.as_bytes()).filter_map(|entry| {
            match entry.expect("a log") {
                LogEntry::Interval(one) => Some(one),
                _ => None,
            }
        });
        let mut count = 0;
        for (one, (tag, trips)) in histograms.zip(all) {
            count += 1;
            let bytes = BASE64_STANDARD.decode(one.encoded_histogram()).expect("base64");
            let mut reader = Deserializer::new();
            let read: Histogram<u64> = reader.deserialize(&mut &bytes[..]).expect("a histogram");
            assert_eq!(one.tag().map(|tag| tag.as_str()), Some(tag.as_str()));
            let counted: u64 = trips.histogram.iter().map(|(_, count)| count).sum();
            assert_eq!(read.len(), counted, "{tag}");
            // The histograms of exchanges are shortened in this file.
            if counted < trips.count {
                continue;
            }
            for (quantile, time) in [(0.5, trips.times.p50), (0.99, trips.times.p99)] {
                let ratio = read.value_at_quantile(quantile) as f64 / time.as_nanos() as f64;
                assert!((ratio - 1.0).abs() < 0.01, "{tag}: {quantile} is {ratio}");
            }
            assert!((one.max() / trips.times.max.as_secs_f64() / 1e3 - 1.0).abs() < 0.01);
        }
        assert_eq!(count, lines.len());
    }
}
