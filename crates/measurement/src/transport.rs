//! What carries the payload of a test, and which way it goes.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The transport protocol of the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// One TCP connection per stream.
    Tcp,
    /// One connected UDP socket per stream.
    Udp,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
        })
    }
}

/// Which way the payload goes, seen from the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Client to server.
    Send,
    /// Server to client (iperf3's reverse).
    Receive,
    /// Both at once (iperf3's bidirectional).
    Both,
}

impl Direction {
    /// Whether the client sends.
    pub const fn sends(self) -> bool {
        matches!(self, Self::Send | Self::Both)
    }

    /// Whether the client receives.
    pub const fn receives(self) -> bool {
        matches!(self, Self::Receive | Self::Both)
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Send => "send",
            Self::Receive => "receive",
            Self::Both => "both ways",
        })
    }
}
