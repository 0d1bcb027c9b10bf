//! Records as JSON on one line, e.g. to append to a log of many runs.

use std::io::{self, Write};

use measurement::{RecordSet, json};

use super::{Export, SummaryWriter, Width};

/// Output format `json-compact`: the object of [`Json`](super::Json) on one line, without spaces.
#[derive(Clone, Copy, Debug)]
pub struct JsonCompact;

impl Export for JsonCompact {
    fn name(&self) -> &'static str {
        "json-compact"
    }

    fn summary(&self) -> &'static str {
        "the same object on one line"
    }

    fn write(&self, records: &RecordSet, _: Width, out: &mut dyn Write) -> io::Result<()> {
        match &records.records[..] {
            [record] if records.error.is_none() => json::write(record, out)?,
            _ => json::write_records(records, out)?,
        }
        writeln!(out)
    }

    fn summary_writer(&self) -> Option<SummaryWriter> {
        Some(|summary, out| summary.write_line(out))
    }
}
