//! What a raw peer does, as a list of steps: a small language of sessions.
//!
//! A [`Session`] is a valid one, step by step; proofs cut it off, or mutate it.

use std::net::IpAddr;
use std::ops::Range;
use std::time::Duration;

use serde_json::json;

use crate::ask::{Direction, Transport};

/// One thing that a peer does before the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Bytes on the control connection.
    Send(Vec<u8>),
    /// So many bytes of the own cookie, a new one for each connection (clause 3.2).
    Cookie(usize),
    /// Waits for a state byte of the server.
    Await(u8),
    /// Opens a stream (sections 7 and 8).
    Stream(Transport, Claim),
    /// Payload: on the first so many streams from here, on all others towards here.
    Flow { senders: usize, length: usize, time: Duration },
    /// A byte on every stream now and again, for ever.
    Trickle(Duration),
    /// Does nothing for a while.
    Pause(Duration),
    /// Does nothing until the server closes.
    Hold,
    /// Closes everything in the regular way.
    Close,
    /// Closes the control connection with a reset.
    Reset,
}

/// Whose stream a connection says that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// The peer's own.
    Own,
    /// The peer's own, with its number (clause 13.12).
    Numbered(u32),
    /// Nobody's.
    Wrong,
}

/// The steps of one connection.
#[derive(Clone, Debug)]
pub(super) struct Script {
    pub(super) steps: Vec<Step>,
    /// The address to come from; none: the kernel's choice.
    pub(super) from: Option<IpAddr>,
    /// When it gives up, wherever it stands.
    pub(super) patience: Option<Duration>,
}

/// The protocol that a peer speaks: iperf3's, or iperf3's with our extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Iperf3,
    /// With the extensions of a linerate (section 13).
    Own,
}

/// A valid session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Session {
    pub(super) dialect: Dialect,
    pub(super) transport: Transport,
    pub(super) direction: Direction,
    /// Streams in each direction.
    pub(super) parallel: usize,
    /// Bytes of a block or datagram.
    pub(super) length: usize,
    /// What it says that it takes.
    pub(super) seconds: u32,
    /// How long payload moves.
    pub(super) flow: Duration,
}

/// How far a session has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// Connected, before the cookie.
    Connected,
    /// After the cookie.
    Named,
    /// After the parameters.
    Asked,
    /// After half of the streams.
    HalfOpen,
    /// After TEST_RUNNING.
    Running,
    /// After TEST_END.
    Ended,
    /// After the own results.
    Told,
    /// After IPERF_DONE.
    Done,
}

impl Session {
    /// One stream of a test that says ten minutes.
    pub(super) const fn new(transport: Transport, direction: Direction) -> Self {
        let (flow, seconds) = (Duration::ZERO, 600);
        let dialect = Dialect::Iperf3;
        Self { dialect, transport, direction, parallel: 1, length: 1000, seconds, flow }
    }

    pub(super) const fn of(self, dialect: Dialect) -> Self {
        Self { dialect, ..self }
    }

    pub(super) const fn with_streams(self, parallel: usize) -> Self {
        Self { parallel, ..self }
    }

    pub(super) const fn with_flow(self, flow: Duration) -> Self {
        Self { flow, ..self }
    }

    /// The whole session, regularly ended.
    pub(super) fn whole(&self) -> Vec<Step> {
        let mut steps = self.up_to(Stage::Done);
        steps.push(Step::Close);
        steps
    }

    /// The session up to a stage, and then silence.
    pub(super) fn silent_from(&self, stage: Stage) -> Vec<Step> {
        let mut steps = self.up_to(stage);
        steps.push(Step::Hold);
        steps
    }

    /// The steps that lead to a stage (clause 4.3).
    pub(super) fn up_to(&self, stage: Stage) -> Vec<Step> {
        let parts: [(Stage, Vec<Step>); 7] = [
            (Stage::Named, vec![Step::Cookie(COOKIE_LENGTH)]),
            (Stage::Asked, vec![Step::Await(PARAM_EXCHANGE), Step::Send(self.parameters())]),
            (Stage::HalfOpen, self.opening(self.streams() / 2)),
            (Stage::Running, self.running()),
            (Stage::Ended, vec![Step::Send(vec![TEST_END])]),
            (Stage::Told, vec![Step::Await(EXCHANGE_RESULTS), Step::Send(self.results())]),
            (Stage::Done, vec![Step::Await(DISPLAY_RESULTS), Step::Send(vec![IPERF_DONE])]),
        ];
        parts.into_iter().filter(|(at, _)| *at <= stage).flat_map(|(_, steps)| steps).collect()
    }

    fn opening(&self, count: usize) -> Vec<Step> {
        let mut steps = vec![Step::Await(CREATE_STREAMS)];
        steps.extend(self.stream_steps(0..count));
        steps
    }

