//! What one end of a test runs, whichever dialect the ends agreed in. No protocol.

use dataplane::udp::DatagramHeader;
use measurement::{ByteSize, TestPlan};

/// The agreed work of one test. Everything below the control connection reads this and
/// nothing of the dialect.
#[derive(Clone, Debug)]
pub(crate) struct RunSpec {
    /// The plan in effect, engines included.
    pub(crate) plan: TestPlan,
    /// Length of a block, or of a datagram's payload, on which both ends agreed.
    pub(crate) block: ByteSize,
    /// Header of datagrams.
    pub(crate) header: DatagramHeader,
}

/// What a sender reports as sent on one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// The stream.
    pub(crate) id: u32,
    /// Payload bytes handed to the socket.
    pub(crate) bytes: u64,
    /// Last sequence number sent.
    pub(crate) datagrams: u64,
}
