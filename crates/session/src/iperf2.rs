//! All that is iperf2's at a client: connections without control connection, the header, and the end
//! of UDP flows. Clients of iperf2 at a server are in [`crate::iperf3`], beside those of iperf3.

pub(crate) mod client;
