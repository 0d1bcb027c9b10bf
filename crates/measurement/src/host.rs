//! A host as evidence: what it has, and what it did during a test.

pub mod counter;
mod inventory;
mod series;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::profile::Profile;

pub use counter::{Counter, EachCounter, EachGauge, Family, Gauge};
pub use inventory::{
    Bus, Cache, Coalescing, ControlGroup, Cpu, Interface, Inventory, Irq, MOST_CPU, Measure, Pause,
    Pipeline, Queueing, Route, Steering,
};
pub use series::Series;

/// One host of a test: what it has, and what it counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostEvidence {
    /// Which of the hosts.
    pub role: Role,
    /// The inventory of the host.
    pub inventory: Inventory,
    /// The counters of the host during the test, on its own clock.
    pub series: Series,
    /// How its clock stands to that of the host that wrote the record; none: not known, or
    /// the same clock.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock: Option<ClockOffset>,
    /// Interfaces that carried the test, e.g. `eth0`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub interfaces: Vec<String>,
    /// CPU profile of the host. None: sampling, or reporting it, was not permitted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub profile: Option<Profile>,
    /// CPU time that the readings took, in seconds.
    #[serde(default)]
    pub cost_seconds: f64,
    /// For how long linerate there stood still while the streams went, in seconds: a thread that
    /// sleeps for moments woke late, and did not wait for a CPU either.
    #[serde(default)]
    pub still_seconds: f64,
    /// Parts that could not be read, and why.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub gaps: Vec<Gap>,
}

/// Which host of a test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The one that wrote the record.
    #[default]
    Here,
    /// The server.
    Peer,
    /// One that was watched, e.g. a router on the way, by the name that the user gave it.
    Observed(String),
}

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Gap {
    /// What, in the words of the field: `offloads of eth0`.
    pub what: String,
    /// Why: `not permitted: run it as root`.
    pub why: String,
}

/// Whether a letter shows as itself: it neither moves the cursor of a terminal, nor turns the
/// direction of what follows, nor hides.
pub fn is_shown(letter: char) -> bool {
    // Format characters (Unicode, general category Cf) and separators of lines.
    let hides = matches!(letter,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}');
    !hides && !letter.is_control()
}

/// Where another clock stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockOffset {
    /// Nanoseconds to add to a time of that clock to get one of this.
    pub add_nanos: i64,
    /// How much it may be beside that at most, in nanoseconds: half the time that question
    /// and answer took.
    pub error_nanos: u64,
}
