//! Writes findings on a host, or verdicts on tests, with all of their evidence: as text for people,
//! or as JSON.

use std::io::{self, Write};

use measurement::verdict::Finding;
use measurement::{Gap, Inventory, RecordSet, json};
use serde::Serialize;

use crate::page::write_wrapped;
use crate::width::Width;
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
    width: Width,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_wrapped(0, &host::heading(inventory), width, out)?;
    if findings.is_empty() {
        writeln!(out, "\n  nothing that would limit it was found")?;
    }
    verdict::write_findings(findings, width, out)?;
    host::write_gaps(gaps, width, out)
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
    json::write_indented(&Object { schema: SCHEMA, findings, inventory, gaps }, out)
}

/// Writes the same object on one line, with a newline at the end.
///
/// # Errors
/// An error of writing to `out`.
pub fn write_json_line(
    inventory: &Inventory,
    findings: &[Finding],
    gaps: &[Gap],
    out: &mut dyn Write,
) -> io::Result<()> {
    json::write(&Object { schema: SCHEMA, findings, inventory, gaps }, out)?;
    writeln!(out)
}

/// The keys of the object.
#[derive(Serialize)]
struct Object<'a> {
    schema: &'a str,
    findings: &'a [Finding],
    inventory: &'a Inventory,
    gaps: &'a [Gap],
}

/// Writes the table of tests, then the verdict on each test with all of its evidence, and the
/// notes.
///
/// # Errors
/// An error of writing to `out`.
pub fn write_records(records: &RecordSet, width: Width, out: &mut dyn Write) -> io::Result<()> {
    terminal::write_measured(records, width, out)?;
    for record in &records.records {
        writeln!(out)?;
        verdict::write(record, width, out)?;
    }
    terminal::write_notes(records, width, out)
}

const SCHEMA: &str = "linerate/diagnosis/1";
