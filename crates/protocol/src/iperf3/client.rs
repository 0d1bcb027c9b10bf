//! The client's end of the control connection.
//!
//! ```text
//! Greeting --PARAM_EXCHANGE--> Asking --CREATE_STREAMS--> Opening --TEST_START--> Starting
//!                               ^  | EXTENSION                                       |
//!                               +--+                                            TEST_RUNNING
//!                                                                                    v
//! Done <--DISPLAY_RESULTS-- Closing <--JSON-- Results <--send_results()-- Draining Running
//!                                                                          ^         |
//!                                                         EXCHANGE_RESULTS |     end_test()
//!                                                                          |         v
//!                                                                          +------ Ending
//! ```
//!
//! From every phase, `ACCESS_DENIED`, `SERVER_TERMINATE`, a close or a missed
//! deadline lead to `Failed`; `SERVER_ERROR` leads to `Refused`, and its numbers on
//! to `Failed`.

use std::collections::VecDeque;
use std::time::Duration;

use measurement::{ClockOffset, Timestamp};

use super::cookie::Cookie;
use super::error::{ErrorCode, ProtocolError};
use super::extension::{Announcement, Extension, FinalStream, QueuePlace};
use super::frame::{Expect, Frame, JsonKind};
use super::parameters::Parameters;
use super::results::{ClockReading, PeerEvidence, Results};
use super::state::State;
use super::wire::{OPENING_LIMIT, STEP_LIMIT, Wire};

/// A phase of a client in iperf3's control protocol: what it waits for next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The cookie was sent; the server answers with `PARAM_EXCHANGE`.
    Greeting,
    /// The parameters were sent; the server answers with `CREATE_STREAMS`.
    Asking,
    /// The streams are being opened; the server sends `TEST_START` when it has all of them.
    Opening,
    /// All streams are open; the server sends `TEST_RUNNING`.
    Starting,
    /// The test runs, until [`Client::end_test`] is called.
    Running,
    /// `TEST_END` was sent; the server answers with `EXCHANGE_RESULTS`.
    Ending,
    /// The server requested the results, which [`Client::send_results`] sends.
    Draining,
    /// The results were sent; the server answers with its own.
    Results,
    /// The results of the server arrived; it sends `DISPLAY_RESULTS`.
    Closing,
    /// The server sent `SERVER_ERROR`; two error numbers follow.
    Refused,
    /// The test is complete, and `IPERF_DONE` was sent.
    Done,
    /// The test failed; the connection is to be closed.
    Failed,
}

impl Phase {
    /// All phases of a client: first those of a test in their order, then `Refused`, `Done` and
    /// `Failed`.
    pub const ALL: [Self; 12] = [
        Self::Greeting,
        Self::Asking,
        Self::Opening,
        Self::Starting,
        Self::Running,
        Self::Ending,
        Self::Draining,
        Self::Results,
        Self::Closing,
        Self::Refused,
        Self::Done,
        Self::Failed,
    ];

    /// The client's next phase when the server sends `state` in this phase (clause 4.3 of
    /// docs/protocol/iperf3.md). None: `state` is not allowed in this phase.
    pub const fn on(self, state: State) -> Option<Self> {
        Some(match (self, state) {
            (Self::Refused | Self::Done | Self::Failed, _) => return None,
            (_, State::AccessDenied | State::ServerTerminate) => Self::Failed,
            (_, State::ServerError) => Self::Refused,
            (Self::Greeting, State::ParamExchange) => Self::Asking,
            (
                phase @ (Self::Asking | Self::Opening | Self::Running | Self::Ending),
                State::Extension,
            ) => phase,
            (Self::Asking, State::CreateStreams) => Self::Opening,
            (Self::Opening, State::TestStart) => Self::Starting,
            (Self::Starting, State::TestRunning) => Self::Running,
            (Self::Ending, State::ExchangeResults) => Self::Draining,
            (Self::Closing, State::DisplayResults) => Self::Done,
            _ => return None,
        })
    }

