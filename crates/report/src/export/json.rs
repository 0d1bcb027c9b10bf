//! Records as JSON: the file format itself, which [`crate::import::record`] reads.

use std::io::{self, Write};

use measurement::RecordSet;

use super::{Audience, Export};

/// Format `json`: one indented JSON object, which is the record, or the set if there are several.
#[derive(Clone, Copy, Debug)]
pub struct Json;

impl Export for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn summary(&self) -> &'static str {
        "the records, one indented JSON object"
    }

    fn audience(&self) -> Audience {
        Audience::Programs
    }

    fn write(&self, records: &RecordSet, out: &mut dyn Write) -> io::Result<()> {
        match &records.records[..] {
            [record] => serde_json::to_writer_pretty(&mut *out, record)?,
            _ => serde_json::to_writer_pretty(&mut *out, records)?,
        }
        writeln!(out)
    }
}
