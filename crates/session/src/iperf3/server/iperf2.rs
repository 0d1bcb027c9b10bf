//! Clients of iperf2 (docs/protocol/iperf2.md): TCP connections that begin as theirs do, on which this
//! server receives or sends, and UDP flows, which it receives.

mod answering;
mod closing;
mod datagrams;
mod group;
mod sending;

pub(super) use closing::TCP_BLOCK;
pub(super) use datagrams::Flows;
pub(super) use group::{Connection, Group, Kind};

/// How often it is looked whether a test may go on.
const LOOK: std::time::Duration = std::time::Duration::from_millis(100);
/// Longest time from the header of a client to its payload.
const FIRST: std::time::Duration = std::time::Duration::from_secs(10);
/// How clients are called, of which there are many versions that do not tell theirs.
const SOFTWARE: &str = "iperf2";

fn failed(why: &str) -> measurement::outcome::Ending {
    measurement::outcome::Ending::Failed { error: why.to_owned() }
}
