//! The server's end of the control connection, after the cookie that [`super::Greeting`] reads.
//!
//! ```text
//! Asking -JSON-> Admission --accept()--> Opening --streams_open()--> Running -TEST_END-> Draining
//!                                                                                            |
//!                                                                                  request_results()
//!                                                                                            v
//! Done <--IPERF_DONE-- Closing <--send_results()-- Answering <--JSON-- Results <-------------+
//! ```
//!
//! From every phase, `CLIENT_TERMINATE`, an early `IPERF_DONE`, a close or a missed
//! deadline lead to `Failed`.

use std::collections::VecDeque;
use std::time::Duration;

use measurement::Timestamp;

use super::error::{ErrorCode, ProtocolError};
use super::extension::{Announcement, Extension, FinalStream, QueuePlace};
use super::frame::{Expect, Frame, JsonKind};
use super::hello::HelloToken;
use super::limits::TestLimits;
use super::parameters::Parameters;
use super::results::{ClockReading, Results};
use super::state::State;
use super::wire::{STEP_LIMIT, Wire};

/// A phase of a server in iperf3's control protocol: what it waits for next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The cookie arrived; the parameters of the client are expected.
    Asking,
    /// The parameters arrived; [`Server::accept`] or [`Server::refuse`] is to be called.
    Admission,
    /// The client opens the streams.
    Opening,
    /// The test runs, until the client sends `TEST_END`.
    Running,
    /// `TEST_END` arrived; [`Server::request_results`] is to be called when the streams have
    /// stopped.
    Draining,
    /// The results of the client were requested.
    Results,
    /// The results of the client arrived; [`Server::send_results`] is to be called.
    Answering,
    /// The results were sent; the client answers with `IPERF_DONE`.
    Closing,
    /// The test is complete.
    Done,
    /// The test failed; the connection is to be closed.
    Failed,
}

impl Phase {
    /// All phases of a server: first those of a test in their order, then `Done` and `Failed`.
    pub const ALL: [Self; 10] = [
        Self::Asking,
        Self::Admission,
        Self::Opening,
        Self::Running,
        Self::Draining,
        Self::Results,
        Self::Answering,
        Self::Closing,
        Self::Done,
        Self::Failed,
    ];

    /// The server's next phase when the client sends `state` in this phase (clauses 4.4 and 11.7 of
    /// docs/protocol/iperf3.md). None: `state` is not allowed in this phase.
    pub const fn on(self, state: State) -> Option<Self> {
        Some(match (self, state) {
            (Self::Done | Self::Failed, _) => return None,
            (Self::Closing, State::IperfDone) => Self::Done,
            (_, State::ClientTerminate | State::IperfDone) => Self::Failed,
            (phase, State::TestStart) => phase,
            (Self::Running, State::TestEnd) => Self::Draining,
            _ => return None,
        })
    }

    /// Describes the phase for an error message, to complete "while …": `running the test`.
    pub const fn doing(self) -> &'static str {
        match self {
            Self::Asking => "waiting for the parameters",
            Self::Admission | Self::Opening => "waiting for the streams",
            Self::Running => "running the test",
            Self::Draining | Self::Results | Self::Answering => "exchanging results",
            Self::Closing | Self::Done | Self::Failed => "closing",
        }
    }

    const fn limit(self) -> Option<Duration> {
        match self {
            Self::Asking | Self::Opening | Self::Results | Self::Closing => Some(STEP_LIMIT),
            _ => None,
        }
    }

    const fn expects(self) -> Expect {
        match self {
            Self::Asking => Expect::Json(JsonKind::Parameters),
            Self::Results => Expect::Json(JsonKind::Results),
            _ => Expect::State,
        }
    }
}

/// An event of the server's state machine: an action that the caller has to take, or a message of
/// the client.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerEvent {
    /// The parameters of the client arrived: call [`Server::accept`] or [`Server::refuse`].
    Asked(Box<Parameters>),
    /// The client ended the test: stop sending, then call [`Server::request_results`].
    Ended,
    /// The results of the client arrived: drain the streams, then call [`Server::send_results`].
    Results(Results),
    /// The test is complete; the connection is to be closed.
    Done,
    /// The test failed; no event follows.
    Failed(ProtocolError),
}

/// State machine of the server's end of the control connection, without I/O: received bytes and the
/// time go in, bytes to send and events come out.
#[derive(Debug)]
pub struct Server {
    wire: Wire,
    phase: Phase,
    /// The extensions that the client and this end both know (clause 13.2).
    shared: Option<Announcement>,
    /// The test has more streams than an iperf3 can have.
    has_many_streams: bool,
    /// When the last JSON message of the client arrived.
    heard: Timestamp,
    /// Number of messages of the client that were ignored.
    ignored: u32,
    events: VecDeque<ServerEvent>,
}

