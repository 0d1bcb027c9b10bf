//! The server's end of the control connection, after the cookie that [`super::Greeting`] reads.
//!
//! ```text
//! Asking --JSON--> Judging --accept()--> Opening --streams_open()--> Running --TEST_END--> Draining
//!                                                                                            |
//!                                                                                  request_results()
//!                                                                                            v
//! Done <--IPERF_DONE-- Closing <--send_results()-- Answering <--JSON-- Hearing <-------------+
//! ```
//!
//! From every phase, `CLIENT_TERMINATE`, an early `IPERF_DONE`, a close or a missed
//! deadline lead to `Failed`.

use std::collections::VecDeque;
use std::time::Duration;

use measurement::Timestamp;

use super::error::{ErrorCode, ProtocolError};
use super::extension::{Announcement, Extension, FinalStream, Place};
use super::frame::{Expect, Frame, JsonKind};
use super::hello::HelloToken;
use super::parameters::Parameters;
use super::results::{ClockReading, Results};
use super::state::State;
use super::wire::{STEP_LIMIT, Wire};

/// What the server waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The client's parameters.
    Asking,
    /// Its host's word on them.
    Judging,
    /// The streams.
    Opening,
    /// The end, which the client decides.
    Running,
    /// Its host, which stops the streams.
    Draining,
    /// The client's results.
    Hearing,
    /// Its host's results.
    Answering,
    /// The client's last word.
    Closing,
    /// Nothing: all went well.
    Done,
    /// Nothing: it failed.
    Failed,
}

impl Phase {
    /// Every phase, in order.
    pub const ALL: [Self; 10] = [
        Self::Asking,
        Self::Judging,
        Self::Opening,
        Self::Running,
        Self::Draining,
        Self::Hearing,
        Self::Answering,
        Self::Closing,
        Self::Done,
        Self::Failed,
    ];

    /// Where a state of the client leads (clauses 4.4 and 11.7); none: no place here.
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

    /// What goes on, to complete "while …".
    pub const fn doing(self) -> &'static str {
        match self {
            Self::Asking => "waiting for the parameters",
            Self::Judging | Self::Opening => "waiting for the streams",
            Self::Running => "running the test",
            Self::Draining | Self::Hearing | Self::Answering => "exchanging results",
            Self::Closing | Self::Done | Self::Failed => "closing",
        }
    }

    const fn limit(self) -> Option<Duration> {
        match self {
            Self::Asking | Self::Opening | Self::Hearing | Self::Closing => Some(STEP_LIMIT),
            _ => None,
        }
    }

    const fn expects(self) -> Expect {
        match self {
            Self::Asking => Expect::Json(JsonKind::Parameters),
            Self::Hearing => Expect::Json(JsonKind::Results),
            _ => Expect::State,
        }
    }
}

/// What the server's host has to do or to know.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerEvent {
    /// Call [`Server::accept`] or [`Server::refuse`].
    Asked(Box<Parameters>),
    /// Stop sending, then call [`Server::request_results`].
    Ended,
    /// The client's results: drain, then call [`Server::send_results`].
    Results(Results),
    /// All done: close.
    Done,
    /// It cannot go on.
    Failed(ProtocolError),
}

/// The server's machine: bytes and time in, bytes and events out.
#[derive(Debug)]
pub struct Server {
    wire: Wire,
    phase: Phase,
    /// What the client and this end both know (clause 13.2).
    shared: Option<Announcement>,
    /// The test has more streams than an iperf3 can have.
    has_many_streams: bool,
    /// When the client's last JSON came.
    heard: Timestamp,
    /// How often the client has said what means nothing.
    idle_talk: u32,
    events: VecDeque<ServerEvent>,
}

impl Server {
    /// A server that got a cookie. Its first output asks for the parameters.
    pub fn new(now: Timestamp) -> Self {
        let mut server = Self {
            wire: Wire::default(),
            phase: Phase::Asking,
            shared: None,
            has_many_streams: false,
            heard: now,
            idle_talk: 0,
            events: VecDeque::new(),
        };
        server.wire.write_state(State::ParamExchange);
        server.enter(Phase::Asking, now);
        server
    }

    /// What the server waits for.
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// Bytes to send now.
    pub fn take_output(&mut self) -> Vec<u8> {
        self.wire.take_output()
    }

    /// The next thing to do or to know.
    pub fn poll_event(&mut self) -> Option<ServerEvent> {
        self.events.pop_front()
    }

    /// When [`Self::handle_timeout`] is due.
    pub const fn deadline(&self) -> Option<Timestamp> {
        self.wire.deadline()
    }

    /// Takes what came in.
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

    /// The connection ended.
    pub fn handle_close(&mut self) {
        match self.phase {
            Phase::Done | Phase::Failed => {}
            // The client has all that it wanted; its last word may be lost in a reset.
            Phase::Closing => self.finish(),
            phase => self.fail(ProtocolError::Closed(phase.doing())),
        }
    }

    /// The kernel gave the connection up: the peer's host does not answer.
    pub fn handle_loss(&mut self) {
        if !self.is_over() {
            self.fail(ProtocolError::Lost(self.phase.doing()));
        }
    }

