//! Runs several plans and decides from what they came to which one to run next, or puts
//! together what they came to; has records judged.

#![forbid(unsafe_code)]

mod beside;
mod diagnose;
mod engines;
mod judge;
mod latency;
mod observe;
mod repeat;

pub use diagnose::{diagnose, rules};
pub use engines::{Choice, choose_engines};
pub use judge::{attribute, judge};
pub use latency::{Beside, run_beside};
pub use observe::{Observed, run_observed};
pub use repeat::summary;
