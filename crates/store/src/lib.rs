//! Keeps the runs of linerate ([`Store`]) in one file of SQLite: the records whole, and beside them
//! what runs are looked for by. Any number of processes may use the file at once, and a process
//! that is killed leaves every run in it whole.
//!
//! Prints nothing, reads no clock, and computes nothing from records but their main numbers.

#![forbid(unsafe_code)]

mod blob;
mod error;
mod filter;
mod keeping;
mod kept;
mod open;
mod run;
mod schema;
mod store;

pub use error::StoreError;
pub use filter::{Filter, Since, Tag};
pub use keeping::Keep;
pub use run::{About, RunId};
pub use store::Store;