    /// Time passed.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        if !self.is_over() && self.wire.is_overdue(now) {
            self.fail(ProtocolError::TimedOut(self.phase.doing()));
        }
    }

    /// Answers [`ServerEvent::Asked`]: the client may open its streams. Over UDP their
    /// hellos are to bear `token`, if there is one and the client can do that.
    pub fn accept(&mut self, token: Option<HelloToken>, now: Timestamp) {
        if self.phase == Phase::Judging {
            if let Some(mut announcement) = self.shared.clone() {
                announcement.hello_token = token.filter(|_| announcement.knows_hello_token());
                announcement.clock = announcement.knows_evidence().then(|| self.clock(now));
                self.write_extension(&Extension::Announcement(announcement));
            }
            self.wire.write_state(State::CreateStreams);
            self.enter(Phase::Opening, now);
        }
    }

    /// The client hears nothing of this host, and not that it could.
    pub fn withhold_evidence(&mut self) {
        self.shared = self.shared.take().map(Announcement::without_evidence);
    }

    /// When the client's last message came, and that an answer to it is written now.
    pub const fn clock(&self, now: Timestamp) -> ClockReading {
        ClockReading { heard: self.heard.nanos(), said: now.nanos() }
    }

    /// Before [`Self::accept`]: at most `under_way` streams may be on their way, to these
    /// further ports too (clauses 13.13 and 13.15). A client that does not know of that
    /// hears nothing.
    pub fn offer(&mut self, under_way: u32, ports: Vec<u16>) {
        if let Some(shared) = self.shared.as_mut().filter(|shared| shared.knows_many_streams()) {
            (shared.under_way, shared.ports) = (Some(under_way), ports);
        }
    }

    /// Reports to a client that can hear it how many of its streams have come (clause 13.13).
    pub fn tell_arrived(&mut self, arrived: u32) {
        let can_hear = self.shared.as_ref().is_some_and(Announcement::knows_many_streams);
        if self.phase == Phase::Opening && can_hear {
            self.write_extension(&Extension::Arrived { arrived });
        }
    }

    /// While [`ServerEvent::Asked`] is not answered: reports to a client that can hear it which
    /// place it has in the queue (clause 13.9).
    pub fn tell_place(&mut self, place: Place) {
        let can_hear = self.shared.as_ref().is_some_and(Announcement::knows_queue);
        if self.phase == Phase::Judging && can_hear {
            self.write_extension(&Extension::Waiting { waiting: place });
        }
    }

    /// Does as [`Self::refuse`]; a client that can hear it gets the reason in words
    /// (clause 13.10).
    pub fn refuse_because(&mut self, code: ErrorCode, why: &str) {
        let can_hear = self.shared.as_ref().is_some_and(Announcement::knows_refusal);
        let is_heard = matches!(self.phase, Phase::Judging | Phase::Opening | Phase::Running);
        if is_heard && can_hear {
            self.write_extension(&Extension::Refusal { refused: why.to_owned() });
        }
        self.refuse(code, 0);
    }

    /// Sends the client away as one that comes at a bad time (clause 2.5).
    pub fn deny(&mut self) {
        if !self.is_over() {
            self.wire.write_state(State::AccessDenied);
            self.fail(ProtocolError::Busy);
        }
    }

    /// One of the streams is there: the time for the next one begins.
    pub fn stream_came(&mut self, now: Timestamp) {
        if self.phase == Phase::Opening {
            self.enter(Phase::Opening, now);
        }
    }

    /// Ends the test with iperf3's number for the reason (clause 11.3).
    pub fn refuse(&mut self, code: ErrorCode, errno: i32) {
        if !self.is_over() {
            self.write_error(code, errno);
            self.fail(ProtocolError::ServerError { code, errno, why: None });
        }
    }

    /// All streams are there: the test starts (clause 7.8).
    pub fn streams_open(&mut self, now: Timestamp) {
        if self.phase == Phase::Opening {
            self.wire.write_state(State::TestStart);
            self.wire.write_state(State::TestRunning);
            self.enter(Phase::Running, now);
        }
    }

    /// Answers [`ServerEvent::Ended`]; `sent` are the streams that this end sends.
    pub fn request_results(&mut self, sent: Vec<FinalStream>, now: Timestamp) {
        if self.phase == Phase::Draining {
            if self.shared.as_ref().is_some_and(Announcement::knows_final_sequence) {
                self.write_extension(&Extension::Final { streams: sent });
            }
            self.wire.write_state(State::ExchangeResults);
            self.enter(Phase::Hearing, now);
        }
    }

    /// Answers [`ServerEvent::Results`].
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

    /// Gives up, and says so to the client (clause 11.1).
    pub fn terminate(&mut self) {
        if !self.is_over() {
            self.wire.write_state(State::ServerTerminate);
            self.fail(ProtocolError::ServerTerminated);
        }
    }

    /// The client said something that cannot be read, and hears so.
    fn reject(&mut self, error: ProtocolError) {
        let code = match self.phase {
            Phase::Asking => ErrorCode::PARAMETERS,
            Phase::Hearing => ErrorCode::RESULTS,
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
            (Some(Phase::Failed), State::IperfDone | State::ClientTerminate) => {
                self.fail(ProtocolError::ClientTerminated);
            }
            (Some(Phase::Done), _) => self.finish(),
            (Some(next), State::TestEnd) => {
                self.phase = next;
                self.events.push_back(ServerEvent::Ended);
            }
            // Clause 4.4: TEST_START is ignored, but not listened to for ever.
            (Some(_), _) if self.idle_talk < MOST_IDLE_TALK => self.idle_talk += 1,
            _ => self.reject(ProtocolError::OutOfPlace { state, phase }),
        }
    }

    fn read_parameters(&mut self, text: &[u8], now: Timestamp) {
        self.heard = now;
        self.enter(Phase::Judging, now);
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

const MOST_IDLE_TALK: u32 = 16;
