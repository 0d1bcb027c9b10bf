//! The client: one test.

use std::process::ExitCode;

use measurement::{RecordSet, TestRecord, Transport};
use report::iperf3::Role;
use session::SessionError;
use session::client::run as run_test;

use super::end::End;
use super::words::Failure;
use super::{Frame, plan, words};
use crate::flags::Iperf3Flags;
use crate::history::{self, Keeping};

pub(super) fn run(flags: &Iperf3Flags) -> Result<ExitCode, Failure> {
    let request = plan::request(flags)?;
    let frame = Frame::new(flags)?;
    let mut report = frame.report(Role::Client, flags);
    let mut measured = None;
    let end = match run_test(&request, &mut *report, Some(frame.signals.interrupts())) {
        Err(error) => {
            if matches!(error, SessionError::Interrupted) {
                report.conclude_nothing(&request.plan);
            }
            report.subject().end_before_the_start(&error)
        }
        Ok(mut record) => {
            note_the_default_rate(&mut record, flags);
            report.conclude(&record);
            let end = report.subject().end_of(&record.outcome.ending);
            measured = Some(record);
            end
        }
    };
    report.end(&end);
    if let Some((keeping, record)) = history::of_environment("iperf3").zip(measured) {
        keep(&keeping, record);
    }
    let failed = matches!(end, End::Failed(_) | End::Refused(_));
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Adds the run to the history that the environment names, once everything is printed.
fn keep(keeping: &Keeping, mut record: TestRecord) {
    campaign::judge(&mut record);
    let set = RecordSet::new(vec![record]);
    if let Err(error) = history::save(keeping, std::iter::once(&set)) {
        words::complain(&format!("warning: the run is not in the history: {error:#}"));
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
