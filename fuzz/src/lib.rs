//! Everything that a peer can send, given to the code that reads it.
//!
//! A target is one file under `targets` with a line in [`TARGETS`]: a function of bytes that panics
//! if a promise of SECURITY.md is broken. `tests/short.rs` gives it the corpus and changed inputs of the
//! corpus; `main.rs` gives it what libFuzzer finds. CONTRIBUTING.md says how to run both.

#![forbid(unsafe_code)]

mod admission;
mod client;
mod machine;
mod memory;
mod script;
mod sequence;
mod server;
mod targets;

pub use targets::{TARGETS, Target};
