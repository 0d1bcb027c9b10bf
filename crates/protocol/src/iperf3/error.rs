//! What can go wrong on a control connection (section 11).

use std::fmt;

use measurement::plan::IPERF3_STREAMS;

use super::state::State;

/// iperf3's number for an error, which a server sends after `SERVER_ERROR` (clause 11.3 of
/// docs/protocol/iperf3.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCode(pub i32);

impl ErrorCode {
    /// The duration of the test is out of range.
    pub const DURATION: Self = Self(5);
    /// More parallel streams were requested than the server accepts.
    pub const STREAMS: Self = Self(6);
    /// The block length is out of range.
    pub const BLOCK: Self = Self(7);
    /// The socket buffer is out of range.
    pub const WINDOW: Self = Self(8);
    /// The MSS is out of range.
    pub const MSS: Self = Self(10);
    /// The omitted time is out of range.
    pub const OMIT: Self = Self(12);
    /// The burst count is out of range.
    pub const BURST: Self = Self(15);
    /// The length of datagrams is out of range.
    pub const DATAGRAM: Self = Self(20);
    /// The total rate is above the limit of the server.
    pub const TOTAL_RATE: Self = Self(27);
    /// A file cannot be sent by UDP.
    pub const FILE_OVER_UDP: Self = Self(34);
    /// The duration is above the limit of the server.
    pub const SERVER_DURATION: Self = Self(37);
    /// The server has no resources for another test.
    pub const RESOURCES: Self = Self(100);
    /// The cookie did not come.
    pub const COOKIE: Self = Self(106);
    /// The client closed the control connection.
    pub const CLOSED: Self = Self(109);
    /// A message is not allowed in the current phase.
    pub const MESSAGE: Self = Self(110);
    /// The parameters cannot be parsed.
    pub const PARAMETERS: Self = Self(114);
    /// The results cannot be parsed.
    pub const RESULTS: Self = Self(117);
    /// The client ended the test.
    pub const CLIENT_ENDED: Self = Self(119);
    /// The flow label cannot be set.
    pub const FLOW_LABEL: Self = Self(127);
    /// The transport protocol is not supported, e.g. SCTP (clause 1.6 of docs/protocol/iperf3.md).
    pub const TRANSPORT: Self = Self(131);
    /// The CPU affinity cannot be set.
    pub const AFFINITY: Self = Self(132);
    /// The congestion control is not available.
    pub const CONGESTION: Self = Self(134);
    /// The kernel set a smaller socket buffer than requested.
    pub const WINDOW_NOT_SET: Self = Self(141);
    /// Authentication failed (section 15 of docs/protocol/iperf3.md).
    pub const AUTHENTICATION: Self = Self(142);
    /// Nothing was received within the time limit.
    pub const NOTHING_RECEIVED: Self = Self(144);
    /// The client did not end the test in time.
    pub const TIME_IS_UP: Self = Self(160);
    /// A stream could not be opened.
    pub const STREAM_CONNECT: Self = Self(203);

    /// The errno(3) with which a linerate server refuses an address, beside
    /// [`Self::AUTHENTICATION`] (clause 13.22 of docs/protocol/iperf3.md).
    pub const EACCES: i32 = 13;

    /// The errno(3) with which a linerate server with a key refuses a client without one, beside
    /// [`Self::AUTHENTICATION`] (clause 13.23 of docs/protocol/iperf3.md).
    pub const ENOKEY: i32 = 126;

    /// What the error means, as a clause without a full stop. None: the number is not known.
    pub const fn meaning(self) -> Option<&'static str> {
        Some(match self.0 {
            5 => "the duration is longer than the server allows",
            6 => "there are more parallel streams than the server allows",
            7 => "the block length is out of the server's range",
            8 => "the socket buffer is larger than the server allows",
            10 => "the MSS is larger than the server allows",
            11 => "the server has no sendfile",
            12 => "the omitted time is out of the server's range",
            15 => "the burst count is out of the server's range",
            20 => "the datagram size is out of the server's range",
            21 => "the type of service is out of range",
            27 => "the total rate is above the server's limit",
            34 => "the server cannot write a file from UDP",
            37 => "the duration is above the server's limit",
            100 => "the server has no room for another test",
            105 | 106 => "the server did not get the cookie",
            107 | 108 => "the server's control connection broke",
            109 => "the server saw the control connection close",
            110 => "the server got a message that it does not know",
            112 => "the server could not receive a message",
            113 | 114 => "the server could not read the parameters",
            115..=117 => "the server could not exchange results",
            119 => "the server says that this client ended the test",
            121 => "the server is busy with another test",
            122 => "the server could not set TCP_NODELAY",
            123 => "the server could not set the MSS",
            124 | 141 => {
                "the server cannot set the socket buffer: lower -w, or raise net.core.rmem_max \
                 and net.core.wmem_max"
            }
            125 | 126 => "the server could not set the type of service",
            127 => "the server could not set the flow label",
            131 => "the server does not know that transport",
            132 => "the server could not set its CPU affinity",
            134 => "the server does not have that congestion control",
            140 => "the server could not set its pacing rate",
            142 => "the server wants a user name and password",
            144 => "the server waited for data that never came",
            145 => "the server could not forbid fragmentation",
            160 => "the server's time for this test ran out",
            200..=204 => "the server could not open a stream",
            205 => "the server could not write to a stream",
            206 => "the server could not read from a stream",
            207 => "the server saw a stream close",
            208 => "the server got results of a stream that it does not know",
            _ => return None,
        })
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.meaning() {
            Some(meaning) => f.write_str(meaning),
            None => write!(f, "the server reports iperf3 error {}", self.0),
        }
    }
}

