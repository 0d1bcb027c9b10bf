//! The byte stream of a control connection, cut into messages (section 5).

use std::collections::VecDeque;

use super::error::{ErrorCode, ProtocolError};

/// The kind of message that is expected next on the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expect {
    /// A state: one byte.
    State,
    /// A JSON message: its length in four bytes, then the text.
    Json(JsonKind),
    /// iperf3's error number and the errno.
    ErrorNumbers,
}

/// The content of a JSON message; each kind has its own size limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonKind {
    /// Parameters of the client.
    Parameters,
    /// Results of a client.
    Results,
    /// Results of a server, which may contain evidence on its host.
    ResultsWithEvidence,
    /// Results of a server, which may contain its output.
    ResultsOfServer,
    /// Extension message of a linerate server.
    Extension,
}

impl JsonKind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Parameters => "parameters",
            Self::Results | Self::ResultsWithEvidence | Self::ResultsOfServer => "results",
            Self::Extension => "an extension",
        }
    }

    /// The longest message of this kind in bytes (clause 5.4), for results of this number of
    /// `streams`.
    pub(super) const fn limit(self, streams: u32) -> u32 {
        match self {
            Self::Parameters => 16 * 1024,
            Self::Extension => 64 * 1024 + streams.saturating_mul(96),
            Self::Results => {
                let listed = if streams < MOST_LISTED { streams } else { MOST_LISTED };
                let in_rows = (streams - listed).saturating_mul(384);
                let limit = (32 * 1024 + listed * 2 * 1024).saturating_add(in_rows);
                if limit < LONGEST { limit } else { LONGEST }
            }
            Self::ResultsWithEvidence => {
                let limit = Self::Results.limit(streams).saturating_add(EVIDENCE);
                if limit < LONGEST { limit } else { LONGEST }
            }
            Self::ResultsOfServer => LONGEST,
        }
    }
}

/// Most bytes of a host's evidence (clause 13.19).
const EVIDENCE: u32 = 512 * 1024;

/// Streams of both directions that iperf3's form has to have room for (clause 13.14).
const MOST_LISTED: u32 = 2 * measurement::plan::IPERF3_STREAMS;

/// From 16 MiB on the first byte of the length would not be zero.
const LONGEST: u32 = 15 * 1024 * 1024;

/// A message of the control connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame {
    State(u8),
    Json(JsonKind, Vec<u8>),
    ErrorNumbers { code: ErrorCode, errno: i32 },
}

/// Collects received bytes until a message is complete. It holds no more than the longest message
/// plus the bytes of one call.
#[derive(Debug, Default)]
pub(super) struct FrameReader {
    pending: VecDeque<u8>,
    /// Streams that the peer has.
    streams: u32,
}

impl FrameReader {
    pub(super) const fn expect_streams(&mut self, count: u32) {
        self.streams = count;
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.pending.extend(bytes);
    }

    /// The next message; none: it is not complete.
    pub(super) fn next(&mut self, expect: Expect) -> Result<Option<Frame>, ProtocolError> {
        Ok(match expect {
            Expect::State => self.pending.pop_front().map(Frame::State),
            Expect::ErrorNumbers => self.take(8).map(|bytes| error_numbers(&bytes)),
            // No length begins with such a byte: the peer gives up instead (clause 11.3).
            Expect::Json(_) if self.pending.front().is_some_and(|byte| *byte != 0) => {
                self.pending.pop_front().map(Frame::State)
            }
            Expect::Json(kind) => self.json(kind)?.map(|bytes| Frame::Json(kind, bytes)),
        })
    }

    /// The error number alone, for a connection that ended before the errno: some versions do not
    /// send it (clause 11.4).
    pub(super) fn truncated_error(&mut self) -> Option<Frame> {
        self.take(4).map(|bytes| error_numbers(&bytes))
    }

