//! What one end reports of a test, in the same words for every program.
//!
//! Results are read from JSON here and not by `report::import`, whose faults would then hide those of
//! what linerate writes.

use std::net::IpAddr;

use crate::ask::Way;

/// Which end of the control connection reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Client,
    Server,
}

/// An amount over a time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Amount {
    /// Payload bytes; none if only the rate is reported.
    pub(crate) bytes: Option<u64>,
    /// How long they took, if that is reported.
    pub(crate) seconds: f64,
    /// Bit/s.
    pub(crate) rate: f64,
}

impl Amount {
    /// `bytes` in `seconds`.
    pub(crate) fn over(bytes: u64, seconds: f64) -> Self {
        let rate = if seconds > 0.0 { 8.0 * bytes as f64 / seconds } else { 0.0 };
        Self { bytes: Some(bytes), seconds, rate }
    }
}

/// One way of a test. What an end does not know, or repeats from the other, is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct WaySeen {
    /// Streams.
    pub(crate) streams: Option<usize>,
    /// What the sender handed to its sockets.
    pub(crate) sent: Option<Amount>,
    /// What the receiver read.
    pub(crate) received: Option<Amount>,
    /// UDP: datagrams sent.
    pub(crate) datagrams: Option<u64>,
    /// UDP: datagrams lost.
    pub(crate) lost: Option<u64>,
}

/// A whole test as one end reports it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Seen {
    pub(crate) up: Option<WaySeen>,
    pub(crate) down: Option<WaySeen>,
    /// Addresses of both ends of all streams.
    pub(crate) addresses: Vec<IpAddr>,
    /// TCP segment sizes read back.
    pub(crate) mss: Vec<u64>,
    /// Block or datagram lengths in effect.
    pub(crate) lengths: Vec<u64>,
    /// Socket buffers read back, sending and receiving ones.
    pub(crate) buffers: Vec<u64>,
    /// Why the program does not believe its own result.
    pub(crate) doubts: Vec<String>,
    /// What the program says went wrong.
    pub(crate) error: Option<String>,
}

impl Seen {
    pub(crate) fn way(&self, way: Way) -> Option<&WaySeen> {
        match way {
            Way::Up => self.up.as_ref(),
            Way::Down => self.down.as_ref(),
        }
    }

    pub(crate) fn way_mut(&mut self, way: Way) -> &mut WaySeen {
        match way {
            Way::Up => self.up.get_or_insert_default(),
            Way::Down => self.down.get_or_insert_default(),
        }
    }
}
