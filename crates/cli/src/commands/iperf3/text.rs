//! A test as iperf3's text.

use measurement::outcome::Ending;
use measurement::{Course, Peer, StreamRecord, TestPlan, TestRecord, Transport};
use report::iperf3::{PeerResults, Role, Text};
use session::{Introduction, Observer, ServerOutput, SessionError};

use super::end::End;
use super::subject::{Report, Subject, peer_results, server_output};
use super::words;
use crate::flags::Iperf3Flags;

/// Prints a test while it goes on.
pub(super) struct TextReport {
    text: Text,
    subject: Subject,
    /// The length of a datagram is this end's choice.
    chooses_block: bool,
    /// The output of this server so far, if the client asked for it.
    printed: Option<String>,
    /// The output of the peer.
    server_output: Option<ServerOutput>,
}

impl TextReport {
    pub(super) fn new(subject: Subject, flags: &Iperf3Flags) -> Self {
        let text = Text::new(subject.role, flags.verbose, flags.format.unwrap_or_default());
        if subject.role == Role::Client {
            subject.printer.lines(&text.version(&words::system()));
        }
        let chooses_block = flags.length.is_none();
        Self { text, subject, chooses_block, printed: None, server_output: None }
    }

    fn say(&mut self, text: &str) {
        let printed = self.subject.printer.lines(text);
        if let Some(kept) = &mut self.printed {
            kept.push_str(&printed);
        }
    }

    fn print_segment_size(&self, introduction: &Introduction<'_>) {
        let is_udp = introduction.parameters.plan.transport == Transport::Udp;
        let chosen = Some(self.subject.block).filter(|_| is_udp && self.chooses_block);
        self.subject.printer.raw(&self.text.connected(introduction.segment, chosen));
    }
}

impl Observer for TextReport {
    fn introduced(&mut self, introduction: &Introduction<'_>) {
        self.subject.introduce(introduction);
        match self.subject.role {
            Role::Client => self.print_segment_size(introduction),
            Role::Server if introduction.parameters.optional.server_output => {
                self.printed = Some(String::new());
            }
            Role::Server => {}
        }
        let client = introduction.peer.address.ip().to_string();
        let contact = self.subject.contact(introduction, &client);
        let lines = self.text.contact(&contact, &introduction.parameters.plan);
        self.say(&lines);
    }

    fn opened(&mut self, streams: &[StreamRecord]) {
        let lines = self.text.opened(streams);
        self.say(&lines);
    }

    fn started(&mut self, _peer: &Peer, plan: &TestPlan) {
        let lines = self.text.started(plan, self.subject.block);
        self.say(&lines);
    }

    fn sampled(&mut self, course: &Course<'_>) {
        let lines = self.text.sampled(course);
        self.say(&lines);
    }

    fn answered(&mut self, output: &ServerOutput) {
        if self.subject.wants_server_output {
            self.server_output = Some(output.clone());
        }
    }

    fn concluded(&mut self, course: &Course<'_>) -> Option<ServerOutput> {
        self.summarise(course, &PeerResults::default());
        self.printed.clone().map(ServerOutput::Text)
    }

    fn broke_off(&mut self, course: &Course<'_>) {
        self.sampled(course);
    }

    fn failed(&mut self, error: &SessionError) {
        self.subject.failed(error);
    }

    fn ended(&mut self, ending: &Ending) {
        let end = self.subject.end_of(ending);
        self.end(&end);
    }
}

impl Report for TextReport {
    fn subject(&mut self) -> &mut Subject {
        &mut self.subject
    }

    fn summarise(&mut self, course: &Course<'_>, peer: &PeerResults<'_>) {
        if let Some((name, size)) = self.subject.file() {
            self.text.file(&name, size);
        }
        let summary = self.text.summary(course, peer);
        self.say(&summary);
    }

    fn conclude(&mut self, record: &TestRecord) {
        if self.subject.is_broken_off(&record.outcome.ending) {
            return self.sampled(&record.course());
        }
        self.summarise(&record.course(), &peer_results(record));
        if let Some(output) = self.server_output.take() {
            self.subject.printer.block(&self.text.server_output(&server_output(&output)));
        }
    }

    fn end(&mut self, end: &End) {
        match end {
            End::Well if self.subject.role == Role::Client => self.say(Text::done()),
            End::Well => {}
            End::Early(words) => self.subject.printer.error(words),
            End::Failed(words) => self.subject.printer.error(&format!("error - {words}")),
            // iperf3 reports what the server said, and then why the client ends.
            End::Refused(words) => {
                self.subject.printer.error(&format!("SERVER ERROR - {words}"));
                self.subject.printer.error(&format!("error - {words}"));
            }
        }
    }
}
