//! The host that wrote a record ([`Environment`]: name, kernel, CPUs, start of the test) and the
//! peer of the test ([`Peer`]: software, addresses).

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// The host that wrote a record (name, kernel, architecture, CPUs), and the start of the test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Environment {
    /// Node name (`nodename` of uname(2)).
    pub host: String,
    /// Kernel release (`release` of uname(2)).
    pub kernel: String,
    /// Architecture (`machine` of uname(2)), e.g. `riscv64`.
    pub architecture: String,
    /// Number of CPUs that this process may use (sched_getaffinity(2)).
    pub cpus: u32,
    /// Start of the test in UTC, RFC 3339.
    pub started_at: String,
}

/// The peer of a test: software and addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Peer {
    /// The software of the peer: `linerate 0.1.0`, or `iperf3` if it did not report it.
    pub software: String,
    /// Address and port of the peer on the control connection.
    pub address: SocketAddr,
    /// Address and port of this end on the control connection.
    pub local_address: SocketAddr,
}

impl Peer {
    /// Whether both ends are on one host: the addresses of the control connection are equal, or
    /// loopback addresses.
    pub fn is_on_this_host(&self) -> bool {
        let peer = self.address.ip();
        peer == self.local_address.ip() || peer.to_canonical().is_loopback()
    }
}
