//! Records as CSV: what was asked of each row and what came of it.

use std::io::{self, Write};

use measurement::{DirectionOutcome, End, RecordSet, TestRecord};

use super::{Export, SummaryWriter, Width};
use crate::grid::{Column, Grid, Value};
use crate::{measured, results};

/// Output format `csv`: a line for each record and direction, below one with the keys.
#[derive(Clone, Copy, Debug)]
pub struct Csv;

impl Export for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn summary(&self) -> &'static str {
        "a line for each result, below the names of its columns"
    }

    fn write(&self, records: &RecordSet, _: Width, out: &mut dyn Write) -> io::Result<()> {
        let mut grid =
            Grid::new(PLANNED.iter().chain(&measured::COLUMNS).chain([&SENT]).copied().collect());
        for record in &records.records {
            for outcome in &record.outcome.directions {
                let row = planned(record, outcome).into_iter();
                let sent = Value::known(outcome.offered, |sent| Value::Rate(sent.rate));
                grid.push(row.chain(measured::values(record, outcome)).chain([sent]).collect());
            }
        }
        grid.write_csv(out)
    }

    fn summary_writer(&self) -> Option<SummaryWriter> {
        Some(|summary, out| summary.grid().write_csv(out))
    }
}

const PLANNED: [Column; 12] = [
    Column { title: "started", key: "started_at" },
    Column { title: "host", key: "host" },
    Column { title: "peer", key: "peer" },
    Column { title: "transport", key: "transport" },
    Column { title: "direction", key: "direction" },
    Column { title: "time", key: "time_seconds" },
    Column { title: "streams", key: "streams" },
    Column { title: "length", key: "block_bytes" },
    Column { title: "window", key: "window_bytes" },
    Column { title: "MSS", key: "mss_bytes" },
    Column { title: "congestion", key: "congestion" },
    Column { title: "engines", key: "engines" },
];
/// What the sender counted: all that is known of a client whose peer reported nothing.
const SENT: Column = Column { title: "sent", key: "sent_bits_per_second" };

fn planned(record: &TestRecord, outcome: &DirectionOutcome) -> [Value; 12] {
    let (plan, options) = (&record.plan, &record.plan.options);
    let started = record.environment.as_ref().map(|here| here.started_at.clone());
    let time = match plan.end {
        End::Time(time) => Value::Seconds(time.as_secs_f64()),
        End::Bytes(_) | End::Blocks(_) | End::Open => Value::Missing,
    };
    let engines: Vec<_> = options.engines.iter().map(ToString::to_string).collect();
    [
        Value::known(started, Value::Text),
        Value::known(results::host(record), Value::Text),
        Value::known(results::peer(record), Value::Text),
        Value::Text(plan.transport.to_string()),
        measured::direction(outcome),
        time,
        Value::Count(plan.streams.into()),
        Value::known(options.block, Value::Bytes),
        Value::known(options.window, Value::Bytes),
        Value::known(options.mss, |mss| Value::Count(mss.into())),
        Value::known(options.congestion.clone(), Value::Text),
        Value::known((!engines.is_empty()).then(|| engines.join("+")), Value::Text),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_direction_of_each_record_is_a_line() {
        let text = include_bytes!("../../tests/records/four-rows.json");
        let records = crate::import::record::read(text).expect("records");
        let mut out = Vec::new();
        Csv.write(&records, Width::UNKNOWN, &mut out).expect("a vector takes all");
        let out = String::from_utf8(out).expect("text");
        let lines: Vec<_> = out.lines().collect();
        assert_eq!(lines.len(), 5, "{out}");
        let head: Vec<_> = lines[0].split(',').collect();
        let at = |key: &str| head.iter().position(|one| *one == key).expect("a column");
        for line in &lines[1..] {
            let cells: Vec<_> = line.split(',').collect();
            assert_eq!(cells.len(), head.len(), "{line}");
            let is_udp = cells[at("transport")] == "UDP";
            let rate: f64 = cells[at("delivered_bits_per_second")].parse().expect("a rate");
            let packets: f64 = cells[at("packets_per_second")].parse().expect("packets");
            assert!(rate / 8.0 / packets > 500.0, "{line}");
            assert_eq!(cells[at("lost_ratio")].is_empty(), !is_udp, "{line}");
            assert_eq!(cells[at("retransmitted_segments")].is_empty(), is_udp, "{line}");
        }
    }
}
