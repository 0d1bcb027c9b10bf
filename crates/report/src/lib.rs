//! Renders records. Pure: data in, text out; nothing is computed that is not in the
//! record.

#![forbid(unsafe_code)]

mod columns;
mod engines;
pub mod iperf3;
pub mod json;
mod pacing;
mod round_trips;
pub mod terminal;

pub use columns::{Cell, Columns, Emphasis};