impl Server {
    /// A state machine for a connection whose cookie was received at `now`. Its first output
    /// requests the parameters (`PARAM_EXCHANGE`).
    pub fn new(now: Timestamp) -> Self {
        let mut server = Self {
            wire: Wire::default(),
            phase: Phase::Asking,
            shared: None,
            has_many_streams: false,
            heard: now,
            ignored: 0,
            events: VecDeque::new(),
        };
        server.wire.write_state(State::ParamExchange);
        server.enter(Phase::Asking, now);
        server
    }

    /// The phase in which the server is now.
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// Takes the bytes that are to be sent on the control connection. Empty: nothing is to be sent.
    pub fn take_output(&mut self) -> Vec<u8> {
        self.wire.take_output()
    }

    /// Takes the oldest event that was not yet taken. None: no event is pending.
    pub fn poll_event(&mut self) -> Option<ServerEvent> {
        self.events.pop_front()
    }

    /// Time at which [`Self::handle_timeout`] is to be called, on the clock of `now`. None: the
    /// current phase has no time limit.
    pub const fn deadline(&self) -> Option<Timestamp> {
        self.wire.deadline()
    }

    /// Processes bytes that were received on the control connection at `now`. After the end of the
    /// test they are ignored.
    pub fn handle_bytes(&mut self, bytes: &[u8], now: Timestamp) {
        // What comes after the end is not kept.
        if self.is_over() {
            return;
        }
        self.wire.push(bytes);
        while !self.is_over() {
            match self.wire.next(self.phase.expects()) {
                Ok(Some(frame)) => self.handle_frame(frame, now),
                Ok(None) => return,
                Err(error) => self.reject(error),
            }
        }
    }

    /// Processes the close of the control connection. The test fails, unless only the client's
    /// `IPERF_DONE` was missing.
    pub fn handle_close(&mut self) {
        match self.phase {
            Phase::Done | Phase::Failed => {}
            // The client has all that it wanted; its last word may be lost in a reset.
            Phase::Closing => self.finish(),
            phase => {
                // Clause 11.6: it may have ended its sending alone.
                self.write_error(ErrorCode::CLOSED, 0);
                self.fail(ProtocolError::Closed(phase.doing()));
            }
        }
    }

    /// Fails the test ([`ProtocolError::Lost`]): the kernel closed the control connection, since the
    /// client's host did not answer.
    pub fn handle_loss(&mut self) {
        if !self.is_over() {
            self.fail(ProtocolError::Lost(self.phase.doing()));
        }
    }

    /// Fails the test if the time limit of the current phase has passed at `now`. It is to be
    /// called at [`Self::deadline`].
    pub fn handle_timeout(&mut self, now: Timestamp) {
        if !self.is_over() && self.wire.is_overdue(now) {
            self.fail(ProtocolError::TimedOut(self.phase.doing()));
        }
    }

    /// Accepts the parameters of [`ServerEvent::Asked`]: the client may open its streams. If there
    /// is a `token` and the client knows the extension `hello-token`, its UDP hellos must contain
    /// it (clause 13.8 of docs/protocol/iperf3.md).
    pub fn accept(&mut self, token: Option<HelloToken>, now: Timestamp) {
        if self.phase == Phase::Admission {
            if let Some(mut announcement) = self.shared.clone() {
                announcement.hello_token = token.filter(|_| announcement.knows_hello_token());
                announcement.clock = announcement.knows_evidence().then(|| self.clock(now));
                self.write_extension(&Extension::Announcement(announcement));
            }
            self.wire.write_state(State::CreateStreams);
            self.enter(Phase::Opening, now);
        }
    }

    /// Excludes the extension `evidence` (counters of the server's host, clause 13.19 of
    /// docs/protocol/iperf3.md) from this test. It is to be called before [`Self::accept`].
    pub fn withhold_evidence(&mut self) {
        self.shared = self.shared.take().map(Announcement::without_evidence);
    }

    /// Reading of the server's monotonic clock for the client: when its last JSON message arrived,
    /// and `now`, when the answer is written (clause 13.19 of docs/protocol/iperf3.md).
    pub const fn clock(&self, now: Timestamp) -> ClockReading {
        ClockReading { heard: self.heard.nanos(), said: now.nanos() }
    }

