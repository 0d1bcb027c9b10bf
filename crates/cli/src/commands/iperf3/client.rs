//! The client: one test.

use std::process::ExitCode;

use measurement::outcome::Ending;
use measurement::{TestRecord, Transport};
use report::iperf3::Role;
use session::client::{Request, run as run_test};
use session::{Observer, SessionError};

use super::json::JsonReport;
use super::text::TextReport;
use super::words::{self, Failure};
use super::{Frame, plan};
use crate::flags::Iperf3Flags;

pub(super) fn run(flags: &Iperf3Flags) -> Result<ExitCode, Failure> {
    let request = plan::request(flags)?;
    let frame = Frame::new(flags)?;
    let is_json = flags.json || flags.json_stream;
    let end = if is_json {
        test_as_json(flags, &frame, &request)
    } else {
        test_as_text(flags, &frame, &request)
    };
    Ok(end.code())
}

fn test_as_text(flags: &Iperf3Flags, frame: &Frame, request: &Request) -> End {
    let mut report = TextReport::new(Role::Client, flags, frame.printer.clone());
    let (record, end) = test(frame, flags, request, &mut report);
    let end = end.in_words(report.failure());
    if let Some(record) = &record {
        report.conclude(record);
    }
    match &end {
        End::Well => report.done(),
        End::Signal(words) => frame.printer.error(words),
        End::Failed(words) => frame.printer.error(&format!("error - {words}")),
    }
    end
}

fn test_as_json(flags: &Iperf3Flags, frame: &Frame, request: &Request) -> End {
    let mut report = JsonReport::new(Role::Client, flags, frame.printer.clone());
    let (record, end) = test(frame, flags, request, &mut report);
    let end = end.in_words(report.failure());
    if let Some(record) = &record {
        report.conclude(record);
    }
    report.finish(end.words());
    end
}

/// How a test ended.
enum End {
    /// As planned.
    Well,
    /// By a signal, which iperf3 counts as an ordinary end.
    Signal(String),
    /// By an error.
    Failed(String),
}

impl End {
    /// The same with better words for a failure.
    fn in_words(self, words: Option<String>) -> Self {
        match (self, words) {
            (Self::Failed(_), Some(words)) => Self::Failed(words),
            (end, _) => end,
        }
    }

    fn words(&self) -> Option<&str> {
        match self {
            Self::Well => None,
            Self::Signal(words) | Self::Failed(words) => Some(words),
        }
    }

    fn code(&self) -> ExitCode {
        if matches!(self, Self::Failed(_)) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

fn test(
    frame: &Frame,
    flags: &Iperf3Flags,
    request: &Request,
    observer: &mut dyn Observer,
) -> (Option<TestRecord>, End) {
    let interrupted =
        || End::Signal(words::of_signal("client", frame.interrupts.last().unwrap_or(0)));
    match run_test(request, observer, Some(&frame.interrupts)) {
        Err(SessionError::Interrupted) => (None, interrupted()),
        Err(error) => (None, End::Failed(words::of_session(&error))),
        Ok(mut record) => {
            note_the_default_rate(&mut record, flags);
            let end = match &record.outcome.ending {
                Ending::Completed => End::Well,
                Ending::Interrupted => interrupted(),
                Ending::Failed { error } => End::Failed(error.clone()),
            };
            (Some(record), end)
        }
    }
}

/// iperf3's default rate for UDP is often taken for what the path can carry.
fn note_the_default_rate(record: &mut TestRecord, flags: &Iperf3Flags) {
    if record.plan.transport == Transport::Udp && flags.bitrate.is_none() {
        record.outcome.notes.push(
            "UDP was sent at iperf3's default of 1 Mbit/s: this says nothing of the capacity; \
             choose a rate with -b"
                .to_owned(),
        );
    }
}
