//! Prints what a search came to, and returns the exit code.

use std::path::Path;
use std::process::ExitCode;

use campaign::Results;
use report::export::Export;

use crate::exit;
use crate::output;

/// Prints the records, then the error if there is one, then what was not run.
pub(crate) fn finish(
    results: &Results,
    format: &dyn Export,
    file: Option<&Path>,
) -> anyhow::Result<ExitCode> {
    let records = &results.records.records;
    if !records.is_empty() {
        output::print(&results.records, format)?;
        if let Some(file) = file {
            output::write_file(&results.records, file)?;
        }
    }
    let code = match &results.error {
        Some(error) => exit::report_session(error),
        None => exit::of_records(records),
    };
    // Without any record the error says all.
    if !records.is_empty() && !results.not_run.is_empty() {
        exit::say_not_run(&results.not_run);
    }
    Ok(code)
}