    /// Sets how many streams the client may open at the same time, and the further `ports` for them
    /// (clauses 13.13 and 13.15 of docs/protocol/iperf3.md). It is to be called before
    /// [`Self::accept`], and has no effect if the client does not know the extension
    /// `many-streams`.
    pub fn offer(&mut self, under_way: u32, ports: Vec<u16>) {
        if let Some(shared) = self.shared.as_mut().filter(|shared| shared.knows_many_streams()) {
            (shared.under_way, shared.ports) = (Some(under_way), ports);
        }
    }

    /// States what the server allows the test (clause 13.21 of docs/protocol/iperf3.md). It is to be
    /// called before [`Self::accept`], and has no effect if the client does not know the extension
    /// `limits`.
    pub fn limit(&mut self, limits: TestLimits) {
        if let Some(shared) = self.shared.as_mut().filter(|shared| shared.knows_limits()) {
            shared.limits = Some(limits).filter(|limits| !limits.is_none());
        }
    }

    /// Reports to the client how many streams the server has accepted (clause 13.13 of
    /// docs/protocol/iperf3.md). Without effect if the client does not know the extension
    /// `many-streams`.
    pub fn report_arrived(&mut self, arrived: u32) {
        let is_known = self.shared.as_ref().is_some_and(Announcement::knows_many_streams);
        if self.phase == Phase::Opening && is_known {
            self.write_extension(&Extension::Arrived { arrived });
        }
    }

    /// Reports to the client its position in the queue, while [`ServerEvent::Asked`] is not
    /// answered (clause 13.9 of docs/protocol/iperf3.md). Without effect if the client does not
    /// know the extension `queue`.
    pub fn report_place(&mut self, place: QueuePlace) {
        let is_known = self.shared.as_ref().is_some_and(Announcement::knows_queue);
        if self.phase == Phase::Admission && is_known {
            self.write_extension(&Extension::Waiting { waiting: place });
        }
    }

    /// Fails the test as [`Self::refuse`] does, with errno 0. If the client knows the extension
    /// `refusal`, it gets the reason `why` in words first (clause 13.10 of
    /// docs/protocol/iperf3.md).
    pub fn refuse_because(&mut self, code: ErrorCode, why: &str) {
        let is_known = self.shared.as_ref().is_some_and(Announcement::knows_refusal);
        let is_open = matches!(self.phase, Phase::Admission | Phase::Opening | Phase::Running);
        if is_open && is_known {
            self.write_extension(&Extension::Refusal { refused: why.to_owned() });
        }
        self.refuse(code, 0);
    }

    /// Refuses a client because the server is busy: sends `ACCESS_DENIED` (clause 2.5 of
    /// docs/protocol/iperf3.md).
    pub fn deny(&mut self) {
        if !self.is_over() {
            self.wire.write_state(State::AccessDenied);
            self.fail(ProtocolError::Busy);
        }
    }

    /// Restarts the time limit for the opening of the streams, as one of them was accepted at
    /// `now`.
    pub fn stream_accepted(&mut self, now: Timestamp) {
        if self.phase == Phase::Opening {
            self.enter(Phase::Opening, now);
        }
    }

    /// Fails the test: sends `SERVER_ERROR` with iperf3's error number and an errno(3), or 0 for
    /// none (clause 11.3 of docs/protocol/iperf3.md).
    pub fn refuse(&mut self, code: ErrorCode, errno: i32) {
        if !self.is_over() {
            self.write_error(code, errno);
            self.fail(ProtocolError::ServerError { code, errno, why: None });
        }
    }

    /// Starts the test, as all streams are open: sends `TEST_START` and `TEST_RUNNING` (clause 7.8
    /// of docs/protocol/iperf3.md).
    pub fn streams_open(&mut self, now: Timestamp) {
        if self.phase == Phase::Opening {
            self.wire.write_state(State::TestStart);
            self.wire.write_state(State::TestRunning);
            self.enter(Phase::Running, now);
        }
    }

    /// Requests the results of the client after [`ServerEvent::Ended`]; without effect in any other
    /// phase. `sent` has the totals of the streams that the server sent.
    pub fn request_results(&mut self, sent: Vec<FinalStream>, now: Timestamp) {
        if self.phase == Phase::Draining {
            if self.shared.as_ref().is_some_and(Announcement::knows_final_sequence) {
                self.write_extension(&Extension::Final { streams: sent });
            }
            self.wire.write_state(State::ExchangeResults);
            self.enter(Phase::Results, now);
        }
    }

