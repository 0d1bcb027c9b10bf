//! Control protocols and datagram headers, sans-I/O.
//!
//! The machines here take bytes and the time, and yield bytes and events. They
//! own no socket, clock or thread, so every order of events can be tested.

#![forbid(unsafe_code)]

pub mod iperf2;
pub mod iperf3;
pub mod keyed;
pub mod tuning;