    /// Describes the phase for an error message, to complete "while …": `opening the streams`.
    pub const fn doing(self) -> &'static str {
        match self {
            Self::Greeting => "waiting for an answer to the cookie",
            Self::Asking => "waiting for an answer to the parameters",
            Self::Opening => "opening the streams",
            Self::Starting => "starting",
            Self::Running => "running the test",
            Self::Ending => "ending the test",
            Self::Draining | Self::Results => "exchanging results",
            Self::Refused => "reading the server's error",
            Self::Closing | Self::Done | Self::Failed => "closing",
        }
    }

    const fn limit(self) -> Option<Duration> {
        match self {
            Self::Running | Self::Draining | Self::Done | Self::Failed => None,
            Self::Opening => Some(OPENING_LIMIT),
            _ => Some(STEP_LIMIT),
        }
    }

    const fn expects(self) -> Expect {
        match self {
            Self::Results => Expect::Json(JsonKind::ResultsOfServer),
            Self::Refused => Expect::ErrorNumbers,
            _ => Expect::State,
        }
    }
}

/// An event of the client's state machine: an action that the caller has to take, or a message of
/// the server.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientEvent {
    /// The server sent an announcement, so that it is a linerate.
    PeerAnnounced(Announcement),
    /// The test waits in the queue of the server, at this position.
    Waiting(QueuePlace),
    /// The streams are to be opened, in order.
    CreateStreams,
    /// The server has accepted all streams; the counters are to be read for the start of the test.
    Start,
    /// The streams are to send and receive.
    Run,
    /// Totals of the streams that the server sent. Datagrams may still be in flight, which the
    /// client can wait for.
    FinalStreams(Vec<FinalStream>),
    /// The server requested the results: drain the streams, then call [`Client::send_results`].
    ResultsWanted,
    /// The results of the server arrived.
    Results(Results),
    /// The test is complete: send the remaining output, then close the connection.
    Done,
    /// The test failed; no event follows.
    Failed(ProtocolError),
}

impl ProtocolError {
    /// Whether the peer's results did not come in time, or cannot be read.
    pub fn is_of_results(&self) -> bool {
        match self {
            Self::TimedOut(phase) => *phase == Phase::Results.doing(),
            Self::BadJson { what, .. } => *what == JsonKind::Results.name(),
            _ => false,
        }
    }
}

/// State machine of the client's end of the control connection, without I/O: received bytes and the
/// time go in, bytes to send and events come out.
#[derive(Debug)]
pub struct Client {
    wire: Wire,
    phase: Phase,
    /// Whether an extension message has begun. It can end in a later phase, which this end may
    /// enter meanwhile.
    in_extension: bool,
    parameters: Parameters,
    has_sent_parameters: bool,
    /// Announcement of the server.
    peer: Option<Announcement>,
    /// Whether the server has sent its totals.
    has_final_totals: bool,
    /// Streams that it says it has.
    arrived: u32,
    /// When this end sent the last message that the server answers with a clock reading.
    asked: Timestamp,
    /// Offset of the server's clock, by the reading with the least error.
    clock: Option<ClockOffset>,
    /// Reason of a refusal that the server sent in words.
    refusal: Option<String>,
    events: VecDeque<ClientEvent>,
}

impl Client {
    /// A state machine for a connection that was opened at `now`. Its first output is the `cookie`
    /// (clause 3.1 of docs/protocol/iperf3.md); the parameters follow when the server requests
    /// them.
    pub fn new(parameters: Parameters, cookie: &Cookie, now: Timestamp) -> Self {
        let mut client = Self::after_cookie(parameters, now);
        client.wire.write_bytes(cookie.as_bytes());
        client
    }

