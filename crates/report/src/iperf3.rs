//! A test in the text and in the JSON of iperf3 3.21, for people and scripts that know it.
//!
//! The strings are iperf3's, and each field keeps iperf3's meaning: the bytes of a
//! sender are those handed to its socket, the datagrams of a receiver are the highest
//! sequence number it saw, and time begins anew when the omitted start ends. A caller
//! tells of a test in the order in which it goes: `contact`, `opened`, `started`,
//! `sampled` after each sample, `summary`.
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
pub use unit::{Prefix, UnitFormat, UnknownUnit};

/// The version that iperf3's users look for, and ours.
pub const VERSION: &str = concat!("iperf 3.21 (linerate ", env!("CARGO_PKG_VERSION"), ")");

/// Which end of the control connection reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It asked for the test.
    Client,
    /// It was asked.
    Server,
}

/// Both ends have agreed on a test.
#[derive(Clone, Copy, Debug)]
pub struct Contact<'a> {
    /// Which end this is.
    pub role: Role,
    /// Client: the server as the user named it. Server: the address of the client.
    pub host: &'a str,
    /// Client: the server's port. Server: the client's.
    pub port: u16,
    /// The name of the test.
    pub cookie: &'a str,
    /// Segment size that was asked for.
    pub mss_asked: Option<u32>,
    /// Segment size of the control connection.
    pub mss_default: Option<u32>,
    /// Wall clock in milliseconds since 1970.
    pub wall_millis: u64,
}

/// The peer's results.
#[derive(Clone, Copy, Debug, Default)]
pub struct PeerWord<'a> {
    /// Its streams; none: its word never came.
    pub streams: &'a [PeerStream],
    /// Its CPU use.
    pub cpu: Option<CpuUse>,
    /// Its congestion control.
    pub congestion: Option<&'a str>,
}

/// The server's output of the test.
#[derive(Clone, Copy, Debug)]
pub enum ServerSaid<'a> {
    /// Its lines.
    Text(&'a str),
    /// Its JSON object.
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
