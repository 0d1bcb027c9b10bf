//! The client's end of the control connection.
//!
//! ```text
//! Greeting --PARAM_EXCHANGE--> Asking --CREATE_STREAMS--> Opening --TEST_START--> Starting
//!                               ^  | EXTENSION                                       |
//!                               +--+                                            TEST_RUNNING
//!                                                                                    v
//! Done <--DISPLAY_RESULTS-- Closing <--JSON-- Hearing <--send_results()-- Owing    Running
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
use super::extension::{Announcement, Extension, FinalStream, Place};
use super::frame::{Expect, Frame, JsonKind};
use super::parameters::Parameters;
use super::results::{ClockReading, PeerEvidence, Results};
use super::state::State;
use super::wire::{OPENING_LIMIT, STEP_LIMIT, Wire};

/// What the client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The server's answer to the cookie.
    Greeting,
    /// Its answer to the parameters.
    Asking,
    /// The word that all streams are there.
    Opening,
    /// The word to start.
    Starting,
    /// The end, which this client decides.
    Running,
    /// The request for results.
    Ending,
    /// This end's own results.
    Owing,
    /// The server's results.
    Hearing,
    /// The last word.
    Closing,
    /// The numbers of the server's error.
    Refused,
    /// Nothing: all went well.
    Done,
    /// Nothing: it failed.
    Failed,
}

impl Phase {
    /// Every phase, in order.
    pub const ALL: [Self; 12] = [
        Self::Greeting,
        Self::Asking,
        Self::Opening,
        Self::Starting,
        Self::Running,
        Self::Ending,
        Self::Owing,
        Self::Hearing,
        Self::Closing,
        Self::Refused,
        Self::Done,
        Self::Failed,
    ];

    /// Where a state of the server leads (clause 4.3); none: it has no place here.
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
            (Self::Ending, State::ExchangeResults) => Self::Owing,
            (Self::Closing, State::DisplayResults) => Self::Done,
            _ => return None,
        })
    }

    /// What goes on, to complete "while …".
    pub const fn doing(self) -> &'static str {
        match self {
            Self::Greeting => "waiting for an answer to the cookie",
            Self::Asking => "waiting for an answer to the parameters",
            Self::Opening => "opening the streams",
            Self::Starting => "starting",
            Self::Running => "running the test",
            Self::Ending => "ending the test",
            Self::Owing | Self::Hearing => "exchanging results",
            Self::Refused => "reading the server's error",
            Self::Closing | Self::Done | Self::Failed => "closing",
        }
    }

    const fn limit(self) -> Option<Duration> {
        match self {
            Self::Running | Self::Owing | Self::Done | Self::Failed => None,
            Self::Opening => Some(OPENING_LIMIT),
            _ => Some(STEP_LIMIT),
        }
    }

    const fn expects(self) -> Expect {
        match self {
            Self::Hearing => Expect::Json(JsonKind::ResultsOfServer),
            Self::Refused => Expect::ErrorNumbers,
            _ => Expect::State,
        }
    }
}

/// What the client's host has to do or to know.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientEvent {
    /// The server is a linerate.
    PeerAnnounced(Announcement),
    /// The server runs other tests first.
    Waiting(Place),
    /// Open the streams, in order.
    CreateStreams,
    /// All streams are there: take the first readings.
    Start,
    /// Send and receive.
    Run,
    /// What the server sent in all, so that the tail can be waited for.
    FinalStreams(Vec<FinalStream>),
    /// Call [`Client::send_results`] when this end's streams are drained.
    ResultsWanted,
    /// The server's results.
    Results(Results),
    /// All done: send what is left, then close.
    Done,
    /// It cannot go on.
    Failed(ProtocolError),
}

/// The client's machine: bytes and time in, bytes and events out.
#[derive(Debug)]
pub struct Client {
    wire: Wire,
    phase: Phase,
    expect: Expect,
    parameters: Parameters,
    /// What the server said of itself.
    peer: Option<Announcement>,
    /// It has said what it sent.
    told_final: bool,
    /// Streams that it says it has.
    arrived: u32,
    /// When this end said what the server answers with its times.
    asked: Timestamp,
    /// How the server's clock stands, by the best of its answers.
    clock: Option<ClockOffset>,
    /// Why it does not serve this client, in its words.
    refusal: Option<String>,
    events: VecDeque<ClientEvent>,
}

impl Client {
    /// A client on a fresh connection. Its first output is the cookie (clause 3.1).
    pub fn new(parameters: Parameters, cookie: &Cookie, now: Timestamp) -> Self {
        let mut client = Self {
            wire: Wire::default(),
            phase: Phase::Greeting,
            expect: Expect::State,
            parameters,
            peer: None,
            told_final: false,
            arrived: 0,
            asked: now,
            clock: None,
            refusal: None,
            events: VecDeque::new(),
        };
        client.wire.expect_streams(client.parameters.plan.streams_in_all());
        client.wire.write_bytes(cookie.as_bytes());
        client.enter(Phase::Greeting, now);
        client
    }

    /// What the client waits for.
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// What the server is asked for.
    pub const fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Streams that the server says have come (clause 13.13).
    pub const fn arrived(&self) -> u32 {
        self.arrived
    }

    /// How the server's clock stands to this one's; none: the server does not report it.
    pub const fn clock(&self) -> Option<ClockOffset> {
        self.clock
    }

    /// Bytes to send now.
    pub fn take_output(&mut self) -> Vec<u8> {
        self.wire.take_output()
    }

    /// The next thing to do or to know.
    pub fn poll_event(&mut self) -> Option<ClientEvent> {
        self.events.pop_front()
    }

