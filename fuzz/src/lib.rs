//! What the fuzz targets have in common: hosts that answer a machine as the program does, and
//! the promises that hold whatever a peer sends.
//!
//! A target is one file under `fuzz_targets`. CONTRIBUTING.md says how to run them.

#![forbid(unsafe_code)]

#[cfg(feature = "authentication")]
pub mod admission;
pub mod client;
mod machine;
pub mod memory;
mod script;
pub mod sequence;
pub mod server;
