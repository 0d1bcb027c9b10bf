//! The server's end of the dialect: which connection belongs to which test, and the test
//! itself.

pub(crate) mod acceptor;
mod admit;
mod admit_iperf2;
mod conversation;
mod extra_ports;
mod pending_connection;
mod pending_table;
mod request_cost;
mod udp_handshake;
