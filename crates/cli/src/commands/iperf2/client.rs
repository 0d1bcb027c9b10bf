//! The client: one test, printed while it runs.

use std::process::ExitCode;

use linux::event::StopSignals;
use measurement::outcome::Ending;
use measurement::{Course, StreamRecord, TestPlan, TestRecord, Transport};
use report::iperf2::{Form, Text};
use session::client::Iperf2Options;
use session::{Observer, SessionError};

use super::arguments::Arguments;
use super::back::Listener;
use super::words::{date, say};
use super::{plan, words};

pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let request = match plan::request(arguments) {
        Ok(request) => request,
        Err(wrong) => return words::refuse(&wrong),
    };
    linux::host::raise_file_limit();
    let interrupts = match StopSignals::open() {
        Ok(interrupts) => interrupts,
        Err(error) => return words::fail(&format!("cannot handle signals: {error}")),
    };
    let listener = arguments.dual.map(|dual| Listener::open(arguments, dual, &request));
    let listener = match listener.transpose() {
        Ok(listener) => listener,
        Err(error) => return words::fail(&error),
    };
    let mut printer = Printer::new(arguments, &request.plan);
    let options = Iperf2Options {
        back: listener.as_ref().map(Listener::asked),
        hold: arguments.bounce.unwrap_or_default().hold,
        trip_times: arguments.socket.trip_times,
    };
    match session::client::run_iperf2(&request, options, &mut printer, Some(&interrupts)) {
        Ok(record) => {
            let code = printer.conclude(&record);
            let listener = listener.filter(|_| code == ExitCode::SUCCESS);
            listener.map_or(code, |listener| listener.finish(&request.plan, &interrupts))
        }
        Err(SessionError::Interrupted) => ExitCode::from(crate::exit::INTERRUPTED),
        Err(error) => words::fail(&words::of_session(&error, request.plan.transport)),
    }
}

struct Printer {
    text: Text,
    form: Form,
    target: (String, u16),
    plan: TestPlan,
}

impl Printer {
    fn new(arguments: &Arguments, plan: &TestPlan) -> Self {
        let text = Text::new(arguments.form, arguments.unit);
        let target = (arguments.host.clone(), arguments.port);
        Self { text, form: arguments.form, target, plan: plan.clone() }
    }

    fn conclude(&mut self, record: &TestRecord) -> ExitCode {
        let course = Course {
            plan: &record.plan,
            streams: &record.streams,
            samples: &record.samples,
            intervals: &record.intervals,
            base: record.base,
            stopped: record.stopped,
            cpu: record.outcome.cpu.unwrap_or_default(),
        };
        let date = date(self.form);
        say(&match &record.outcome.round_trips {
            Some(trips) => self.text.round_trips(&course, trips, &date),
            None => self.text.summary(&course, &record.reported.streams, &date),
        });
        let is_heard = record.plan.transport == Transport::Tcp || !warn_of_silence(record);
        let trips = record.outcome.round_trips.as_ref();
        match &record.outcome.ending {
            Ending::Completed if trips.is_some_and(|trips| trips.count == 0) => {
                words::fail("the server answered no request")
            }
            Ending::Completed if !is_heard => ExitCode::from(crate::exit::FAILED),
            Ending::Completed | Ending::Interrupted => ExitCode::SUCCESS,
            Ending::Failed { error } => words::fail(error),
        }
    }
}

impl Observer for Printer {
    fn opened(&mut self, streams: &[StreamRecord]) {
        let (host, port) = (self.target.0.as_str(), self.target.1);
        say(&self.text.opened((host, port), &self.plan, streams));
    }

    fn sampled(&mut self, course: &Course<'_>) {
        say(&self.text.sampled(course, &date(self.form)));
    }
}

/// As iperf2 says it, of each flow that the server did not report; whether there is one.
fn warn_of_silence(record: &TestRecord) -> bool {
    // No member of a multicast group reports, and nobody of a flow over which the server sends.
    let is_group = record.peer.as_ref().is_some_and(|peer| peer.address.ip().is_multicast());
    if is_group || record.plan.direction.receives() {
        return false;
    }
    let mut is_silent = false;
    for (number, stream) in (1..).zip(&record.streams) {
        if record.reported.streams.iter().all(|report| report.id != stream.id) {
            is_silent = true;
            words::say_error(&format!(
                "[{number:3}] WARNING: did not receive ack of last datagram after 10 tries."
            ));
        }
    }
    if record.reported.streams.is_empty() {
        words::complain("nothing came from the server; is \"iperf -s -u\" running there?");
    }
    is_silent
}
