//! Moves the payload: stream engines, the workers that drive them, their counters.
//!
//! A stream is a machine with one method, [`Stream::step`]. A worker thread calls
//! it until it would block, then waits for readiness or time. Between
//! [`Pool::start`] and [`Pool::close`] a worker allocates, locks, logs and formats
//! nothing.

#![forbid(unsafe_code)]

mod budget;
mod counters;
mod pacing;
mod pool;
mod punctuality;
mod scratch;
mod stream;
pub mod tcp;
pub mod udp;
mod worker;

pub use budget::{Budget, Goal};
pub use counters::Counters;
pub use pacing::{Batch, Ended, Pacer, PacingTally, pacing_report};
pub use pool::{OpenStream, Pool};
pub use scratch::{Filling, Kind, Memory, Scratch, segments};
pub use stream::{Step, Stream};

/// The time of the monotonic clock.
pub fn now() -> measurement::Timestamp {
    measurement::Timestamp::default().after(linux::clock::monotonic())
}