    /// The same for a connection on which the cookie was sent at `now`.
    pub fn after_cookie(parameters: Parameters, now: Timestamp) -> Self {
        let mut client = Self {
            wire: Wire::default(),
            phase: Phase::Greeting,
            in_extension: false,
            parameters,
            has_sent_parameters: false,
            peer: None,
            has_final_totals: false,
            arrived: 0,
            asked: now,
            clock: None,
            refusal: None,
            events: VecDeque::new(),
        };
        client.wire.expect_streams(client.parameters.plan.streams_in_all());
        client.enter(Phase::Greeting, now);
        client
    }

    /// The phase in which the client is now.
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// The parameters that the client requests.
    pub const fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Whether the server has requested the parameters, so that they are in the output.
    pub const fn has_sent_parameters(&self) -> bool {
        self.has_sent_parameters
    }

    /// Number of streams that the server has reported as accepted (clause 13.13 of
    /// docs/protocol/iperf3.md).
    pub const fn arrived(&self) -> u32 {
        self.arrived
    }

    /// Offset to add to times of the server's monotonic clock, to get times of this host's. None:
    /// the server did not report its clock.
    pub const fn clock(&self) -> Option<ClockOffset> {
        self.clock
    }

    /// Takes the bytes that are to be sent on the control connection. Empty: nothing is to be sent.
    pub fn take_output(&mut self) -> Vec<u8> {
        self.wire.take_output()
    }

    /// Takes the oldest event that was not yet taken. None: no event is pending.
    pub fn poll_event(&mut self) -> Option<ClientEvent> {
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
        // Clause 11.4: after the end anything may come; none of it is kept.
        if self.is_over() {
            return;
        }
        self.wire.push(bytes);
        while !self.is_over() {
            match self.wire.next(self.expects()) {
                Ok(Some(frame)) => self.handle_frame(frame, now),
                Ok(None) => return,
                Err(error) => self.fail(error),
            }
        }
    }

    /// Processes the end of the control connection: by a reset (RST) if `reset`, else by an orderly
    /// close (FIN).
    pub fn handle_close(&mut self, reset: bool) {
        if self.is_over() {
            return;
        }
        if self.phase == Phase::Refused
            && let Some(Frame::ErrorNumbers { code, errno }) = self.wire.truncated_error()
        {
            return self.fail_by_server(code, errno);
        }
        // Clause 2.5: a busy server's answer can get lost in a reset.
        let busy = reset && self.phase == Phase::Greeting;
        self.fail(if busy {
            ProtocolError::Busy
        } else {
            ProtocolError::Closed(self.phase.doing())
        });
    }

    /// Processes the loss of the control connection: the kernel closed it, as the server's host did
    /// not answer.
    pub fn handle_loss(&mut self) {
        if !self.is_over() {
            self.fail(ProtocolError::Lost(self.phase.doing()));
        }
    }

    /// Fails the test if the time limit of the current phase has passed at `now`. It is to be
    /// called at [`Self::deadline`].
    pub fn handle_timeout(&mut self, now: Timestamp) {
        if !self.is_over() && self.wire.is_overdue(now) {
            self.fail(match self.phase {
                Phase::Greeting => ProtocolError::NoAnswer,
                phase => ProtocolError::TimedOut(phase.doing()),
            });
        }
    }

    /// Ends a running test with `TEST_END` (clause 10.1 of docs/protocol/iperf3.md); without effect
    /// in any other phase.
    pub fn end_test(&mut self, now: Timestamp) {
        if self.phase == Phase::Running {
            self.wire.write_state(State::TestEnd);
            self.enter(Phase::Ending, now);
        }
    }

    /// Sends the results of this end after [`ClientEvent::ResultsWanted`]; without effect in any
    /// other phase.
    pub fn send_results(&mut self, results: &Results, now: Timestamp) {
        if self.phase == Phase::Draining {
            let most = self.wire.limit_of(JsonKind::Results);
            results.write(&mut self.wire, self.parameters.plan.has_many_streams(), most);
            self.asked = now;
            self.enter(Phase::Results, now);
        }
    }

