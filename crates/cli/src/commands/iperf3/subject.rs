//! The state of a report besides its numbers: role, addresses, how the test ended.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use linux::event::StopSignals;
use measurement::outcome::Ending;
use measurement::{ByteSize, Course, TestPlan, TestRecord};
use report::iperf3::{self, Contact, PeerResults, Role};
use session::{Introduction, Observer, ProtocolError, ServerOutput, SessionError};

use super::end::End;
use super::printer::Printer;
use super::words;
use crate::flags::Iperf3Flags;

/// The report of a test, as text or as JSON.
pub(super) trait Report: Observer {
    /// Its state besides the numbers.
    fn subject(&mut self) -> &mut Subject;
    /// Reports the result of a course, beside what the peer reported of it.
    fn summarise(&mut self, course: &Course<'_>, peer: &PeerResults<'_>);
    /// Reports that a client's test ended before it began, because it was told to.
    fn conclude_nothing(&mut self, plan: &TestPlan) {
        self.summarise(&Course::before_the_start(plan), &PeerResults::default());
    }
    /// Reports the result of a client's test; of one that failed, as iperf3, its intervals alone.
    fn conclude(&mut self, record: &TestRecord);
    /// Reports how the test ended; nothing is reported after it.
    fn end(&mut self, end: &End);
}

/// Signals that end this process, and whether one was reported.
#[derive(Clone)]
pub(super) struct Signals {
    interrupts: Arc<StopSignals>,
    reported: Arc<AtomicBool>,
}

impl Signals {
    pub(super) fn new(interrupts: StopSignals) -> Self {
        Self { interrupts: Arc::new(interrupts), reported: Arc::default() }
    }

    pub(super) fn interrupts(&self) -> &StopSignals {
        &self.interrupts
    }

    /// Whether a signal arrived.
    pub(super) fn arrived(&self) -> bool {
        self.interrupts.last().is_some()
    }

    /// The message on the signal that arrived, which then counts as reported; none: no signal
    /// arrived.
    pub(super) fn message(&self, role: Role) -> Option<String> {
        let number = self.interrupts.last()?;
        self.reported.store(true, SeqCst);
        Some(words::of_signal(role, number))
    }

    /// The message on the signal that arrived, if it was not reported yet.
    pub(super) fn message_once(&self, role: Role) -> Option<String> {
        if self.reported.load(SeqCst) { None } else { self.message(role) }
    }
}

/// State that text and JSON reports share.
pub(super) struct Subject {
    pub(super) role: Role,
    pub(super) printer: Printer,
    signals: Signals,
    /// The server's name as the client was given it, and its port.
    target: (String, u16),
    /// An iperf3 server that was once asked for its output goes on sending it.
    pub(super) wants_server_output: bool,
    debug: bool,
    file: Option<PathBuf>,
    failure: Option<End>,
    /// The server was told to end: what there is of the test is its result.
    is_server_ended: bool,
    /// Bytes of one write or datagram, once they are agreed.
    pub(super) block: ByteSize,
}

impl Subject {
    pub(super) fn new(
        role: Role,
        flags: &Iperf3Flags,
        printer: &Printer,
        signals: &Signals,
    ) -> Self {
        let host = flags.client.as_ref().map(|client| client.host.clone()).unwrap_or_default();
        Self {
            role,
            printer: printer.clone(),
            signals: signals.clone(),
            target: (host, flags.port),
            wants_server_output: flags.get_server_output,
            debug: flags.debug.is_some(),
            file: flags.file.clone(),
            failure: None,
            is_server_ended: false,
            block: ByteSize::from_bytes(0),
        }
    }

    /// Both ends know each other.
    pub(super) fn introduce(&mut self, introduction: &Introduction<'_>) {
        self.block = introduction.parameters.block();
        if self.role == Role::Client {
            words::warn_of_fragments(introduction);
        }
        if self.debug {
            self.printer.raw(&words::of_parameters(introduction.parameters));
        }
    }

    /// iperf3's words for that; `client` is the text of the client's address.
    pub(super) fn contact<'a>(
        &'a self,
        introduction: &'a Introduction<'_>,
        client: &'a str,
    ) -> Contact<'a> {
        let (host, port) = match self.role {
            Role::Client => (self.target.0.as_str(), self.target.1),
            Role::Server => (client, introduction.peer.address.port()),
        };
        Contact {
            role: self.role,
            host,
            port,
            cookie: introduction.cookie,
            mss_asked: introduction.parameters.plan.options.mss,
            mss_default: introduction.segment,
            wall_millis: linux::clock::realtime_millis(),
        }
    }

    /// Name and size of the file that was moved; none: there is none.
    pub(super) fn file(&self) -> Option<(String, u64)> {
        let path = self.file.as_ref()?;
        let size = std::fs::metadata(path).ok()?.len();
        Some((path.display().to_string(), size))
    }

    /// The test cannot go on.
    pub(super) fn failed(&mut self, error: &SessionError) {
        self.is_server_ended =
            matches!(error, SessionError::Protocol { error: ProtocolError::ServerTerminated, .. });
        self.failure = Some(match self.role {
            Role::Client => words::of_server(error),
            Role::Server => words::of_client(error),
        });
    }

    /// Whether an error ended the test, of which iperf3 shows no result then.
    pub(super) const fn is_broken_off(&self, ending: &Ending) -> bool {
        matches!(ending, Ending::Failed { .. }) && !self.is_server_ended
    }

    /// The end of a test that began.
    pub(super) fn end_of(&self, ending: &Ending) -> End {
        let signal = || self.signals.message(self.role);
        match ending {
            Ending::Completed => End::Well,
            Ending::Interrupted => match signal() {
                Some(signal) => End::Early(signal),
                // A linerate that is told to end ends its test in order, and early.
                None => self.failure.clone().unwrap_or_else(words::of_a_client_gone),
            },
            // A server that is stopped breaks its tests off.
            Ending::Failed { error } => match signal().filter(|_| self.role == Role::Server) {
                Some(signal) => End::Early(signal),
                None => self.failure.clone().unwrap_or_else(|| End::Failed(error.clone())),
            },
        }
    }

    /// The end of a client's test that never began.
    pub(super) fn end_before_the_start(&self, error: &SessionError) -> End {
        match error {
            SessionError::Interrupted => {
                End::Early(self.signals.message(self.role).unwrap_or_else(|| error.to_string()))
            }
            error => words::of_server(error),
        }
    }
}

/// The peer's report of a test.
pub(super) fn peer_results(record: &TestRecord) -> PeerResults<'_> {
    PeerResults {
        streams: &record.reported.streams,
        cpu: record.outcome.peer_cpu,
        congestion: record.reported.congestion.as_deref(),
    }
}

/// The server's output, for a report.
pub(super) fn server_output(output: &ServerOutput) -> iperf3::ServerOutput<'_> {
    match output {
        ServerOutput::Text(text) => iperf3::ServerOutput::Text(text),
        ServerOutput::Json(json) => iperf3::ServerOutput::Json(json),
    }
}