    /// When [`Self::handle_timeout`] is due.
    pub const fn deadline(&self) -> Option<Timestamp> {
        self.wire.deadline()
    }

    /// Takes what came in.
    pub fn handle_bytes(&mut self, bytes: &[u8], now: Timestamp) {
        // Clause 11.4: after the end anything may come; none of it is kept.
        if self.is_over() {
            return;
        }
        self.wire.push(bytes);
        while !self.is_over() {
            match self.wire.next(self.expect) {
                Ok(Some(frame)) => self.handle_frame(frame, now),
                Ok(None) => return,
                Err(error) => self.fail(error),
            }
        }
    }

    /// The connection ended, by a reset or in order.
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

    /// The kernel gave the connection up: the server's host does not answer.
    pub fn handle_loss(&mut self) {
        if !self.is_over() {
            self.fail(ProtocolError::Lost(self.phase.doing()));
        }
    }

    /// Time passed.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        if !self.is_over() && self.wire.is_overdue(now) {
            self.fail(match self.phase {
                Phase::Greeting => ProtocolError::Silent,
                phase => ProtocolError::TimedOut(phase.doing()),
            });
        }
    }

    /// Ends a running test (clause 10.1). Elsewhere it does nothing.
    pub fn end_test(&mut self, now: Timestamp) {
        if self.phase == Phase::Running {
            self.wire.write_state(State::TestEnd);
            self.enter(Phase::Ending, now);
        }
    }

    /// Answers [`ClientEvent::ResultsWanted`]. Elsewhere it does nothing.
    pub fn send_results(&mut self, results: &Results, now: Timestamp) {
        if self.phase == Phase::Owing {
            let most = self.wire.limit_of(JsonKind::Results);
            results.write(&mut self.wire, self.parameters.plan.has_many_streams(), most);
            self.asked = now;
            self.enter(Phase::Hearing, now);
        }
    }

    /// Gives up, and says so to the server (clause 11.2).
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
        self.expect = match phase.expects() {
            // Clause 10.7: without the wish there is no output in them.
            Expect::Json(JsonKind::ResultsOfServer) if !self.parameters.optional.server_output => {
                let tells = self.hears_evidence();
                Expect::Json(if tells { JsonKind::ResultsWithEvidence } else { JsonKind::Results })
            }
            expect => expect,
        };
        self.wire.limit(now, phase.limit());
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
        let Some(state) = State::from_byte(byte) else {
            return self.fail(ProtocolError::UnknownState { byte, phase });
        };
        let Some(next) = self.phase.on(state) else {
            return self.fail(ProtocolError::OutOfPlace { state, phase });
        };
        match state {
            State::AccessDenied => self.fail(ProtocolError::Busy),
            State::ServerTerminate => self.fail(ProtocolError::ServerTerminated),
            State::Extension => self.expect = Expect::Json(JsonKind::Extension),
            _ => {
                self.enter(next, now);
                self.asked = now;
                self.act(state);
            }
        }
    }

    fn act(&mut self, state: State) {
        match state {
            State::ParamExchange => self.wire.write_json(&self.parameters.to_json()),
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

    /// Clause 13.12: an iperf3 takes any number, and then cannot do it.
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

    /// What was said twice ends the test: more would only fill memory.
    fn read_extension(&mut self, text: &[u8], now: Timestamp) -> Result<(), String> {
        self.expect = self.phase.expects();
        let twice = || Err("it came twice".to_owned());
        match Extension::read(text)? {
            Extension::Announcement(announcement) => {
                if self.peer.is_some() {
                    return twice();
                }
                let mut announcement = announcement.plain();
                let asked = self.parameters.announcement.as_ref().map(|own| own.further_ports);
                announcement.ports.truncate(asked.unwrap_or(0).into());
                self.hear_clock(announcement.clock, now);
                self.peer = Some(announcement.clone());
                self.events.push_back(ClientEvent::PeerAnnounced(announcement));
            }
            Extension::Final { mut streams } => {
                if std::mem::replace(&mut self.told_final, true) {
                    return twice();
                }
                streams.retain(FinalStream::can_be);
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

    /// Whether both ends know the evidence of hosts (clause 13.19).
    fn hears_evidence(&self) -> bool {
        let ends = [&self.parameters.announcement, &self.peer];
        ends.into_iter().flatten().filter(|end| end.knows_evidence()).count() == 2
    }

    /// Keeps the one of two answers whose error is less.
    fn hear_clock(&mut self, reading: Option<ClockReading>, now: Timestamp) {
        let offset = reading.and_then(|reading| reading.offset(self.asked, now));
        let best = [self.clock, offset].into_iter().flatten();
        self.clock = best.min_by_key(|offset| offset.error_nanos);
    }

    fn read_results(&mut self, kind: JsonKind, text: &[u8], now: Timestamp) -> Result<(), String> {
        let mut results = match kind {
            JsonKind::ResultsOfServer => Results::from_json(text)?,
            _ => Results::without_output(text)?,
        };
        if self.hears_evidence() {
            results.evidence = PeerEvidence::in_results(text);
            let clock = results.evidence.as_ref().and_then(|evidence| evidence.clock);
            self.hear_clock(clock, now);
        }
        self.enter(Phase::Closing, now);
        self.events.push_back(ClientEvent::Results(results));
        Ok(())
    }
}

/// How long a server that lets this client wait may be silent; it repeats the place far
/// more often (clause 13.9).
const TURN_LIMIT: Duration = Duration::from_secs(30);
/// Characters of a refusal that are shown.
const LONGEST_REFUSAL: usize = 200;
