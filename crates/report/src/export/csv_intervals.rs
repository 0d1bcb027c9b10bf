//! The intervals of records as CSV, one below the other, for what draws rates over time.

use std::io::{self, Write};

use measurement::{ByteSize, RecordSet};

use super::{Export, Width};
use crate::grid::{Column, Grid, Value};
use crate::results::{self, ResultRow};

/// Output format `csv-intervals`: a line for each interval of each result, below one with the keys.
#[derive(Clone, Copy, Debug)]
pub struct CsvIntervals;

impl Export for CsvIntervals {
    fn name(&self) -> &'static str {
        "csv-intervals"
    }

    fn summary(&self) -> &'static str {
        "a line for each interval of each result, as CSV"
    }

    fn write(&self, records: &RecordSet, _: Width, out: &mut dyn Write) -> io::Result<()> {
        let mut grid = Grid::new(COLUMNS.to_vec());
        for row in results::rows(&records.records) {
            let head = head(&row);
            for interval in row.intervals().iter().flat_map(|one| &one.intervals) {
                let traffic = [
                    Value::Seconds(interval.from.as_secs_f64()),
                    Value::Seconds(interval.to.as_secs_f64()),
                    Value::Count(interval.omitted.into()),
                    Value::Bytes(ByteSize::from_bytes(interval.bytes)),
                    Value::Rate(interval.rate),
                    Value::Count(interval.retransmits),
                    // Late datagrams make it negative.
                    Value::Text(interval.missing.to_string()),
                ];
                grid.push(head.iter().cloned().chain(traffic).collect());
            }
        }
        grid.write_csv(out)
    }
}

fn head(row: &ResultRow<'_>) -> [Value; 6] {
    let here = row.record.environment.as_ref();
    [
        Value::known(here.map(|here| here.started_at.clone()), Value::Text),
        Value::known(row.host(), Value::Text),
        Value::known(row.peer(), Value::Text),
        Value::Text(row.title.clone()),
        Value::known(row.run.clone(), Value::Text),
        Value::Text(row.direction()),
    ]
}

const COLUMNS: [Column; 13] = [
    Column { title: "started", key: "started_at" },
    Column { title: "host", key: "host" },
    Column { title: "peer", key: "peer" },
    Column { title: "row", key: "row" },
    Column { title: "run", key: "run" },
    Column { title: "direction", key: "direction" },
    Column { title: "from", key: "from_seconds" },
    Column { title: "to", key: "to_seconds" },
    Column { title: "omitted", key: "omitted" },
    Column { title: "moved", key: "payload_bytes" },
    Column { title: "rate", key: "rate_bits_per_second" },
    Column { title: "resent", key: "retransmitted_segments" },
    Column { title: "missing", key: "missing_datagrams" },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_interval_is_a_line() {
        let text = include_bytes!("../../tests/records/four-rows.json");
        let records = crate::import::record::read(text).expect("records");
        let mut out = Vec::new();
        CsvIntervals.write(&records, Width::UNKNOWN, &mut out).expect("a vector takes all");
        let out = String::from_utf8(out).expect("text");
        let own = records.records.iter().flat_map(|record| &record.intervals);
        let count: usize = own.map(|direction| direction.intervals.len()).sum();
        assert_eq!(out.lines().count(), 1 + count, "{out}");
        let lines: Vec<Vec<_>> = out.lines().map(|line| line.split(',').collect()).collect();
        for line in &lines[1..] {
            assert_eq!(line.len(), lines[0].len(), "{line:?}");
            let number = |at: usize| line[at].parse::<f64>().expect("a number");
            let rate = number(9) * 8.0 / (number(7) - number(6));
            assert!((rate / number(10) - 1.0).abs() < 0.01, "{line:?}");
        }
    }
}
