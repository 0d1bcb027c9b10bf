//! What would limit a host, or what limited tests, with all of its evidence.

use std::io::{self, Write};

use measurement::verdict::Finding;
use measurement::{Gap, Inventory, RecordSet};
use serde_json::json;

use crate::{host, terminal, verdict};

/// Writes findings on what would limit tests of a host, and what could not be read, for people.
///
/// # Errors
/// An error of writing to `out`.
pub fn write(
    inventory: &Inventory,
    findings: &[Finding],
    gaps: &[Gap],
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "{}", host::heading(inventory))?;
    if findings.is_empty() {
        writeln!(out, "\n  nothing that would limit it was found")?;
    }
    verdict::write_findings(findings, out)?;
    host::write_gaps(gaps, out)
}

/// Writes findings on what would limit tests of a host, its inventory, and what could not be
/// read, as one JSON object.
///
/// # Errors
/// An error of writing to `out`.
pub fn write_json(
    inventory: &Inventory,
    findings: &[Finding],
    gaps: &[Gap],
    out: &mut dyn Write,
) -> io::Result<()> {
    let object = json!({
        "schema": SCHEMA, "findings": findings, "inventory": inventory, "gaps": gaps,
    });
    serde_json::to_writer_pretty(&mut *out, &object)?;
    writeln!(out)
}

/// Writes the table of tests, and the verdict on each with its whole evidence.
///
/// # Errors
/// An error of writing to `out`.
pub fn write_records(records: &RecordSet, out: &mut dyn Write) -> io::Result<()> {
    terminal::write_measured(records, out)?;
    for record in &records.records {
        writeln!(out)?;
        verdict::write(record, out)?;
    }
    terminal::write_notes(records, out)
}

const SCHEMA: &str = "linerate/diagnosis/1";
