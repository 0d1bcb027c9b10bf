//! This machine as evidence: what it has (`inventory`) and what it counts (`collectors`).
//!
//! Everything is read below a root, so that a captured tree tells as much as `/` did.
//! It reads and does not judge; nothing here changes the host.

#![forbid(unsafe_code)]

pub mod capture;
pub mod collectors;
mod discretion;
mod egress;
pub mod inventory;
mod profile;
mod reading;
mod source;
mod subject;
mod tree;
mod watch;

pub use discretion::{for_a_peer, for_the_way};
pub use egress::{interfaces_towards, interfaces_with_links};
pub use profile::Vantage;
pub use reading::Reading;
pub use subject::Subject;
pub use tree::{Archive, Entry, Tree};
pub use watch::Watch;
