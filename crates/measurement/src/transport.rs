//! What carries the payload of a test, and which way it goes.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The transport protocol of the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// Direction of the payload, as seen from the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the client to the server.
    Send,
    /// From the server to the client (`--reverse` of iperf3).
    Receive,
    /// Both directions at the same time (`--bidir` of iperf3).
    Both,
}

impl Direction {
    /// Whether the client sends payload.
    pub const fn sends(self) -> bool {
        matches!(self, Self::Send | Self::Both)
    }

    /// Whether the client receives payload.
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
