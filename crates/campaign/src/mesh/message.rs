//! What a coordinator and its agents tell each other: a line of JSON each.

use measurement::{Foreign, MeshReading};
use serde::{Deserialize, Serialize};

/// First message of an agent that joins a mesh by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Its number, from 1.
    pub number: u32,
    /// Name of its host.
    pub name: String,
}

/// From the coordinator to an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Answer tests: the first order.
    Begin {
        /// The key of this mesh, which clients have to show.
        key: String,
    },
    /// Test with another host.
    Test {
        /// Names this test in the answer.
        id: u64,
        /// Name of this host.
        name: String,
        /// Name of the other one.
        peer: String,
        /// Where the other one answers, e.g. `10.0.0.2:5201`: several are tested at once.
        to: Vec<String>,
        /// Whether the first of several is tested alone before.
        first_alone: bool,
        /// Seconds of each direction.
        seconds: f64,
        /// Parallel streams.
        streams: u32,
    },
    /// Tell the time.
    Clock {
        /// Names the question in the answer.
        id: u64,
    },
}

/// From an agent to the coordinator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// The agent answers tests.
    Ready {
        /// The port at which it does.
        port: u16,
        /// Its version.
        linerate: Foreign,
    },
    /// The time of the monotonic clock, in seconds.
    Clock {
        /// As in the question.
        id: u64,
        /// The time.
        seconds: f64,
    },
    /// A test has begun.
    Began {
        /// As in the order.
        id: u64,
        /// When, by the monotonic clock, in seconds.
        seconds: f64,
    },
    /// A test has ended.
    Tested {
        /// As in the order.
        id: u64,
        /// From this host to the other, and back.
        readings: Vec<MeshReading>,
    },
    /// A test has failed.
    Failed {
        /// As in the order.
        id: u64,
        /// Why.
        error: Foreign,
    },
    /// The agent cannot answer tests, and ends.
    Unable {
        /// Why.
        error: Foreign,
    },
}

/// The longest line that is read, in bytes.
pub const LONGEST_LINE: u64 = 64 * 1024;