    fn running(&self) -> Vec<Step> {
        let rest = self.streams() / 2..self.streams();
        let mut steps: Vec<Step> = self.stream_steps(rest).collect();
        steps.extend([Step::Await(TEST_START), Step::Await(TEST_RUNNING)]);
        if !self.flow.is_zero() {
            let senders = if self.direction == Direction::Reverse { 0 } else { self.parallel };
            steps.push(Step::Flow { senders, length: self.length, time: self.flow });
        }
        steps
    }

    fn stream_steps(&self, numbers: Range<usize>) -> impl Iterator<Item = Step> {
        let is_numbered = self.dialect == Dialect::Own && self.transport == Transport::Tcp;
        let claim = move |number| match u32::try_from(number) {
            Ok(number) if is_numbered => Claim::Numbered(number),
            _ => Claim::Own,
        };
        numbers.map(move |number| Step::Stream(self.transport, claim(number)))
    }

    /// Clause 7.4.
    fn streams(&self) -> usize {
        if self.direction == Direction::Both { 2 * self.parallel } else { self.parallel }
    }

    /// Section 6.
    pub(super) fn parameters(&self) -> Vec<u8> {
        let mut text = json!({
            "omit": 0,
            "time": self.seconds,
            "num": 0,
            "blockcount": 0,
            "parallel": self.parallel,
            "len": self.length,
            "pacing_timer": 1000,
            "bandwidth": RATE,
            "client_version": "3.12",
        });
        let flags = [
            ("tcp", self.transport == Transport::Tcp),
            ("udp", self.transport == Transport::Udp),
            ("reverse", self.direction == Direction::Reverse),
            ("bidirectional", self.direction == Direction::Both),
        ];
        for (name, _) in flags.into_iter().filter(|(_, is_on)| *is_on) {
            text[name] = true.into();
        }
        if self.dialect == Dialect::Own {
            text["linerate"] = json!({ "version": "0.1.0", "extensions": EXTENSIONS });
        }
        framed(text.to_string().as_bytes())
    }

    /// Clauses 10.5 and 10.6.
    pub(super) fn results(&self) -> Vec<u8> {
        // Clause 7.6: the number 2 is skipped.
        let identifier = |index: usize| if index == 0 { 1 } else { index + 2 };
        let stream = |index| {
            json!({
                "id": identifier(index), "bytes": 0, "retransmits": 0, "jitter": 0, "errors": 0,
                "packets": 0, "start_time": 0, "end_time": 1,
            })
        };
        let streams: Vec<_> = (0..self.streams()).map(stream).collect();
        let text = json!({
            "cpu_util_total": 1, "cpu_util_user": 1, "cpu_util_system": 0,
            "sender_has_retransmits": 0, "streams": streams,
        });
        framed(text.to_string().as_bytes())
    }
}

impl Script {
    /// From the address that the kernel chooses, with all the time it takes.
    pub(super) const fn new(steps: Vec<Step>) -> Self {
        Self { steps, from: None, patience: None }
    }
}

/// A JSON text with its length in front (clause 5.1).
pub(super) fn framed(text: &[u8]) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes(), text].concat()
}

/// Clause 3.2.
pub(super) const COOKIE_LENGTH: usize = 37;
/// Clause 13.1.
const EXTENSIONS: [&str; 4] = ["queue", "refusal", "many-streams", "evidence"];
/// State bytes (clause 4.2), and that of an extension (clause 13.2).
pub(super) const EXTENSION: u8 = 64;
pub(super) const TEST_START: u8 = 1;
pub(super) const TEST_RUNNING: u8 = 2;
pub(super) const TEST_END: u8 = 4;
pub(super) const PARAM_EXCHANGE: u8 = 9;
pub(super) const CREATE_STREAMS: u8 = 10;
pub(super) const EXCHANGE_RESULTS: u8 = 13;
pub(super) const DISPLAY_RESULTS: u8 = 14;
pub(super) const IPERF_DONE: u8 = 16;
pub(super) const ACCESS_DENIED: u8 = 0xff;
pub(super) const SERVER_ERROR: u8 = 0xfe;
/// Bit/s of each stream: peers are here to be served, not to fill the machine.
const RATE: u32 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn session(direction: Direction) -> Session {
        Session::new(Transport::Tcp, direction).with_streams(2)
    }

    #[test]
    fn a_stage_has_the_steps_of_those_before() {
        let session = session(Direction::Send);
        assert_eq!(session.up_to(Stage::Connected), []);
        let stages = [Stage::Named, Stage::Asked, Stage::HalfOpen, Stage::Running, Stage::Done];
        let lengths: Vec<_> = stages.map(|stage| session.up_to(stage).len()).into();
        assert_eq!(lengths, [1, 3, 5, 8, 13]);
        assert_eq!(session.silent_from(Stage::Named)[1..], [Step::Hold]);
    }

    #[test]
    fn a_bidirectional_session_opens_twice_the_streams() {
        let steps = session(Direction::Both).whole();
        let streams = steps.iter().filter(|step| matches!(step, Step::Stream(..)));
        assert_eq!(streams.count(), 4);
    }

    #[test]
    fn a_text_has_its_length_in_front() {
        assert_eq!(framed(b"{}"), b"\0\0\0\x02{}");
    }
}