    fn json(&mut self, kind: JsonKind) -> Result<Option<Vec<u8>>, ProtocolError> {
        // Clause 5.1: four bytes of length, big-endian, then the text without a terminator.
        if self.pending.len() < 4 {
            return Ok(None);
        }
        let length = number(self.pending.iter().take(4));
        let limit = kind.limit(self.streams);
        if length > limit {
            return Err(ProtocolError::TooLong { what: kind.name(), length, limit });
        }
        let whole = 4 + length as usize;
        if self.pending.len() == whole {
            // Nothing else is there: no copy, and no room for more.
            let mut text = Vec::from(std::mem::take(&mut self.pending));
            text.drain(..4);
            text.shrink_to_fit();
            return Ok(Some(text));
        }
        Ok((self.pending.len() > whole).then(|| self.pending.drain(..whole).skip(4).collect()))
    }

    /// The longest message of a kind that the peer accepts, in bytes: it is the limit of this end
    /// too.
    pub(super) const fn limit(&self, kind: JsonKind) -> u32 {
        kind.limit(self.streams)
    }

    fn take(&mut self, count: usize) -> Option<Vec<u8>> {
        (self.pending.len() >= count).then(|| self.pending.drain(..count).collect())
    }
}

/// Appends a JSON message: its length in four bytes, then the text.
pub(super) fn write_json(out: &mut Vec<u8>, json: &impl serde::Serialize) {
    write_text(out, &measurement::json::text(json));
}

/// Appends a message whose JSON text exists already: its length in four bytes, then the text.
pub(super) fn write_text(out: &mut Vec<u8>, text: &[u8]) {
    let length = u32::try_from(text.len()).expect("far below 4 GiB");
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(text);
}

fn error_numbers(bytes: &[u8]) -> Frame {
    let (code, errno) = bytes.split_at(4);
    Frame::ErrorNumbers {
        code: ErrorCode(number(code).cast_signed()),
        errno: number(errno).cast_signed(),
    }
}

fn number<'a>(bytes: impl IntoIterator<Item = &'a u8>) -> u32 {
    bytes.into_iter().fold(0, |number, byte| (number << 8) | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_comes_out_whole_however_it_is_cut() {
        let mut wire = Vec::new();
        write_json(&mut wire, &serde_json::json!({"tcp": true}));
        let mut reader = FrameReader::default();
        for byte in &wire[..wire.len() - 1] {
            reader.push(&[*byte]);
            assert_eq!(reader.next(Expect::Json(JsonKind::Parameters)), Ok(None));
        }
        reader.push(&wire[wire.len() - 1..]);
        let frame = reader.next(Expect::Json(JsonKind::Parameters)).expect("valid");
        assert_eq!(frame, Some(Frame::Json(JsonKind::Parameters, b"{\"tcp\":true}".to_vec())));
    }

    #[test]
    fn an_absurd_length_is_refused_before_anything_is_stored() {
        let mut reader = FrameReader::default();
        reader.push(&[0, 0xff, 0xff, 0xff]);
        assert!(matches!(
            reader.next(Expect::Json(JsonKind::Results)),
            Err(ProtocolError::TooLong { length: 0xff_ffff, .. })
        ));
    }

    #[test]
    fn a_state_byte_in_place_of_json_is_seen_at_once() {
        let mut reader = FrameReader::default();
        reader.push(&[0xfe]);
        let frame = reader.next(Expect::Json(JsonKind::Results)).expect("valid");
        assert_eq!(frame, Some(Frame::State(0xfe)));
    }

    #[test]
    fn error_numbers_are_signed_and_big_endian() {
        let mut reader = FrameReader::default();
        reader.push(&[0, 0, 0, 121, 0xff, 0xff, 0xff, 0xff]);
        let frame = reader.next(Expect::ErrorNumbers).expect("valid");
        assert_eq!(frame, Some(Frame::ErrorNumbers { code: ErrorCode(121), errno: -1 }));
    }
}
