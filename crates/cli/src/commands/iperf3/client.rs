//! The client: one test.

use std::process::ExitCode;

use measurement::{TestRecord, Transport};
use report::iperf3::Role;
use session::SessionError;
use session::client::run as run_test;

use super::end::End;
use super::words::Failure;
use super::{Frame, plan};
use crate::flags::Iperf3Flags;

pub(super) fn run(flags: &Iperf3Flags) -> Result<ExitCode, Failure> {
    let request = plan::request(flags)?;
    let frame = Frame::new(flags)?;
    let mut report = frame.report(Role::Client, flags);
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
            report.subject().end_of(&record.outcome.ending)
        }
    };
    report.end(&end);
    let failed = matches!(end, End::Failed(_) | End::Refused(_));
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
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
