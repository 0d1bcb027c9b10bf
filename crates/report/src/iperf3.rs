//! Reports a test as the text and the JSON of iperf3 3.21, for people and scripts that read those.
//!
//! The strings are iperf3's, and each field keeps iperf3's meaning: the bytes of a
//! sender are those handed to its socket, the datagrams of a receiver are the highest
//! sequence number it saw, and time begins anew when the omitted start ends. A caller calls
//! the methods in the order of a test: `contact`, `opened`, `started`, `sampled` after each
//! sample, `summary`.
//!
//! Where 3.21 errs, this does not:
//!
//! - No key stands twice in one object (`error`; a server's `target_bitrate`).
//! - No number is `nan`: an amount over no time is a rate of zero.
//! - The times of a direction are those of its own streams, also where both ends send.
//! - A server's UDP streams have a `lost_percent`, of what it received.
//! - `seconds` is `end` less `start` in every summary.

use measurement::outcome::CpuUse;
use measurement::record::PeerStream;

mod date;
mod figures;
mod json;
mod number;
mod text;
mod tree;
mod unit;

pub use json::Json;
pub use text::Text;
pub use tree::{Tree, event, line, pretty};
pub(crate) use unit::amount;
pub use unit::{Prefix, UnitFormat, UnknownUnit};

/// The version in output in iperf3's format: the iperf3 that linerate imitates, and linerate's own
/// version.
pub const VERSION: &str = concat!("iperf 3.21 (linerate ", env!("CARGO_PKG_VERSION"), ")");

/// The end of the control connection that reports a test: client or server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The client, which requested the test.
    Client,
    /// The server, which accepted the test.
    Server,
}

/// The two ends of a test and what they agreed on, for output in iperf3's format.
#[derive(Clone, Copy, Debug)]
pub struct Contact<'a> {
    /// The end that reports.
    pub role: Role,
    /// Client: the server as the user named it. Server: the address of the client.
    pub host: &'a str,
    /// Client: the server's port. Server: the client's.
    pub port: u16,
    /// The cookie of the test, as the client sent it.
    pub cookie: &'a str,
    /// Requested segment size in bytes (`--set-mss`); none: not requested.
    pub mss_asked: Option<u32>,
    /// Segment size of the control connection in bytes (`TCP_MAXSEG`, tcp(7)); none: not known.
    pub mss_default: Option<u32>,
    /// Wall clock time at the agreement, in milliseconds since 1970.
    pub wall_millis: u64,
}

/// Results of a test that the peer sent at its end, for output in iperf3's format.
#[derive(Clone, Copy, Debug, Default)]
pub struct PeerResults<'a> {
    /// Results of each stream; empty: the peer sent none.
    pub streams: &'a [PeerStream],
    /// CPU use of the peer; none: not sent.
    pub cpu: Option<CpuUse>,
    /// Congestion control of the peer's TCP streams; none: not sent.
    pub congestion: Option<&'a str>,
}

/// The output of a server, which it sends to a client that asks for it with `--get-server-output`.
#[derive(Clone, Copy, Debug)]
pub enum ServerOutput<'a> {
    /// Lines of text, as the server prints them without `--json`.
    Text(&'a str),
    /// The JSON object, of a server with `--json`.
    Json(&'a serde_json::Value),
}

/// The file that is sent, or written.
#[derive(Clone, Debug)]
struct DiskFile {
    name: String,
    size: u64,
}

impl DiskFile {
    /// `bytes` as a share of the file in whole percent; nothing is all of an empty file.
    fn percent(&self, bytes: u64) -> u64 {
        (u128::from(bytes) * 100)
            .checked_div(u128::from(self.size))
            .map_or(100, |percent| u64::try_from(percent).unwrap_or(u64::MAX))
    }
}

/// IPv4 addresses that a dual-stack socket shows as IPv6 ones are shown as they are.
fn without_mapping(host: &str) -> &str {
    host.strip_prefix("::ffff:").unwrap_or(host)
}
