//! Evidence on a host of a test ([`HostEvidence`]): its inventory (hardware, settings), its
//! counters during the test, and what could not be read ([`Gap`]).

pub mod counter;
mod inventory;
mod series;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::profile::Profile;

pub use counter::{Counter, EachCounter, EachGauge, Family, Gauge};
pub use inventory::{
    Bus, Cache, Coalescing, ControlGroup, Cpu, Interface, Inventory, Irq, MOST_CPU, Measure,
    MemoryModule, Pause, Pipeline, Policer, Queueing, QueueingClass, Route, Steering,
};
pub use series::Series;

/// Largest number of hosts of one test. More would take a judge, which holds each against each other, much
/// time.
pub const MOST_HOSTS: usize = 64;

/// Reads the hosts of a record.
pub(crate) fn deserialize_all<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<HostEvidence>, D::Error> {
    let hosts = Vec::<HostEvidence>::deserialize(deserializer)?;
    if hosts.len() > MOST_HOSTS {
        return Err(D::Error::custom("more hosts than a test has"));
    }
    Ok(hosts)
}

/// Evidence on one host of a test: inventory, and counters during the test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostEvidence {
    /// Role of the host in the test.
    pub role: Role,
    /// The inventory of the host.
    pub inventory: Inventory,
    /// Counters of the host during the test, with times on its own clock.
    pub series: Series,
    /// Offset from the clock of the host to that of the host that wrote the record; none: not
    /// known, or the same clock.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock: Option<ClockOffset>,
    /// Names of the interfaces that carried the test, e.g. `eth0`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub interfaces: Vec<String>,
    /// CPU profile of the host. None: sampling, or reporting it, was not permitted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub profile: Option<Profile>,
    /// CPU time that the watching thread took, in seconds: its set-up, its samples and the inventory.
    pub cost_seconds: f64,
    /// CPU time that it took after the test to resolve the symbols of the profile, in seconds.
    pub resolving_seconds: f64,
    /// Time for which the process of linerate on that host was stopped while streams ran, in
    /// seconds: a thread woke late from a short sleep, but did not wait for a CPU.
    pub still_seconds: f64,
    /// Time for which a thread of linerate on that host that napped was late while streams ran, in
    /// seconds, as it waited for a CPU: a quota holds it back, or CPUs are full.
    pub held_seconds: f64,
    /// What could not be read, with the reasons.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub gaps: Vec<Gap>,
}

/// Role of a host in a test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The host that wrote the record.
    #[default]
    Here,
    /// The host of the server.
    Peer,
    /// A further host that was watched, e.g. a router on the path, by the name that the user gave
    /// it.
    Observed(String),
}

/// A source of evidence on a host that could not be read, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gap {
    /// The source in words: `offloads of eth0`.
    pub what: String,
    /// The reason, with a remedy if there is one: `not permitted: run it as root`.
    pub why: String,
}

/// Offset between the monotonic clocks of two hosts: the one that wrote the record, and another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockOffset {
    /// Nanoseconds to add to a time of the other host to get a time of the host that wrote the
    /// record.
    pub add_nanos: i64,
    /// Maximum error of the offset in nanoseconds: half of the round-trip time of the messages that
    /// compared the clocks.
    pub error_nanos: u64,
}
