//! Writes records in every format ([`export`]), and reads records and what other programs print
//! ([`import`]). Pure: data in, text out, and the other way round; nothing is computed that is not
//! in the record.

#![forbid(unsafe_code)]

pub mod ab;
mod columns;
pub mod comparison;
pub mod copies;
pub mod diagnosis;
pub mod dut;
mod engines;
pub mod export;
pub mod folded;
pub mod grid;
mod heading;
pub mod headline;
mod histogram;
pub mod history;
pub mod host;
#[cfg(feature = "full")]
pub mod html;
pub mod import;
pub mod imported;
pub mod iperf2;
pub mod iperf3;
mod judgement;
pub mod ladder;
pub mod latency;
mod measured;
pub mod mesh;
mod notes;
mod pacing;
pub mod packets;
pub mod page;
pub mod plot;
mod rate_search;
pub mod rates;
mod results;
mod round_trips;
mod runs;
pub mod screen;
pub mod search;
pub mod status;
pub mod summary;
pub mod sweep;
pub mod tables;
pub mod terminal;
pub mod tune;
pub mod verdict;
mod width;

pub use columns::{Cell, Columns, Emphasis};
pub use histogram::Glyphs;
pub use width::Width;
