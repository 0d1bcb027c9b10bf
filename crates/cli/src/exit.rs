//! Exit codes, and the error messages that go with them.

use std::io::Write;
use std::process::ExitCode;

use clap::error::ErrorKind;
use measurement::outcome::Ending;
use measurement::{Stamp, TestRecord};
use session::SessionError;

/// Exit code of a run that failed; standard error has the reason.
pub(crate) const FAILED: u8 = 1;
/// Exit code for an invalid command line.
pub(crate) const USAGE: u8 = 2;
/// Exit code if a result has the stamp INVALID.
pub(crate) const INVALID: u8 = 3;
/// Exit code if the server was busy.
pub(crate) const BUSY: u8 = 5;
/// Exit code if a signal ended the run.
pub(crate) const INTERRUPTED: u8 = 130;

/// Rows that are named one by one.
const MOST_NAMED: usize = 4;

/// An error in the command line that clap does not detect.
#[derive(Debug)]
pub(crate) struct UsageError(pub(crate) String);

impl std::fmt::Display for UsageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// Prints the help if that was asked for, else says in one sentence what is wrong with
/// the command line.
pub(crate) fn report_usage(error: &clap::Error) -> ExitCode {
    use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    match error.kind() {
        DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand => {
            // A closed standard output is no error here.
            _ = error.print();
        }
        // As below.
        _ => _ = writeln!(anstream::stderr(), "linerate: {}", sentence(error)),
    }
    ExitCode::from(if error.use_stderr() { USAGE } else { 0 })
}

/// Joins clap's message of several lines into one sentence, without the synopsis.
fn sentence(error: &clap::Error) -> String {
    let text = error.to_string();
    let paragraphs = text.split("\n\n").map(|part| part.split_whitespace().collect::<Vec<_>>());
    let sentences = paragraphs
        .map(|words| words.join(" "))
        .take_while(|part| !part.starts_with("Usage:") && !part.starts_with("For more"));
    sentences.collect::<Vec<_>>().join("; ").trim_start_matches("error: ").to_owned()
}

/// Prints an error as one sentence on standard error.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    // Standard error may be closed; the exit code is what is left then.
    _ = writeln!(anstream::stderr(), "linerate: {error:#}");
    ExitCode::from(code_of(error))
}

fn code_of(error: &anyhow::Error) -> u8 {
    if error.is::<UsageError>() {
        return USAGE;
    }
    error.downcast_ref::<SessionError>().map_or(FAILED, code_of_session)
}

const fn code_of_session(error: &SessionError) -> u8 {
    match error {
        SessionError::Interrupted => INTERRUPTED,
        error if error.is_busy() => BUSY,
        _ => FAILED,
    }
}

/// Prints an error of a session in one sentence on standard error, and returns its exit code.
pub(crate) fn report_session(error: &SessionError) -> ExitCode {
    // As above.
    _ = writeln!(anstream::stderr(), "linerate: {error}");
    ExitCode::from(code_of_session(error))
}

/// Prints the rows that were not run because of an early end.
pub(crate) fn say_not_run(rows: &[String]) {
    let named = rows.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = rows.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    // As above.
    _ = writeln!(anstream::stderr(), "linerate: ended early, not run: {named}{more}");
}

/// Exit code of tests with records: by the end of the last one, else by the stamps of all.
pub(crate) fn of_records(records: &[TestRecord]) -> ExitCode {
    match records.last() {
        Some(last) if last.outcome.ending != Ending::Completed => of_record(last),
        _ if records.iter().any(is_invalid) => ExitCode::from(INVALID),
        _ => ExitCode::SUCCESS,
    }
}

fn is_invalid(record: &TestRecord) -> bool {
    record.judgement.as_ref().is_some_and(|judgement| judgement.stamp == Stamp::Invalid)
}

/// Exit code of a test with a record; also prints the reason on standard error if it failed.
pub(crate) fn of_record(record: &TestRecord) -> ExitCode {
    match &record.outcome.ending {
        Ending::Completed => ExitCode::SUCCESS,
        Ending::Interrupted => ExitCode::from(INTERRUPTED),
        Ending::Failed { error } => {
            // As above.
            _ = writeln!(anstream::stderr(), "linerate: {error}");
            ExitCode::from(FAILED)
        }
    }
}
