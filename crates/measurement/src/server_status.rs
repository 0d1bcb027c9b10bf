//! What a server answers that is asked for its tests.

use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::units::BitRate;

/// Tests that a server runs, or that wait, at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerStatus {
    /// Address and port on which the server listens.
    pub address: SocketAddr,
    /// The tests, the oldest first.
    pub tests: Vec<ServedTest>,
}

/// One test of a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServedTest {
    /// Address and port of the client's control connection.
    pub client: SocketAddr,
    /// Program of the client and its version, e.g. `iperf3 3.16`.
    pub software: String,
    /// Transport and direction, as seen from the client, and the number of streams.
    pub test: String,
    /// How far the test is.
    pub state: ServedState,
    /// Time since it began to run; none: it does not run yet.
    #[serde(rename = "seconds", with = "crate::seconds::optional")]
    pub ran: Option<Duration>,
    /// Time until its end; none: it does not run yet, or ends by an amount.
    #[serde(rename = "seconds_left", with = "crate::seconds::optional")]
    pub left: Option<Duration>,
    /// Payload bytes that the server sent and received so far.
    pub bytes: u64,
    /// Rate over the last moments, both directions together; none: it does not run yet.
    #[serde(rename = "rate_bits_per_second")]
    pub rate: Option<BitRate>,
    /// Highest rate that the server allows it; none: no limit.
    #[serde(rename = "limit_bits_per_second")]
    pub limit: Option<BitRate>,
}

/// How far a test of a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServedState {
    /// It waits for its turn.
    Waiting,
    /// Its client opens the streams.
    Opening,
    /// Its streams send and receive, or exchange their results.
    Running,
}

impl ServedState {
    /// Its name, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Opening => "opening",
            Self::Running => "running",
        }
    }
}
