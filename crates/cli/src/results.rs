//! Prints what a search came to, and returns the exit code.

use std::path::Path;
use std::process::ExitCode;

use campaign::Results;
use report::export::Export;

use crate::exit;
use crate::last;
use crate::output;
use crate::rows::Rows;

/// Prints the records, then the error if there is one, then what was not run.
pub(crate) fn finish(
    results: &Results,
    format: &dyn Export,
    file: Option<&Path>,
) -> anyhow::Result<ExitCode> {
    if !results.records.records.is_empty() {
        output::print(&results.records, format)?;
    }
    last::keep(&results.records);
    conclude(results, file)
}

/// The same where the rows stand on the screen already; `verbose`: all details follow.
pub(crate) fn finish_rows(
    results: &Results,
    rows: Rows,
    verbose: bool,
    file: Option<&Path>,
) -> anyhow::Result<ExitCode> {
    let is_kept = last::keep(&results.records);
    if !results.records.records.is_empty() {
        rows.close(&results.records, is_kept, verbose)?;
    }
    conclude(results, file)
}

fn conclude(results: &Results, file: Option<&Path>) -> anyhow::Result<ExitCode> {
    let records = &results.records.records;
    if let Some(file) = file.filter(|_| !records.is_empty()) {
        output::write_file(&results.records, file)?;
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
