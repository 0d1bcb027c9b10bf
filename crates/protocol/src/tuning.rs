//! Tuning of a host by another one, sans-I/O: both ends of the connection on which `linerate tune`
//! has settings of a host changed ([`ClientSide`], [`HostSide`]). Which settings may be changed, and
//! how, is not known here.
//!
//! ```text
//!  client                                          host
//!    |--- GREETING, in place of a cookie ------------>|
//!    |<-- 1, nonce of the host -----------------------|
//!    |--- nonce of the client, proof of the key ----->|   HMAC over both nonces
//!    |<-- 1, proof of the key ------------------------|   the other label
//!    |--- length, request, code --------------------->|   HMAC with a key of this connection, over
//!    |<-- length, answer, code -----------------------|   direction, sequence number and text
//! ```
//!
//! The code is HMAC-SHA-256 (RFC 2104, FIPS 180-4). Nothing is encrypted.

pub(crate) mod channel;
mod client_side;
mod host_side;
pub(crate) mod key;
mod message;

use crate::iperf3::Cookie;

pub use channel::Broken;
pub use client_side::ClientSide;
pub use host_side::HostSide;
pub use key::{KeyError, Nonce, SharedKey};
pub use message::{Answer, MOST_SETTINGS, ReadBack, Request};

/// The first bytes of a connection, as long as a cookie and none of an iperf3: it has blanks.
pub const GREETING: [u8; Cookie::LENGTH] = *b"linerate tuning, version 1          \0";

/// Whether the first bytes of a connection are [`GREETING`].
pub fn is_greeting(cookie: &Cookie) -> bool {
    *cookie.as_bytes() == GREETING
}

/// First byte of the host's messages before the first answer; a server without tuning sends others.
const GO_ON: u8 = 1;
