//! The server's end of the dialect: which connection belongs to which test, and the test
//! itself.

pub(crate) mod acceptor;
mod admit;
mod admit_iperf2;
mod context;
mod conversation;
mod extra_ports;
mod pending_connection;
mod pending_table;
mod registry;
mod request_cost;
mod test_id;
mod udp_handshake;

pub(crate) use context::{ServerContext, canonical};
pub(crate) use registry::{ArrivalSocket, Ticket};
