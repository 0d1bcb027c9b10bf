//! Runs one test, as client or as server. It measures and does not judge.
//!
//! ```text
//! client::run --control connection--> protocol machine --events--> opener -> Trial -> record
//! server::Server --cookie--> one conversation per client ------------------> Trial -> log line
//! ```

#![forbid(unsafe_code)]

mod amount;
mod batches;
mod blocks;
pub mod client;
mod control;
mod cpu;
mod error;
mod host_sampler;
mod measured;
mod notes;
mod observer;
mod opening;
mod outcome;
mod preflight;
mod resolve;
mod runtime;
mod sampler;
pub mod server;
mod sockets;
mod trial;

pub use error::{SessionError, reason};
pub use observer::{Introduction, Observer};
pub use preflight::Shortage;
pub use resolve::{Family, resolve_ip};

/// What clients and servers can say to each other beside the plan.
pub use protocol::iperf3::{
    Cookie, CounterWidth, ErrorCode, OptionalParameters, Parameters, Place, ProtocolError,
    ServerOutput, Token,
};

/// The engines that a plan can name.

/// The port that servers listen on unless told otherwise.
pub use protocol::iperf3::DEFAULT_PORT;
