//! Exit codes, and the error messages that go with them.

use std::io::Write;
use std::process::ExitCode;

use campaign::Results;
use clap::error::ErrorKind;
use measurement::outcome::Ending;
use measurement::record::{ErrorKind as RunErrorKind, RunError};
use measurement::units::counted;
use measurement::{Stamp, TestRecord};
use packets::PacketError;
use session::SessionError;

/// Exit code of a run that failed; standard error has the reason.
pub(crate) const FAILED: u8 = 1;
/// Exit code for an invalid command line.
pub(crate) const USAGE: u8 = 2;
/// Exit code if a result has the stamp INVALID.
pub(crate) const INVALID: u8 = 3;
/// Exit code if a row misses a requirement, e.g. `--min-rate`.
pub(crate) const MISSED: u8 = 4;
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

/// Prints the help if that was asked for, and returns its exit code; else the error of the command
/// line in one sentence.
pub(crate) fn of_usage(error: &clap::Error) -> Result<ExitCode, RunError> {
    use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    match error.kind() {
        DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand => {
            // A closed standard output is no error here.
            _ = error.print();
            Ok(ExitCode::from(if error.use_stderr() { USAGE } else { 0 }))
        }
        _ => {
            let message = sentence(error);
            Err(RunError { message, kind: RunErrorKind::Usage, exit_code: USAGE })
        }
    }
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

/// The error of a command.
pub(crate) fn of_command(error: &anyhow::Error) -> RunError {
    let message = whole(error);
    match error.downcast_ref::<SessionError>() {
        Some(session) => RunError { message, ..of_session(session) },
        None if is_of_usage(error) => {
            RunError { message, kind: RunErrorKind::Usage, exit_code: USAGE }
        }
        None => failed(message),
    }
}

fn is_of_usage(error: &anyhow::Error) -> bool {
    let frames = error.downcast_ref::<PacketError>();
    error.is::<UsageError>() || frames.is_some_and(PacketError::is_of_the_request)
}

/// An error and its causes; one that the sentence before has already is not said again.
fn whole(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |said, cause| match cause.to_string() {
        cause if said.is_empty() => cause,
        cause if said.contains(&cause) => said,
        cause => format!("{said}: {cause}"),
    })
}

/// Prints an error as one sentence on standard error, and returns its exit code.
pub(crate) fn complain(error: &RunError) -> ExitCode {
    // Standard error may be closed; the exit code is what is left then.
    _ = writeln!(anstream::stderr(), "linerate: {}", error.message);
    ExitCode::from(error.exit_code)
}

/// An error of its own.
pub(crate) fn failed(message: impl Into<String>) -> RunError {
    RunError { message: message.into(), kind: RunErrorKind::Failed, exit_code: FAILED }
}

/// An error of a session.
pub(crate) fn of_session(error: &SessionError) -> RunError {
    let (kind, exit_code) = match error {
        SessionError::Interrupted => (RunErrorKind::Interrupted, INTERRUPTED),
        error if error.is_busy() => (RunErrorKind::Busy, BUSY),
        SessionError::Resolve { .. }
        | SessionError::Connect { .. }
        | SessionError::NoReply { .. } => (RunErrorKind::Unreachable, FAILED),
        _ => (RunErrorKind::Failed, FAILED),
    };
    RunError { message: error.to_string(), kind, exit_code }
}

/// Why a run of several tests ended early, after `done` parts, each a `part`, e.g. `trial`; none: it
/// did not.
pub(crate) fn of_results(results: &Results, done: usize, part: &str) -> Option<RunError> {
    let records = &results.records.records;
    let was_cut = records.last().is_some_and(|last| last.outcome.ending == Ending::Interrupted);
    match &results.error {
        Some(SessionError::Interrupted) => Some(interrupted(done, part)),
        Some(error) => Some(of_session(error)),
        None if was_cut => Some(interrupted(done, part)),
        None => of_last(records),
    }
}

/// A signal ended a run after so many of its parts.
fn interrupted(done: usize, part: &str) -> RunError {
    let message = match done {
        0 => format!("interrupted before the first {part} ended"),
        _ => format!("interrupted after {}", counted(done as u64, part)),
    };
    RunError { message, ..of_session(&SessionError::Interrupted) }
}

/// The error that ended the last test, if there is one.
pub(crate) fn of_last(records: &[TestRecord]) -> Option<RunError> {
    match &records.last()?.outcome.ending {
        Ending::Failed { error } => Some(failed(error.clone())),
        Ending::Completed | Ending::Interrupted => None,
    }
}

/// Prints what rows miss of the requirements.
pub(crate) fn say_missed(missed: &[String]) {
    for text in missed {
        // As above.
        _ = writeln!(anstream::stderr(), "required: {text}");
    }
}

/// Prints the rows that were not run because of an early end.
pub(crate) fn say_not_run(rows: &[String]) {
    let named = rows.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = rows.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    // As above.
    _ = writeln!(anstream::stderr(), "linerate: ended early, not run: {named}{more}");
}

/// Exit code of tests with records and without an error: by the end of the last one, else by what
/// is missed of the requirements, else by the stamps of all.
pub(crate) fn of_records(records: &[TestRecord], missed: &[String]) -> ExitCode {
    let was_stopped = records.last().is_some_and(|last| last.outcome.ending != Ending::Completed);
    if was_stopped {
        ExitCode::from(INTERRUPTED)
    } else if !missed.is_empty() {
        ExitCode::from(MISSED)
    } else if records.iter().any(is_invalid) {
        ExitCode::from(INVALID)
    } else {
        ExitCode::SUCCESS
    }
}

/// Exit code of records that were read and judged: by their stamps. How the runs ended is nothing
/// that reading them could fail at.
pub(crate) fn of_stamps(records: &[TestRecord]) -> ExitCode {
    if records.iter().any(is_invalid) { ExitCode::from(INVALID) } else { ExitCode::SUCCESS }
}

/// Whether the stamp of a record is INVALID.
pub(crate) fn is_invalid(record: &TestRecord) -> bool {
    record.judgement.as_ref().is_some_and(|judgement| judgement.stamp == Stamp::Invalid)
}
