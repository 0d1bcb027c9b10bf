//! Runs several plans and decides from what they came to which one to run next. It does no
//! I/O of its own: whoever starts a campaign runs the plans.

#![forbid(unsafe_code)]

mod engines;

pub use engines::{Choice, choose_engines};
