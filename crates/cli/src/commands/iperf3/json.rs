//! A test as iperf3's JSON.

use measurement::outcome::Ending;
use measurement::{Course, Peer, StreamRecord, TestPlan, TestRecord};
use report::iperf3::{Json, PeerResults, Role, Tree, event, line, pretty};
use serde_json::{Value, json};
use session::{Introduction, Observer, ServerOutput, SessionError};

use super::end::End;
use super::subject::{Report, Subject, peer_results, server_output};
use super::words;
use crate::flags::Iperf3Flags;

/// Collects a test, and prints it whole or event by event.
pub(super) struct JsonReport {
    json: Json,
    subject: Subject,
    /// One object per line for each event.
    stream: bool,
    /// The whole object too.
    whole: bool,
}

impl JsonReport {
    pub(super) fn new(subject: Subject, flags: &Iperf3Flags) -> Self {
        let whole = !flags.json_stream || flags.json_stream_full_output;
        let mut json = Json::new(subject.role, &words::system());
        json.keep_intervals(whole);
        json.annotate(flags.title.as_deref(), flags.extra_data.as_deref());
        Self { json, subject, stream: flags.json_stream, whole }
    }

    fn print(&self, event: &Tree) {
        if self.stream {
            self.subject.printer.raw(&format!("{}\n", line(event)));
        }
    }

    /// What a server has besides iperf3's fields.
    fn tell_the_truth(&mut self, course: &Course<'_>) {
        self.json.truth(&json!({
            "linerate": env!("CARGO_PKG_VERSION"),
            "streams": course.streams,
            "intervals": course.intervals,
        }));
    }
}

/// The object of a run that failed before there was a test.
pub(super) fn of_nothing(flags: &Iperf3Flags, why: &str) -> String {
    let role = if flags.server { Role::Server } else { Role::Client };
    let mut json = Json::new(role, &words::system());
    json.error(why);
    format!("{}\n", pretty(&json.finish()))
}

impl Observer for JsonReport {
    fn introduced(&mut self, introduction: &Introduction<'_>) {
        self.subject.introduce(introduction);
        let optional = &introduction.parameters.optional;
        if self.subject.role == Role::Server {
            self.json.annotate(optional.title.as_deref(), optional.extra_data.as_deref());
            self.json.keep_intervals(self.whole || optional.server_output);
        }
        let client = introduction.peer.address.ip().to_string();
        let contact = self.subject.contact(introduction, &client);
        self.json.contact(&contact, &introduction.parameters.plan);
    }

    fn refused(&mut self, plan: &TestPlan) {
        self.json.refused(plan);
    }

    fn opened(&mut self, streams: &[StreamRecord]) {
        self.json.opened(streams);
    }

    fn started(&mut self, _peer: &Peer, plan: &TestPlan) {
        let start = self.json.started(plan, self.subject.block);
        self.print(&event("start", &start));
    }

    fn sampled(&mut self, course: &Course<'_>) {
        for interval in self.json.sampled(course) {
            self.print(&event("interval", &interval));
        }
    }

    fn answered(&mut self, output: &ServerOutput) {
        if self.subject.wants_server_output {
            self.json.server_output(&server_output(output));
        }
    }

    fn concluded(&mut self, course: &Course<'_>) -> Option<ServerOutput> {
        self.summarise(course, &PeerResults::default());
        // What the client gets is iperf3's alone.
        let output = Value::from(&self.json.so_far());
        self.tell_the_truth(course);
        Some(ServerOutput::Json(output))
    }

    fn broke_off(&mut self, course: &Course<'_>) {
        self.sampled(course);
        self.tell_the_truth(course);
    }

    fn failed(&mut self, error: &SessionError) {
        self.subject.failed(error);
    }

    fn ended(&mut self, ending: &Ending) {
        let end = self.subject.end_of(ending);
        self.end(&end);
    }
}

impl Report for JsonReport {
    fn subject(&mut self) -> &mut Subject {
        &mut self.subject
    }

    fn summarise(&mut self, course: &Course<'_>, peer: &PeerResults<'_>) {
        if let Some((name, size)) = self.subject.file() {
            self.json.file(&name, size);
        }
        for interval in self.json.summary(course, peer) {
            self.print(&event("interval", &interval));
        }
    }

    fn conclude(&mut self, record: &TestRecord) {
        if self.subject.is_broken_off(&record.outcome.ending) {
            self.sampled(&record.course());
        } else {
            self.summarise(&record.course(), &peer_results(record));
        }
        // A record always serialises: its keys are strings and its numbers finite.
        let truth = measurement::json::value(record);
        self.json.truth(&truth);
    }

    fn end(&mut self, end: &End) {
        match (end, self.subject.role) {
            (End::Well, _) => {}
            (End::Failed(words), Role::Server) => self.json.error(&format!("error - {words}")),
            (End::Early(words) | End::Failed(words) | End::Refused(words), _) => {
                self.json.error(words);
            }
        }
        for event in self.json.last_events() {
            self.print(&event);
        }
        if self.whole {
            self.subject.printer.raw(&format!("{}\n", pretty(&self.json.so_far())));
        }
    }
}
