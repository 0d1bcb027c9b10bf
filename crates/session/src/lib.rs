//! Runs one test, as client or as server. It measures and does not judge.
//!
//! ```text
//! client::run --control connection--> protocol machine --events--> opener -> Trial -> record
//! Server ------cookie------> one conversation per client ------------------> Trial -> log line
//! ```

#![forbid(unsafe_code)]

mod amount;
mod batches;
mod blocks;
mod bulk;
pub mod client;
mod clock;
mod connect;
mod control;
mod cpu;
mod error;
mod host_sampler;
mod iperf2;
mod iperf3;
mod keyed;
mod listener;
mod measured;
mod notes;
mod observer;
mod preflight;
mod record;
mod request;
mod resolve;
mod runtime;
mod sampler;
pub mod sealed;
pub mod server;
mod setting;
mod socket_options;
mod sockets;
mod spec;
mod spread;
mod trial;
pub mod tuning;

pub use error::{SessionError, reason};
pub use listener::Server;
pub use observer::{Glimpse, Introduction, Observer};
pub use preflight::{Shortage, has_few_files, stream_memory};
pub use resolve::{Family, resolve_ip};

/// Types of the protocol that options of clients and servers contain.
pub use protocol::iperf3::{
    Cookie, CounterWidth, ErrorCode, OptionalParameters, Parameters, ProtocolError, QueuePlace,
    ServerOutput, Token,
};

/// The port on which servers listen by default.
pub use protocol::iperf3::DEFAULT_PORT;
