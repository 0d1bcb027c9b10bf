//! What a mesh leaves when it has ended.

use std::time::Duration;

use analysis::mesh::{HostId, Mesh, Pair};
use measurement::BitRate;

use super::Links;

/// Verdicts by one rule on the tests of a host in one direction.
#[derive(Clone, Debug)]
pub struct Limit {
    /// The host, whether it sent, and the rule.
    pub of: (HostId, bool, String),
    /// In how many tests.
    pub count: u32,
    /// The rate of the slowest of these.
    pub slowest: BitRate,
    /// The sentence of the verdict on the slowest test.
    pub text: String,
}

/// A mesh that has ended.
#[derive(Debug)]
pub struct Ended {
    /// All results.
    pub mesh: Mesh,
    /// Rounds in which tests were run.
    pub rounds: u32,
    /// Directions of an earlier run that were not tested again.
    pub stored: u64,
    /// Longest time from the first start of a test in a round to the last.
    pub skew: Duration,
    /// Hosts whose clock is unknown: the skew is without them.
    pub without_clock: Vec<HostId>,
    /// Rates of the survey of few hosts: that from host `i` to host `j` of `n` is number `i * n + j`.
    pub rates: Vec<Option<BitRate>>,
    /// Verdicts that name a host, in the order of host, whether it sent, and rule.
    pub limits: Vec<Limit>,
    /// Why pairs without a result have none, a few of them.
    pub failures: Vec<(Pair, String)>,
    /// Rates by link, of hosts with several addresses.
    pub links: Links,
    /// Whether a signal ended it.
    pub was_interrupted: bool,
}
