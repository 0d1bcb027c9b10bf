//! The host that ran a test, and its peer.

use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The host that wrote the record, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Node name, as of uname(2).
    pub host: String,
    /// Kernel release, as of uname(2).
    pub kernel: String,
    /// Machine, as of uname(2), e.g. `riscv64`.
    pub architecture: String,
    /// CPUs that this process may use (`sched_getaffinity(2)`).
    pub cpus: u32,
    /// Start of the test in UTC, RFC 3339.
    pub started_at: String,
}

/// The other end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Peer {
    /// The software of the peer: `linerate 0.1.0`, or `iperf3` if it did not report it.
    pub software: String,
    /// Its end of the control connection.
    pub address: SocketAddr,
    /// Our end of the control connection.
    pub local_address: SocketAddr,
}

impl Peer {
    /// Whether both ends of the control connection are on one host: they have one address, or
    /// that of a loopback.
    pub fn is_on_this_host(&self) -> bool {
        let peer = self.address.ip();
        peer == self.local_address.ip() || peer.to_canonical().is_loopback()
    }
}
