//! Records as JSON: the file format itself.

use std::io::{self, Write};

use measurement::{RecordSet, TestRecord};

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

/// Reads what [`write()`] writes: one record, or a set of them.
///
/// # Errors
/// What is wrong with the text.
pub fn read(text: &[u8]) -> serde_json::Result<RecordSet> {
    let as_set = match serde_json::from_slice(text) {
        Ok(set) => return Ok(set),
        Err(error) => error,
    };
    let one = serde_json::from_slice::<TestRecord>(text);
    // What it is not fails at its first key; what it is, and is broken, further on.
    let place = |error: &serde_json::Error| (error.line(), error.column());
    one.map(|record| RecordSet::new(vec![record]))
        .map_err(|as_one| if place(&as_set) > place(&as_one) { as_set } else { as_one })
}
