//! Records as a table of Markdown.

use std::io::{self, Write};
use std::time::Duration;

use measurement::RecordSet;

use super::{Export, SummaryWriter, Width};
use crate::grid::{Column, Grid, Value};
use crate::{measured, results};

/// Output format `markdown`: a row for each result, for an issue or a page.
#[derive(Clone, Copy, Debug)]
pub struct Markdown;

impl Export for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn summary(&self) -> &'static str {
        "a table of Markdown, with a row for each result"
    }

    fn write(&self, records: &RecordSet, _: Width, out: &mut dyn Write) -> io::Result<()> {
        let columns = ROW.into_iter().chain(measured::COLUMNS).chain(ROUND_TRIPS);
        let mut grid = Grid::new(columns.collect());
        for row in results::rows(&records.records) {
            let values = row.outcome.map(|outcome| measured::values(row.record, outcome));
            let times = row.round_trips().map(|trips| trips.times);
            let time = |time: Option<Duration>| {
                Value::known(time, |time| Value::Seconds(time.as_secs_f64()))
            };
            let trips = [time(times.map(|times| times.p50)), time(times.map(|times| times.p99))];
            let names = [Value::Text(row.title), Value::known(row.run, Value::Text)];
            let values = values.unwrap_or_default();
            grid.push(names.into_iter().chain(values).chain(trips).collect());
        }
        grid.write_markdown(out)
    }

    fn summary_writer(&self) -> Option<SummaryWriter> {
        Some(|summary, out| summary.grid().write_markdown(out))
    }
}

const ROW: [Column; 2] = [Column { title: "row", key: "row" }, Column { title: "run", key: "run" }];
const ROUND_TRIPS: [Column; 2] = [
    Column { title: "median round trip", key: "round_trip_p50_seconds" },
    Column { title: "p99", key: "round_trip_p99_seconds" },
];
