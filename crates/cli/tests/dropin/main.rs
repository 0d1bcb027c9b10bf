//! The drop-in: each flag of iperf3 has the effect that iperf3's users expect.
//!
//! What a flag does is read where it shows: in the kernel's tables of sockets, in the
//! packets of a capture, in files, on a clock. That a flag is taken proves nothing.
//! What a test needs and the system does not have, it reports as skipped. The table of
//! `docs/iperf3.md` names these tests flag by flag, and one of them holds it to that.

#![forbid(unsafe_code)]

#[path = "../support/mod.rs"]
mod shared;

mod addresses;
mod amounts;
#[cfg(feature = "full")]
mod authentication;
mod capture;
mod documentation;
mod engines;
mod evidence;
mod failures;
mod json;
mod limits;
mod output;
mod packets;
mod peer;
mod processes;
mod segmentation;
mod server;
mod signals;
mod sockets;
mod support;
mod timeouts;
mod usage;
