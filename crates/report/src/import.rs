//! Reads what other programs print into the nouns of a record. Pure: text in, data out.

pub mod perf;
mod samples;

pub(crate) use samples::{Samples, bare_symbol};
