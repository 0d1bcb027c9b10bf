//! Moves the payload: stream engines, the MPUs that run them, their counters.
//!
//! A stream is a machine with one method, [`Stream::step`], and a workload of the runtime
//! `mars`: an MPU, which is a worker thread, calls it until it would block, and the stream
//! then waits for readiness or time. Between [`Pool::start`] and [`Pool::close`] an MPU
//! allocates, locks, logs and formats nothing.

#![forbid(unsafe_code)]

mod budget;
mod control;
mod counters;
mod exchange;
mod histogram;
mod pacing;
mod pool;
mod scratch;
mod shared_resources;
mod stream;
pub mod tcp;
pub mod udp;
mod worker_state;
mod workload;

/// Width of the sequence numbers in datagrams.
pub use protocol::iperf3::CounterWidth as SequenceWidth;

pub use budget::{Budget, Goal};
pub use counters::Counters;
pub use exchange::{
    Link, MAX_PENDING_CONNECTIONS, RequesterConfig, RoundTripStatistics, accept_responder,
    connect_requester, requester, responder,
};
pub use pacing::{Batch, EndedBatch, Pacer, PacingStatistics, pacing_report};
pub use pool::{OpenStream, Pool, RuntimeStatistics};
pub use scratch::{BufferKind, BufferPlan, PayloadPattern, Scratch, segments};
pub use shared_resources::{SharedResources, preopen_devices};
pub use stream::{Step, Stream};

/// The time of the monotonic clock.
pub fn now() -> measurement::Timestamp {
    measurement::Timestamp::default().after(linux::clock::monotonic())
}
