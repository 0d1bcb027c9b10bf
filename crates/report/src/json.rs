//! Records as JSON: the file format itself.

use std::io::{self, Write};

use measurement::RecordSet;

/// Writes one object: the record itself if there is just one, else the set.
///
/// # Errors
/// What the writer reports.
pub fn write(records: &RecordSet, out: &mut dyn Write) -> io::Result<()> {
    match &records.records[..] {
        [record] => serde_json::to_writer_pretty(&mut *out, record)?,
        _ => serde_json::to_writer_pretty(&mut *out, records)?,
    }
    writeln!(out)
}
