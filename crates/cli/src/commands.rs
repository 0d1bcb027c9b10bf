//! One module per command.

pub(crate) mod ab;
pub(crate) mod calc;
pub(crate) mod capture;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod diagnose;
pub(crate) mod explain;
#[cfg(feature = "store")]
pub(crate) mod history;
pub(crate) mod host;
pub(crate) mod import;
pub(crate) mod iperf3;
#[cfg(feature = "store")]
pub(crate) mod kept;
pub(crate) mod ladder;
pub(crate) mod latency;
pub(crate) mod man;
pub(crate) mod probe;
#[cfg(feature = "html")]
pub(crate) mod report;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod sweep;
pub(crate) mod test;
pub(crate) mod undo;