/// Error for which a control connection ends. Its text completes "the test failed: …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// The server is busy: it answered `ACCESS_DENIED`.
    #[error("the server is busy with another test; try again when that has ended")]
    Busy,
    /// The server failed the test: it sent `SERVER_ERROR` with iperf3's error number and its errno.
    #[error("{}", refusal(*code, *errno, why.as_deref()))]
    ServerError {
        /// Error number of iperf3.
        code: ErrorCode,
        /// The server's errno(3); 0: none.
        errno: i32,
        /// Reason in words, which a linerate server sends (clause 13.10).
        why: Option<String>,
    },
    /// The server aborted the test by `SERVER_TERMINATE`.
    #[error("the server was stopped; start it again")]
    ServerTerminated,
    /// The client aborted the test by `CLIENT_TERMINATE`.
    #[error("the client ended the test")]
    ClientTerminated,
    /// The client failed by itself, and said no more than `IPERF_DONE` (clause 11.7 of
    /// docs/protocol/iperf3.md).
    #[error("the client gave up; its own output may say why")]
    ClientFailed,
    /// The peer closed the connection in the phase that the text describes.
    #[error("the other end closed the control connection while {0}; its own output may say why")]
    Closed(&'static str),
    /// The kernel closed the connection in the phase that the text describes, as the peer's host
    /// did not answer.
    #[error("the other end vanished while {0}: its host, or the path to it, is gone")]
    Lost(&'static str),
    /// The server did not answer the cookie.
    #[error("no answer at all; does an iperf3 or linerate run there?")]
    NoAnswer,
    /// The peer did not answer in time, in the phase that the text describes.
    #[error("no answer from the other end while {0}")]
    TimedOut(&'static str),
    /// The peer sent a state that is not allowed in the phase.
    #[error("the other end sent {state} while {phase}; does an iperf3 or linerate run there?")]
    UnexpectedState {
        /// The state that the peer sent.
        state: State,
        /// Description of the phase of this end.
        phase: &'static str,
    },
    /// The server started the test with half of the streams, as it does not support `--bidir`
    /// (clause 7.7).
    #[error("the server is an iperf3 before 3.7, which cannot test both directions at once")]
    NoBidirectional,
    /// More streams were requested than a server of iperf3 supports.
    #[error(
        "an iperf3 server takes at most {IPERF3_STREAMS} streams in each direction: ask for fewer \
         with -P, or run \"linerate serve\" there"
    )]
    TooManyStreams,
    /// The peer sent a byte that is the number of no state.
    #[error(
        "the other end sent byte {byte:#04x} while {phase}; it does not speak iperf3's protocol"
    )]
    UnknownState {
        /// The byte that the peer sent.
        byte: u8,
        /// Description of the phase of this end.
        phase: &'static str,
    },
    /// The peer announced a message that is longer than the limit (clause 5.4).
    #[error("the other end announced {length} bytes of {what}, more than {limit}")]
    TooLong {
        /// Kind of the message, in words.
        what: &'static str,
        /// The announced length in bytes.
        length: u32,
        /// The limit in bytes.
        limit: u32,
    },
    /// The peer sent a message that is not JSON, or lacks a required key.
    #[error("the other end sent {what} that cannot be read: {why}")]
    BadJson {
        /// Kind of the message, in words.
        what: &'static str,
        /// Error of the parser.
        why: String,
    },
}

fn refusal(code: ErrorCode, errno: i32, why: Option<&str>) -> String {
    match why {
        Some(why) => format!("the server refuses: {why}"),
        None if code == ErrorCode::AUTHENTICATION && errno == ErrorCode::EACCES => {
            "the server does not admit this address (its --allow, --deny)".to_owned()
        }
        None if code == ErrorCode::AUTHENTICATION && errno == ErrorCode::ENOKEY => {
            "the server admits only clients that have its key: type --key FILE".to_owned()
        }
        None => code.to_string(),
    }
}
