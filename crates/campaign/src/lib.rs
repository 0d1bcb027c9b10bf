//! Runs several plans and decides from what they came to which one to run next, or puts
//! together what they came to.

#![forbid(unsafe_code)]

mod engines;
mod latency;

pub use engines::{Choice, choose_engines};
pub use latency::{Beside, run_beside};
