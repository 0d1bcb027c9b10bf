//! iperf2's protocol: what a TCP connection begins with, and UDP flows to a server with the report at
//! their end.
//!
//! No RFC describes it; `docs/protocol/iperf2.md` does, and comments here quote its clauses.

mod back;
mod bounce;
mod client_header;
mod flow_start;
mod opening;
mod report;
mod sequence;
mod server_version;
mod transit;
mod write_marks;

pub use back::{Back, BackWay};
pub use bounce::Bounce;
pub use client_header::{ClientHeader, DatagramSettings, HeaderAmount, HeaderWay};
pub use flow_start::{FlowDatagram, FlowStart};
pub use opening::{Asks, Opening, Settings};
pub use report::ServerReport;
pub use sequence::{Datagram, SequenceWidth};
pub use server_version::end_for_old_server;
pub use transit::{Transit, Transits};
pub use write_marks::WriteMarks;

/// The port on which iperf2 servers listen by default (clause 2.1 of docs/protocol/iperf2.md).
pub const DEFAULT_PORT: u16 = 5001;

/// The big-endian word at `at`; none: the bytes end before.
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}
