//! Arithmetic of packets: what a rate, an MTU and headers come to in frames, pages, fragments and
//! payload. No measurement: the numbers are ceilings, which `linerate calc` prints.

use std::fmt;

mod fragments;
mod goodput;
mod headers;
mod packets;
mod segmentation;

pub use fragments::{Fragments, MAX_SKB_FRAGS};
pub use goodput::Goodput;
pub use headers::{Headers, Mtu, Network, Transport, Tunnel};
pub use packets::{Layer, Packets};
pub use segmentation::{GSO_LEGACY_MAX_SIZE, GSO_MAX_SIZE, Segmentation};

/// Numbers that cannot go together, e.g. an MTU without room for the headers. One sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impossible(String);

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Impossible {}