    /// Aborts the test and sends `CLIENT_TERMINATE` to the server (clause 11.2 of
    /// docs/protocol/iperf3.md); without effect after the end of the test.
    pub fn terminate(&mut self) {
        if !self.is_over() {
            self.wire.write_state(State::ClientTerminate);
            self.fail(ProtocolError::ClientTerminated);
        }
    }

    const fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Done | Phase::Failed)
    }

    fn enter(&mut self, phase: Phase, now: Timestamp) {
        self.phase = phase;
        self.wire.limit(now, phase.limit());
    }

    /// The kind of message that comes next.
    fn expects(&self) -> Expect {
        if self.in_extension {
            return Expect::Json(JsonKind::Extension);
        }
        match self.phase.expects() {
            // Clause 10.7: without the wish there is no output in them.
            Expect::Json(JsonKind::ResultsOfServer) if !self.parameters.optional.server_output => {
                let has_evidence = self.knows_evidence();
                Expect::Json(if has_evidence {
                    JsonKind::ResultsWithEvidence
                } else {
                    JsonKind::Results
                })
            }
            expect => expect,
        }
    }

    fn fail(&mut self, error: ProtocolError) {
        self.phase = Phase::Failed;
        self.wire.limit(Timestamp::default(), None);
        self.events.push_back(ClientEvent::Failed(error));
    }

    fn handle_frame(&mut self, frame: Frame, now: Timestamp) {
        match frame {
            Frame::State(byte) => self.handle_state(byte, now),
            Frame::Json(kind, text) => self.handle_json(kind, &text, now),
            Frame::ErrorNumbers { code, errno } => {
                self.fail_by_server(code, errno);
            }
        }
    }

    fn fail_by_server(&mut self, code: ErrorCode, errno: i32) {
        let why = self.refusal.take();
        if why.is_none() && code == ErrorCode::STREAMS && self.parameters.plan.has_many_streams() {
            return self.fail(ProtocolError::TooManyStreams);
        }
        self.fail(ProtocolError::ServerError { code, errno, why });
    }

    fn handle_state(&mut self, byte: u8, now: Timestamp) {
        let phase = self.phase.doing();
        self.in_extension = false;
        let Some(state) = State::from_byte(byte) else {
            return self.fail(ProtocolError::UnknownState { byte, phase });
        };
        let Some(next) = self.phase.on(state) else {
            return self.fail(ProtocolError::UnexpectedState { state, phase });
        };
        match state {
            State::AccessDenied => self.fail(ProtocolError::Busy),
            State::ServerTerminate => self.fail(ProtocolError::ServerTerminated),
            State::Extension => self.in_extension = true,
            _ => {
                self.enter(next, now);
                self.asked = now;
                self.act(state);
            }
        }
    }

    fn act(&mut self, state: State) {
        match state {
            State::ParamExchange => {
                self.wire.write_json(&self.parameters.to_json());
                self.has_sent_parameters = true;
            }
            State::CreateStreams if self.asks_too_much() => {
                self.wire.write_state(State::ClientTerminate);
                self.fail(ProtocolError::TooManyStreams);
            }
            State::CreateStreams => self.events.push_back(ClientEvent::CreateStreams),
            State::TestStart => self.events.push_back(ClientEvent::Start),
            State::TestRunning => self.events.push_back(ClientEvent::Run),
            State::ExchangeResults => self.events.push_back(ClientEvent::ResultsWanted),
            State::DisplayResults => {
                // Clause 10.4.
                self.wire.write_state(State::IperfDone);
                self.events.push_back(ClientEvent::Done);
            }
            _ => {}
        }
    }

    /// Clause 13.12: a server of iperf3 accepts any number of streams in the parameters, and fails
    /// later.
    fn asks_too_much(&self) -> bool {
        let knows = self.peer.as_ref().is_some_and(Announcement::knows_many_streams);
        self.parameters.plan.has_many_streams() && !knows
    }

    fn handle_json(&mut self, kind: JsonKind, text: &[u8], now: Timestamp) {
        let read = match kind {
            JsonKind::Extension => self.read_extension(text, now),
            _ => self.read_results(kind, text, now),
        };
        if let Err(why) = read {
            self.fail(ProtocolError::BadJson { what: kind.name(), why });
        }
    }

    /// Reads an extension message. A repeated one fails the test, so that its memory is bounded.
    fn read_extension(&mut self, text: &[u8], now: Timestamp) -> Result<(), String> {
        self.in_extension = false;
        let twice = || Err("it came twice".to_owned());
        match Extension::read(text)? {
            Extension::Announcement(announcement) => {
                if self.peer.is_some() {
                    return twice();
                }
                let mut announcement = announcement.plain();
                let asked = self.parameters.announcement.as_ref().map(|own| own.further_ports);
                announcement.ports.truncate(asked.unwrap_or(0).into());
                if let Some(limits) = announcement.limits {
                    self.parameters.plan = limits.applied(&self.parameters.plan);
                }
                self.note_clock(announcement.clock, now);
                self.peer = Some(announcement.clone());
                self.events.push_back(ClientEvent::PeerAnnounced(announcement));
            }
            Extension::Final { mut streams } => {
                if std::mem::replace(&mut self.has_final_totals, true) {
                    return twice();
                }
                streams.retain(FinalStream::is_plausible);
                self.events.push_back(ClientEvent::FinalStreams(streams));
            }
            Extension::Waiting { waiting } => {
                if self.phase == Phase::Asking {
                    self.wire.limit(now, Some(TURN_LIMIT));
                }
                // Only the last word counts.
                self.events.retain(|event| !matches!(event, ClientEvent::Waiting(_)));
                self.events.push_back(ClientEvent::Waiting(waiting));
            }
            Extension::Arrived { arrived } => {
                // Only streams of the test can come, and each only once.
                let arrived = arrived.min(self.parameters.plan.streams_in_all());
                if self.phase == Phase::Opening && arrived > self.arrived {
                    self.arrived = arrived;
                    self.wire.limit(now, self.phase.limit());
                }
            }
            Extension::Refusal { refused } => {
                self.refusal = Some(super::json::printable(&refused, LONGEST_REFUSAL));
            }
        }
        Ok(())
    }

    /// Whether both ends know the extension `evidence` (clause 13.19).
    fn knows_evidence(&self) -> bool {
        let ends = [&self.parameters.announcement, &self.peer];
        ends.into_iter().flatten().filter(|end| end.knows_evidence()).count() == 2
    }

    /// Keeps the clock offset with the smaller error.
    fn note_clock(&mut self, reading: Option<ClockReading>, now: Timestamp) {
        let offset = reading.and_then(|reading| reading.offset(self.asked, now));
        let best = [self.clock, offset].into_iter().flatten();
        self.clock = best.min_by_key(|offset| offset.error_nanos);
    }

    fn read_results(&mut self, kind: JsonKind, text: &[u8], now: Timestamp) -> Result<(), String> {
        let mut results = match kind {
            JsonKind::ResultsOfServer => Results::from_json(text)?,
            _ => Results::without_output(text)?,
        };
        if self.knows_evidence() {
            results.evidence = PeerEvidence::in_results(text);
            let clock = results.evidence.as_ref().and_then(|evidence| evidence.clock);
            self.note_clock(clock, now);
        }
        self.enter(Phase::Closing, now);
        self.events.push_back(ClientEvent::Results(results));
        Ok(())
    }
}

/// How long a server in whose queue the client waits may send nothing; it repeats the position far
/// more often (clause 13.9).
const TURN_LIMIT: Duration = Duration::from_secs(30);
/// The longest text of a refusal that is shown, in characters.
const LONGEST_REFUSAL: usize = 200;
