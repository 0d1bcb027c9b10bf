//! Options, limits, counters and log of a [`Server`](crate::Server): which clients it admits
//! ([`Order`], [`Gate`]), what a test may use ([`Limits`]), and what it reports ([`Log`],
//! [`ServerMetrics`]).

pub(crate) mod access;
pub(crate) mod admission;
pub(crate) mod capacity;
pub(crate) mod client_prefix;
pub(crate) mod concurrent_tests;
pub(crate) mod context;
pub(crate) mod cost;
pub(crate) mod deferred;
pub(crate) mod evidence;
pub(crate) mod extra_port;
pub(crate) mod fair_queue;
pub(crate) mod handshake_lock;
pub(crate) mod limits;
pub(crate) mod log;
pub(crate) mod metrics;
pub(crate) mod minded;
pub(crate) mod options;
pub(crate) mod pace;
pub(crate) mod peer_table;
pub(crate) mod progress;
pub(crate) mod proved;
pub(crate) mod rates;
pub(crate) mod registry;
pub(crate) mod setup_deadline;
pub(crate) mod shares;
pub(crate) mod shortage;
pub(crate) mod start_rate_limit;
pub(crate) mod status;
pub(crate) mod stay;
pub(crate) mod sums;
pub(crate) mod test_class;
pub(crate) mod test_id;
pub(crate) mod tuning;

pub use access::{AccessList, IpPrefix};
pub use admission::Order;
pub use evidence::Evidence;
pub use limits::{Limits, RateLimit};
pub use log::{Log, Served};
pub use metrics::{LastResult, Refusal, ServerMetrics, Snapshot};
pub use options::{Gate, OneOff, ServerOptions, SessionOptions};
pub use rates::TotalRates;
pub use status::StatusBoard;
pub use stay::Yielding;
pub use tuning::{LinkMessage, MOST_BYTES, TuningRelay};