    /// Sends the results of this end after [`ServerEvent::Results`]; without effect in any other
    /// phase.
    pub fn send_results(&mut self, results: &Results, now: Timestamp) {
        if self.phase == Phase::Answering {
            // An iperf3 takes results of any length (clause 5.4).
            let most = match (&self.shared, &results.server_output) {
                (None, _) => u32::MAX,
                (Some(shared), None) if shared.knows_evidence() => {
                    self.wire.limit_of(JsonKind::ResultsWithEvidence)
                }
                (Some(_), None) => self.wire.limit_of(JsonKind::Results),
                (Some(_), Some(_)) => self.wire.limit_of(JsonKind::ResultsOfServer),
            };
            results.write(&mut self.wire, self.has_many_streams, most);
            self.wire.write_state(State::DisplayResults);
            self.enter(Phase::Closing, now);
        }
    }

    /// Aborts the test and sends `SERVER_TERMINATE` to the client (clause 11.1 of
    /// docs/protocol/iperf3.md); without effect after the end of the test.
    pub fn terminate(&mut self) {
        if !self.is_over() {
            self.wire.write_state(State::ServerTerminate);
            self.fail(ProtocolError::ServerTerminated);
        }
    }

    /// Fails the test, as the client sent an invalid message, and sends the error number of that.
    fn reject(&mut self, error: ProtocolError) {
        let code = match self.phase {
            Phase::Asking => ErrorCode::PARAMETERS,
            Phase::Results => ErrorCode::RESULTS,
            _ => ErrorCode::MESSAGE,
        };
        self.write_error(code, 0);
        self.fail(error);
    }

    fn write_error(&mut self, code: ErrorCode, errno: i32) {
        self.wire.write_state(State::ServerError);
        self.wire.write_bytes(&code.0.to_be_bytes());
        self.wire.write_bytes(&errno.to_be_bytes());
    }

    const fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Done | Phase::Failed)
    }

    fn enter(&mut self, phase: Phase, now: Timestamp) {
        self.phase = phase;
        self.wire.limit(now, phase.limit());
    }

    fn finish(&mut self) {
        self.phase = Phase::Done;
        self.wire.limit(Timestamp::default(), None);
        self.events.push_back(ServerEvent::Done);
    }

    fn fail(&mut self, error: ProtocolError) {
        self.phase = Phase::Failed;
        self.wire.limit(Timestamp::default(), None);
        self.events.push_back(ServerEvent::Failed(error));
    }

    fn write_extension(&mut self, extension: &Extension) {
        self.wire.write_state(State::Extension);
        self.wire.write_json(extension);
    }

    fn handle_frame(&mut self, frame: Frame, now: Timestamp) {
        match frame {
            Frame::State(byte) => self.handle_state(byte),
            Frame::Json(JsonKind::Parameters, text) => self.read_parameters(&text, now),
            Frame::Json(kind, text) => self.read_results(kind, &text, now),
            Frame::ErrorNumbers { .. } => {}
        }
    }

    fn handle_state(&mut self, byte: u8) {
        let phase = self.phase.doing();
        let Some(state) = State::from_byte(byte) else {
            return self.reject(ProtocolError::UnknownState { byte, phase });
        };
        match (self.phase.on(state), state) {
            (Some(Phase::Failed), State::ClientTerminate) => {
                // Clause 11.2.
                self.write_error(ErrorCode::CLIENT_ENDED, 0);
                self.fail(ProtocolError::ClientTerminated);
            }
            (Some(Phase::Failed), State::IperfDone) => self.fail(ProtocolError::ClientFailed),
            (Some(Phase::Done), _) => self.finish(),
            (Some(next), State::TestEnd) => {
                self.phase = next;
                self.events.push_back(ServerEvent::Ended);
            }
            // Clause 4.4: TEST_START is ignored, but not listened to for ever.
            (Some(_), _) if self.ignored < MOST_IGNORED => self.ignored += 1,
            _ => self.reject(ProtocolError::UnexpectedState { state, phase }),
        }
    }

    fn read_parameters(&mut self, text: &[u8], now: Timestamp) {
        self.heard = now;
        self.enter(Phase::Admission, now);
        match Parameters::from_json(text) {
            Ok(parameters) => {
                // Clause 13.7: nothing of this to a peer that did not announce itself.
                self.shared = parameters.announcement.as_ref().map(Announcement::shared);
                self.has_many_streams = parameters.plan.has_many_streams();
                self.wire.expect_streams(parameters.plan.streams_in_all());
                self.events.push_back(ServerEvent::Asked(Box::new(parameters)));
            }
            Err(code) => self.refuse(code, 0),
        }
    }

    fn read_results(&mut self, kind: JsonKind, text: &[u8], now: Timestamp) {
        self.heard = now;
        match Results::without_output(text) {
            Ok(results) => {
                self.enter(Phase::Answering, now);
                self.events.push_back(ServerEvent::Results(results));
            }
            Err(why) => self.reject(ProtocolError::BadJson { what: kind.name(), why }),
        }
    }
}

const MOST_IGNORED: u32 = 16;
