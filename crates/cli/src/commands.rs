//! One module per command.

pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod iperf3;
pub(crate) mod latency;
pub(crate) mod man;
pub(crate) mod serve;
pub(crate) mod test;
