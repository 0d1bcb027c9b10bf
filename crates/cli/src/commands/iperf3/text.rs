//! A test as iperf3's text.

use std::path::{Path, PathBuf};

use measurement::{ByteSize, Course, Peer, StreamRecord, TestPlan, TestRecord, Transport};
use report::iperf3::{Contact, PeerWord, Role, ServerSaid, Text};
use session::{Introduction, Observer, ServerOutput, SessionError};

use super::printer::Printer;
use super::server::Report;
use super::{json, words};
use crate::flags::Iperf3Flags;

/// Prints a test while it goes on.
pub(super) struct TextReport {
    text: Text,
    printer: Printer,
    role: Role,
    /// What the client calls the server, and its port.
    target: (String, u16),
    /// The length of a datagram is this end's choice.
    chooses_block: bool,
    debug: bool,
    /// What this server has printed, if the client wishes it.
    printed: Option<String>,
    /// What the other end has printed.
    server_output: Option<ServerOutput>,
    file: Option<PathBuf>,
    failure: Option<String>,
    block: ByteSize,
}

impl TextReport {
    pub(super) fn new(role: Role, flags: &Iperf3Flags, printer: Printer) -> Self {
        let host = flags.client.as_ref().map(|client| client.host.clone()).unwrap_or_default();
        let report = Self {
            text: Text::new(role, flags.verbose, flags.format.unwrap_or_default()),
            printer,
            role,
            target: (host, flags.port),
            chooses_block: flags.length.is_none(),
            debug: flags.debug.is_some(),
            printed: None,
            server_output: None,
            file: flags.file.clone(),
            failure: None,
            block: ByteSize::from_bytes(0),
        };
        if role == Role::Client {
            report.printer.lines(&report.text.version(&words::system()));
        }
        report
    }

    fn say(&mut self, text: &str) {
        let printed = self.printer.lines(text);
        if let Some(kept) = &mut self.printed {
            kept.push_str(&printed);
        }
    }

    fn tell_of_the_file(&mut self) {
        if let Some((name, size)) = self.file.as_deref().and_then(name_and_size) {
            self.text.file(&name, size);
        }
    }

    fn tell_of_the_path(&self, introduction: &Introduction<'_>) {
        let Some(segment) = introduction.segment.filter(|_| self.role == Role::Client) else {
            return;
        };
        let plan = &introduction.parameters.plan;
        let block = introduction.parameters.block();
        let is_chosen = plan.transport == Transport::Udp && self.chooses_block;
        self.printer.raw(&self.text.connected(Some(segment), is_chosen.then_some(block)));
    }

    /// The end of a client's test that gave a record.
    pub(super) fn conclude(&mut self, record: &TestRecord) {
        let word = PeerWord {
            streams: &record.peer_streams,
            cpu: record.outcome.peer_cpu,
            congestion: record.peer_congestion.as_deref(),
        };
        self.tell_of_the_file();
        let summary = self.text.summary(&record.course(), &word);
        self.say(&summary);
        if let Some(output) = self.server_output.take() {
            self.printer.block(&self.text.server_output(&said(&output)));
        }
    }

    /// Why a test that began broke off, in iperf3's words.
    pub(super) fn failure(&mut self) -> Option<String> {
        self.failure.take()
    }

    /// The last line of a test that went well.
    pub(super) fn done(&mut self) {
        self.say(Text::done());
    }
}

/// The same for the report.
pub(super) fn said(output: &ServerOutput) -> ServerSaid<'_> {
    match output {
        ServerOutput::Text(text) => ServerSaid::Text(text),
        ServerOutput::Json(json) => ServerSaid::Json(json),
    }
}

/// A file as the summary mentions it; none: it is not there.
pub(super) fn name_and_size(path: &Path) -> Option<(String, u64)> {
    let size = std::fs::metadata(path).ok()?.len();
    Some((path.display().to_string(), size))
}

/// What iperf3 says when both ends know each other.
pub(super) fn contact<'a>(
    role: Role,
    target: &'a (String, u16),
    peer: &'a str,
    introduction: &'a Introduction<'_>,
) -> Contact<'a> {
    let (host, port) = match role {
        Role::Client => (target.0.as_str(), target.1),
        Role::Server => (peer, introduction.peer.address.port()),
    };
    Contact {
        role,
        host,
        port,
        cookie: introduction.cookie,
        mss_asked: introduction.parameters.plan.options.mss,
        mss_default: introduction.segment,
        wall_millis: linux::clock::wall_millis(),
    }
}

impl Observer for TextReport {
    fn introduced(&mut self, introduction: &Introduction<'_>) {
        if introduction.parameters.wishes.server_output && self.role == Role::Server {
            self.printed = Some(String::new());
        }
        words::warn_of_fragments(self.role, introduction);
        self.tell_of_the_path(introduction);
        if self.debug {
            self.printer.raw(&json::parameters(introduction));
        }
        self.block = introduction.parameters.block();
        let peer = introduction.peer.address.ip().to_string();
        let contact = contact(self.role, &self.target, &peer, introduction);
        let lines = self.text.contact(&contact, &introduction.parameters.plan);
        self.say(&lines);
    }

    fn opened(&mut self, streams: &[StreamRecord]) {
        let lines = self.text.opened(streams);
        self.say(&lines);
    }

    fn started(&mut self, _peer: &Peer, plan: &TestPlan) {
        let lines = self.text.started(plan, self.block);
        self.say(&lines);
    }

    fn sampled(&mut self, course: &Course<'_>) {
        let lines = self.text.sampled(course);
        self.say(&lines);
    }

    fn failed(&mut self, error: &SessionError) {
        self.failure = Some(words::of_session(error));
    }

    fn answered(&mut self, output: &ServerOutput) {
        self.server_output = Some(output.clone());
    }

    fn concluded(&mut self, course: &Course<'_>) -> Option<ServerOutput> {
        self.tell_of_the_file();
        let mut lines = self.text.sampled(course);
        lines.push_str(&self.text.summary(course, &PeerWord::default()));
        self.say(&lines);
        self.printed.clone().map(ServerOutput::Text)
    }
}

impl Report for TextReport {
    fn end(&mut self, why: Option<&str>) {
        if let Some(why) = why {
            self.printer.error(why);
        }
    }
}
