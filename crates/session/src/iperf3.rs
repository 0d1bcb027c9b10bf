//! The dialect of iperf3 and of linerate's extensions: everything around a test that its
//! control connection, its cookies and its hellos decide. What runs below it ([`crate::trial`],
//! [`crate::sockets`]) knows a [`crate::spec::RunSpec`] and nothing of this.

pub(crate) mod client;
mod machine;
pub(crate) mod opening;
pub(crate) mod results;
pub(crate) mod server;

/// Ports that a server opens for one test beside its own, at most (clause 13.15).
pub(crate) const MOST_EXTRA_PORTS: u8 = protocol::iperf3::MOST_FURTHER_PORTS;
