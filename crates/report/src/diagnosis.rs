//! Writes findings on a host, or verdicts on tests, with all of their evidence: as text for people,
//! or as JSON.

use std::io::{self, Write};

use measurement::verdict::Finding;
use measurement::{Gap, Inventory, RecordSet, json};
use serde::Serialize;

use crate::{host, terminal, verdict};

/// Writes for people what would limit tests of a host, and which sources could not be read
/// (`gaps`).
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

/// Writes what would limit tests of a host, its inventory, and which sources could not be read
/// (`gaps`), as one JSON object.
///
/// # Errors
/// An error of writing to `out`.
pub fn write_json(
    inventory: &Inventory,
    findings: &[Finding],
    gaps: &[Gap],
    out: &mut dyn Write,
) -> io::Result<()> {
    /// Its keys.
    #[derive(Serialize)]
    struct Object<'a> {
        schema: &'a str,
        findings: &'a [Finding],
        inventory: &'a Inventory,
        gaps: &'a [Gap],
    }

    json::write_indented(&Object { schema: SCHEMA, findings, inventory, gaps }, out)
}

/// Writes the table of tests, then the verdict on each test with all of its evidence, and the
/// notes.
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
