//! What both machines share: bytes in, bytes out, and the time of the phase.

use std::time::Duration;

use measurement::Timestamp;

use super::error::ProtocolError;
use super::frame::{Expect, Frame, FrameReader, JsonKind, write_json, write_text};
use super::state::State;

/// One end of the control connection: buffers of both directions, and the time limit of the phase.
#[derive(Debug, Default)]
pub(super) struct Wire {
    reader: FrameReader,
    out: Vec<u8>,
    deadline: Option<Timestamp>,
    /// Streams of the test.
    streams: u32,
}

impl Wire {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.reader.push(bytes);
    }

    pub(super) fn next(&mut self, expect: Expect) -> Result<Option<Frame>, ProtocolError> {
        self.reader.next(expect)
    }

    /// Sets the number of streams in the peer's results, which limits their length.
    pub(super) const fn expect_streams(&mut self, count: u32) {
        self.reader.expect_streams(count);
        self.streams = count;
    }

    pub(super) fn truncated_error(&mut self) -> Option<Frame> {
        self.reader.truncated_error()
    }

    pub(super) fn write_bytes(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    pub(super) fn write_state(&mut self, state: State) {
        self.out.push(state.byte());
    }

    pub(super) fn write_json(&mut self, json: &impl serde::Serialize) {
        write_json(&mut self.out, json);
    }

    pub(super) fn write_text(&mut self, text: &[u8]) {
        write_text(&mut self.out, text);
    }

    /// The longest message of a kind in bytes.
    pub(super) const fn limit_of(&self, kind: JsonKind) -> u32 {
        self.reader.limit(kind)
    }

    /// Takes the bytes that are to be sent.
    pub(super) fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Sets the time limit of the phase, from `now` on; none: there is none.
    pub(super) fn limit(&mut self, now: Timestamp, limit: Option<Duration>) {
        self.deadline = limit.map(|limit| now.after(limit + self.streams * EACH_STREAM));
    }

    pub(super) const fn deadline(&self) -> Option<Timestamp> {
        self.deadline
    }

    pub(super) fn is_overdue(&self, now: Timestamp) -> bool {
        self.deadline.is_some_and(|deadline| now >= deadline)
    }
}

/// How long a peer may take for one step of the protocol. iperf3 itself gives up
/// after 10 s for each piece (clause 2.8).
pub(super) const STEP_LIMIT: Duration = Duration::from_secs(10);
/// What each stream adds to that: to be opened, or reported.
const EACH_STREAM: Duration = Duration::from_millis(1);
/// Time limit of a client for all streams to be open.
pub(super) const OPENING_LIMIT: Duration = Duration::from_secs(30);
