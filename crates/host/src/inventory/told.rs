//! What no file tells, but the kernel does when it is asked; a captured tree has the answers
//! in a file of its own.

use std::collections::BTreeMap;

use measurement::Gap;
use measurement::host::{Interface, Route};
use serde::{Deserialize, Serialize};

/// Answers of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Told {
    /// Node name, as of uname(2).
    pub host: String,
    /// Kernel release.
    pub kernel: String,
    /// Machine.
    pub architecture: String,
    /// What netlink and ethtool tell of each interface.
    pub interfaces: Vec<ToldInterface>,
    /// Routes.
    pub routes: Vec<Route>,
    /// RISC-V: how fast each CPU takes accesses that are not aligned.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub misaligned: BTreeMap<u32, String>,
    /// What the kernel refused.
    pub gaps: Vec<Gap>,
}

/// What is told of one interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToldInterface {
    /// Its address on the link, as sysfs writes it: `02:00:00:00:00:01`.
    pub hardware: String,
    /// The rest.
    #[serde(flatten)]
    pub interface: Interface,
}

/// Where a captured tree has the answers.
pub const PATH: &str = "linerate/told.json";
