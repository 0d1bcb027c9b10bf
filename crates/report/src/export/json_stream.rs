//! Records as lines of JSON: a line for each row, then one for the end of the run. While tests run
//! there are lines of their starts and intervals too, which the program writes by [`write_event`].

use std::borrow::Cow;
use std::io::{self, Write};

use measurement::{RecordSet, RunEvent, json};

use super::{Export, SummaryWriter, Width};

/// Output format `json-stream`: one JSON object per line, for each event of a run ([`RunEvent`]).
#[derive(Clone, Copy, Debug)]
pub struct JsonStream;

impl Export for JsonStream {
    fn name(&self) -> &'static str {
        "json-stream"
    }

    fn summary(&self) -> &'static str {
        "an object per line: start, each interval, each row, end"
    }

    fn write(&self, records: &RecordSet, _: Width, out: &mut dyn Write) -> io::Result<()> {
        for (row, record) in (0..).zip(&records.records) {
            write_event(&RunEvent::Row { row, record: Cow::Borrowed(record) }, out)?;
        }
        write_event(&RunEvent::end(records, Vec::new(), Vec::new()), out)
    }

    fn summary_writer(&self) -> Option<SummaryWriter> {
        Some(|summary, out| summary.write_lines(out))
    }
}

/// Writes the line of one event.
///
/// # Errors
/// An error of writing to `out`.
pub fn write_event(event: &RunEvent<'_>, out: &mut dyn Write) -> io::Result<()> {
    json::write(event, out)?;
    writeln!(out)?;
    out.flush()
}
