//! Output formats for records of tests ([`Export`]): table, diagnosis, JSON, metrics. Pure: records in,
//! bytes out.
//!
//! A new format is one file in this folder, its lines at `mod` and `pub use`, and an entry in
//! [`ALL`].

use std::io::{self, Write};

use measurement::RecordSet;

use crate::summary::Summary;
use crate::width::Width;

mod csv;
mod csv_intervals;
mod details;
mod diagnosis;
mod flent;
mod hdr_log;
mod influx;
mod json;
mod json_compact;
mod json_stream;
mod latency;
mod markdown;
pub mod mqtt;
mod open_metrics;
mod prometheus;
mod table;

pub use csv::Csv;
pub use csv_intervals::CsvIntervals;
pub use details::Details;
pub use diagnosis::Diagnosis;
pub use flent::Flent;
pub use hdr_log::HdrLog;
pub use influx::Influx;
pub use json::Json;
pub use json_compact::JsonCompact;
pub use json_stream::{JsonStream, write_event};
pub use latency::Latency;
pub use markdown::Markdown;
pub use open_metrics::OpenMetrics;
pub use prometheus::{Prometheus, from_open_metrics};
pub use table::Table;

/// An output format for records of tests, chosen by its name on the command line.
pub trait Export: Sync {
    /// Name of the format on the command line, e.g. `json`.
    fn name(&self) -> &'static str;

    /// Short description of the format for `--help`.
    fn summary(&self) -> &'static str;

    /// Whether the format is for people or for programs.
    fn audience(&self) -> Audience {
        Audience::Programs
    }

    /// Whether the output is text, which a terminal can show.
    fn is_text(&self) -> bool {
        true
    }

    /// Writes `records` completely, text with a newline at the end. The lines of a format for
    /// people fit the `width`.
    ///
    /// # Errors
    /// An error of writing to `out`.
    fn write(&self, records: &RecordSet, width: Width, out: &mut dyn Write) -> io::Result<()>;

    /// Writer of a result that is no set of tests, such as a ladder. `None`: the format shows single tests
    /// only.
    fn summary_writer(&self) -> Option<SummaryWriter> {
        match self.audience() {
            Audience::People => Some(|summary, out| summary.write_text(out)),
            Audience::Programs => None,
        }
    }
}

/// Writes a result that is no set of tests.
pub type SummaryWriter = fn(&Summary<'_>, &mut dyn Write) -> io::Result<()>;

/// Kind of reader for which an output format is made: people or programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// People at a terminal: the output may have colours, and other messages may be printed around
    /// it.
    People,
    /// Programs: nothing but the records is written to standard output.
    Programs,
}

/// Finds an output format by its name on the command line, e.g. `json`. None: there is no such
/// format.
pub fn by_name(name: &str) -> Option<&'static dyn Export> {
    ALL.into_iter().find(|format| format.name() == name)
}

/// Whether a format is JSON, in which errors are told too.
pub fn is_json(format: &dyn Export) -> bool {
    [Json.name(), JsonCompact.name(), JsonStream.name()].contains(&format.name())
}

/// All output formats for records, in the order in which `--help` lists them.
pub const ALL: [&dyn Export; 15] = [
    &Table,
    &Details,
    &Diagnosis,
    &Latency::PLAIN,
    &Json,
    &JsonCompact,
    &JsonStream,
    &Csv,
    &CsvIntervals,
    &Markdown,
    &OpenMetrics,
    &Prometheus,
    &Influx,
    &HdrLog,
    &Flent,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_its_own_name() {
        for format in ALL {
            let found = by_name(format.name()).expect("it is in the list");
            assert_eq!(found.summary(), format.summary());
        }
        assert!(by_name("nonesuch").is_none());
    }

    #[test]
    fn json_can_be_read_again() {
        let text = include_bytes!("../tests/records/four-rows.json");
        let records = crate::import::record::read(text).expect("records");
        for format in ALL.into_iter().filter(|one| is_json(*one)) {
            let mut out = Vec::new();
            format.write(&records, Width::UNKNOWN, &mut out).expect("a vector takes all");
            assert_eq!(out.last(), Some(&b'\n'), "{}", format.name());
            let again = crate::import::record::read(&out).expect("records");
            assert!(again.records == records.records, "{}", format.name());
            assert!(again == records || format.name() == JsonStream.name(), "{}", format.name());
        }
    }
}
