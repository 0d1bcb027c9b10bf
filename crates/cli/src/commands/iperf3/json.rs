//! A test as iperf3's JSON.

use std::path::PathBuf;

use measurement::{ByteSize, Course, Peer, StreamRecord, TestPlan, TestRecord};
use report::iperf3::{Json, PeerWord, Role, Tree, event, line, pretty};
use serde_json::{Value, json};
use session::{Introduction, Observer, ServerOutput, SessionError};

use super::printer::Printer;
use super::server::Report;
use super::text::{contact, name_and_size, said};
use super::words;
use crate::flags::Iperf3Flags;

/// Collects a test, and prints it whole or event by event.
pub(super) struct JsonReport {
    json: Json,
    printer: Printer,
    role: Role,
    target: (String, u16),
    /// One object per line for each event.
    stream: bool,
    /// The whole object too.
    whole: bool,
    debug: bool,
    file: Option<PathBuf>,
    failure: Option<String>,
    block: ByteSize,
}

impl JsonReport {
    pub(super) fn new(role: Role, flags: &Iperf3Flags, printer: Printer) -> Self {
        let host = flags.client.as_ref().map(|client| client.host.clone()).unwrap_or_default();
        let whole = !flags.json_stream || flags.json_stream_full_output;
        let mut json = Json::new(role, &words::system());
        json.keep_intervals(whole);
        json.annotate(flags.title.as_deref(), flags.extra_data.as_deref());
        Self {
            json,
            printer,
            role,
            target: (host, flags.port),
            stream: flags.json_stream,
            whole,
            debug: flags.debug.is_some(),
            file: flags.file.clone(),
            failure: None,
            block: ByteSize::from_bytes(0),
        }
    }

    fn tell(&self, event: &Tree) {
        if self.stream {
            self.printer.raw(&format!("{}\n", line(event)));
        }
    }

    /// The end of a client's test that gave a record.
    pub(super) fn conclude(&mut self, record: &TestRecord) {
        let word = PeerWord {
            streams: &record.peer_streams,
            cpu: record.outcome.peer_cpu,
            congestion: record.peer_congestion.as_deref(),
        };
        self.summarise(&record.course(), &word);
        // A record always serialises: its keys are strings and its numbers finite.
        let truth = serde_json::to_value(record).unwrap_or_default();
        self.tell(&event("linerate", &Tree::from(&truth)));
        self.json.truth(&truth);
    }

    /// Why a test that began broke off, in iperf3's words.
    pub(super) fn failure(&mut self) -> Option<String> {
        self.failure.take()
    }

    fn summarise(&mut self, course: &Course<'_>, word: &PeerWord<'_>) {
        if let Some((name, size)) = self.file.as_deref().and_then(name_and_size) {
            self.json.file(&name, size);
        }
        for interval in self.json.summary(course, word) {
            self.tell(&event("interval", &interval));
        }
    }

    /// Prints the rest, with the reason if the test failed.
    pub(super) fn finish(mut self, error: Option<&str>) {
        self.print(error);
    }

    fn print(&mut self, error: Option<&str>) {
        if let Some(error) = error {
            self.json.error(error);
        }
        for event in self.json.last_events() {
            self.tell(&event);
        }
        if self.whole {
            self.printer.raw(&format!("{}\n", pretty(&self.json.so_far())));
        }
    }
}

/// What one end asks of the other, as it travels, without the secret in it.
pub(super) fn parameters(introduction: &Introduction<'_>) -> String {
    let mut parameters = introduction.parameters.to_json();
    if let Some(token) = parameters.get_mut("authtoken") {
        *token = Value::from("(hidden)");
    }
    format!("parameters:\n{parameters:#}\n")
}

impl Observer for JsonReport {
    fn introduced(&mut self, introduction: &Introduction<'_>) {
        words::warn_of_fragments(self.role, introduction);
        if self.debug {
            self.printer.raw(&parameters(introduction));
        }
        let wishes = &introduction.parameters.wishes;
        if self.role == Role::Server {
            self.json.annotate(wishes.title.as_deref(), wishes.extra_data.as_deref());
            self.json.keep_intervals(self.whole || wishes.server_output);
        }
        self.block = introduction.parameters.block();
        let peer = introduction.peer.address.ip().to_string();
        let contact = contact(self.role, &self.target, &peer, introduction);
        self.json.contact(&contact, &introduction.parameters.plan);
    }

    fn opened(&mut self, streams: &[StreamRecord]) {
        self.json.opened(streams);
    }

    fn started(&mut self, _peer: &Peer, plan: &TestPlan) {
        let start = self.json.started(plan, self.block);
        self.tell(&event("start", &start));
    }

    fn sampled(&mut self, course: &Course<'_>) {
        for interval in self.json.sampled(course) {
            self.tell(&event("interval", &interval));
        }
    }

    fn failed(&mut self, error: &SessionError) {
        self.failure = Some(words::of_session(error));
    }

    fn answered(&mut self, output: &ServerOutput) {
        self.json.server_output(&said(output));
    }

    fn concluded(&mut self, course: &Course<'_>) -> Option<ServerOutput> {
        self.sampled(course);
        self.summarise(course, &PeerWord::default());
        self.json.truth(&json!({
            "linerate": env!("CARGO_PKG_VERSION"),
            "streams": course.streams,
            "intervals": course.intervals(),
        }));
        Some(ServerOutput::Json(Value::from(&self.json.so_far())))
    }
}

impl Report for JsonReport {
    fn end(&mut self, why: Option<&str>) {
        self.print(why);
    }
}
