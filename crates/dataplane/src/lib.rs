//! Moves the payload: stream engines, the MPUs that run them, their counters.
//!
//! A stream is a machine with one method, [`Stream::step`], and a workload of the runtime
//! `mars`: an MPU, which is a worker thread, calls it until it would block, and the stream
//! then waits for readiness or time. Between [`Pool::start`] and [`Pool::close`] an MPU
//! allocates, locks, logs and formats nothing.

#![forbid(unsafe_code)]

mod budget;
mod counters;
mod exchange;
mod histogram;
mod pacing;
mod pool;
mod running;
mod scratch;
mod station;
mod steward;
mod stream;
mod supplies;
pub mod tcp;
pub mod udp;

/// Width of the sequence numbers in datagrams.
pub use protocol::iperf3::CounterWidth as SequenceWidth;

pub use budget::{Budget, Goal};
pub use counters::Counters;
pub use exchange::{Asking, Link, MOST_CALLS, RoundTripTally, answerer, asker, callee, caller};
pub use pacing::{Batch, Ended, Pacer, PacingTally, pacing_report};
pub use pool::{OpenStream, Pool, Service};
pub use scratch::{Filling, Kind, Memory, Scratch, segments};
pub use stream::{Step, Stream};
pub use supplies::{Supplies, open_ahead};

/// The time of the monotonic clock.
pub fn now() -> measurement::Timestamp {
    measurement::Timestamp::default().after(linux::clock::monotonic())
}
