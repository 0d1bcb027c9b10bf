//! Records as JSON: the file format itself, which [`crate::import::record`] reads.

use std::io::{self, Write};

use measurement::{RecordSet, json};

use super::{Export, SummaryWriter, Width};

/// Output format `json`: one indented JSON object. It is a `TestRecord` if there is one record
/// and no error, else a `RecordSet` with all of them.
#[derive(Clone, Copy, Debug)]
pub struct Json;

impl Export for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn summary(&self) -> &'static str {
        "the records, one indented JSON object"
    }

    fn write(&self, records: &RecordSet, _: Width, out: &mut dyn Write) -> io::Result<()> {
        match &records.records[..] {
            [record] if records.error.is_none() => json::write_indented(record, out),
            _ => json::write_indented(records, out),
        }
    }

    fn summary_writer(&self) -> Option<SummaryWriter> {
        Some(|summary, out| summary.write_json(out))
    }
}
