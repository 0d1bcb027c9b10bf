//! Clients of iperf2, which send to this server (docs/protocol/iperf2.md): TCP connections that
//! begin as theirs do, and UDP flows.

mod closing;
mod datagrams;
mod group;

pub(super) use closing::TCP_BLOCK;
pub(super) use datagrams::Flows;
pub(super) use group::Group;

/// How clients are called, of which there are many versions that do not tell theirs.
const SOFTWARE: &str = "iperf2";
