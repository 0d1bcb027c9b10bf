//! All that is iperf2's: connections without control connection, the header, and UDP flows with their
//! end. Clients of iperf2 come to the one port of a server, whose acceptor is in `iperf3`.

pub(crate) mod client;
pub(crate) mod server;
mod udp_end;
