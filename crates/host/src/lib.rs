//! Reads a host: its configuration ([`inventory`]) and its counters ([`collectors`]), live or from
//! a captured tree, i.e. a copy of the files below `/proc` and `/sys`. Measures how it copies memory
//! ([`copies`]). Changes its settings and takes the changes back ([`tuning`]).
//!
//! All files are read below a root, so that a captured tree reads as `/` did. This crate does
//! not judge what it reads; nothing but [`tuning`] changes anything on the host.

#![forbid(unsafe_code)]

pub mod capture;
pub mod collectors;
pub mod copies;
mod egress;
pub mod inventory;
mod peer_evidence;
mod profile;
mod reading;
mod source;
mod subject;
mod tree;
pub mod tuning;
mod watch;

pub use egress::{interfaces_towards, interfaces_with_links, leaves_by_memory};
pub use peer_evidence::{limit_size, limit_to_test};
pub use profile::PerfAccess;
pub use reading::Reading;
pub use subject::Subject;
pub use tree::{Archive, Tree, TreeEntry};
pub use watch::Watch;
