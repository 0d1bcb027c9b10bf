//! Moves the payload of a test: stream engines, the worker threads that run them, their
//! counters. Connections are opened, and results computed, elsewhere.
//!
//! A stream is a state machine with one method, [`Stream::step`], and a workload of the runtime
//! `mars`. An MPU, which is a worker thread, calls it until it would block; the stream then
//! waits for readiness of its socket, or for a time. Between [`Pool::start`] and
//! [`Pool::close`] an MPU allocates, locks, logs and formats nothing.

#![forbid(unsafe_code)]

mod budget;
mod bulk;
mod control;
mod counters;
mod cpu_sharing;
mod delay_variation;
mod exchange;
mod histogram;
mod pacing;
mod payload;
mod perturbed;
mod pool;
mod scratch;
mod shared_resources;
mod stream;
pub mod tcp;
mod trial;
pub mod udp;
mod worker_state;
mod worker_statistics;
mod workload;
mod zerocopy_counters;

/// The width of the sequence numbers in datagrams (docs/protocol/iperf3.md, clause 12.3).
pub use protocol::iperf3::CounterWidth as SequenceWidth;

pub use budget::{Budget, Goal};
pub use bulk::Bulk;
pub use counters::Counters;
pub use delay_variation::{VariationReading, VariationStatistics};
pub use exchange::{
    Link, MAX_PENDING_CONNECTIONS, RequesterConfig, RoundTripStatistics, accept_responder,
    bounce_responder, connect_requester, requester, responder,
};
pub use histogram::{Histogram, Reading};
pub use pacing::{Batch, EndedBatch, Pacer, PacingStatistics, pacing_report};
pub use payload::PayloadPattern;
pub use perturbed::Perturbed;
pub use pool::{OpenStream, Pool, RuntimeStatistics, Spread};
pub use scratch::{BufferKind, BufferPlan, Scratch, segments};
pub use shared_resources::{SharedResources, preopen_devices};
pub use stream::{Step, Stream};
pub use worker_statistics::WorkerStatistics;
pub use zerocopy_counters::ZerocopyCounters;

/// The time now, on the monotonic clock (`CLOCK_MONOTONIC`, clock_gettime(2)).
pub fn now() -> measurement::Timestamp {
    measurement::Timestamp::default().after(linux::clock::monotonic())
}
