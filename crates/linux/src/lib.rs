//! Safe wrappers of the Linux interfaces that linerate uses.
//!
//! Everything unsafe that talks to the kernel lives here, behind small types
//! whose misuse does not compile. Nothing here knows what a test is.

pub mod namespace;
pub mod netlink;
