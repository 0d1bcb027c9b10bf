//! What a client is asked to do, and what that promises.

use std::net::IpAddr;
use std::time::Duration;

use testbed::workload::{Family as Named, Rate, Test, Traffic, Workload};

pub(crate) use testbed::workload::{Direction, End};

/// What carries the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Tcp,
    Udp,
}

/// One way of the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Client to server.
    Up,
    /// Server to client.
    Down,
}

impl Way {
    pub(crate) const ALL: [Self; 2] = [Self::Up, Self::Down];
}

/// The ways that a test of this direction has.
pub(crate) const fn ways(direction: Direction) -> &'static [Way] {
    match direction {
        Direction::Send => &[Way::Up],
        Direction::Reverse => &[Way::Down],
        Direction::Both => &Way::ALL,
    }
}

/// The network protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Ipv4,
    Ipv6,
}

/// One test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) transport: Transport,
    pub(crate) direction: Direction,
    pub(crate) streams: u32,
    pub(crate) family: Family,
    pub(crate) end: End,
    pub(crate) omit_seconds: u32,
    /// Bit/s of payload for each stream.
    pub(crate) rate: Option<u64>,
    /// Socket buffer in bytes.
    pub(crate) window: Option<u64>,
    /// TCP segment size in bytes.
    pub(crate) mss: Option<u32>,
    /// Bytes of a block or datagram.
    pub(crate) length: Option<u32>,
}

impl Ask {
    /// The least test: one second of one stream over IPv4, UDP at a moderate rate.
    pub(crate) fn new(transport: Transport, direction: Direction) -> Self {
        Self {
            transport,
            direction,
            streams: 1,
            family: Family::Ipv4,
            end: End::Seconds(1),
            omit_seconds: 0,
            rate: (transport == Transport::Udp).then_some(TOTAL_UDP_RATE),
            window: None,
            mss: None,
            length: None,
        }
    }

    /// The test that programs of the testbed take.
    pub(crate) fn test(&self, server: IpAddr) -> Test {
        let Self { direction, streams, length, .. } = *self;
        let traffic = match self.transport {
            Transport::Tcp => Traffic::Tcp,
            Transport::Udp => Traffic::Udp,
        };
        let rate = self.rate.map_or(Rate::Usual, Rate::BitsPerSecond);
        let workload = Workload { traffic, direction, streams, length, rate };
        Test {
            omit_seconds: self.omit_seconds,
            window: self.window,
            mss: self.mss,
            family: Named::Option,
            ..Test::new(server, workload, self.end)
        }
    }

    /// Bytes that each way has to carry, if that is what ends the test.
    pub(crate) fn bytes(&self) -> Option<u64> {
        match (self.end, self.length) {
            (End::Bytes(bytes), _) => Some(bytes),
            (End::Blocks(blocks), Some(length)) => Some(blocks * u64::from(length)),
            _ => None,
        }
    }

    /// Seconds that the result has to cover, if that is what ends the test.
    pub(crate) const fn seconds(&self) -> Option<u32> {
        match self.end {
            End::Seconds(seconds) => Some(seconds),
            _ => None,
        }
    }

    /// Bit/s of all streams of one way together.
    pub(crate) fn total_rate(&self) -> Option<u64> {
        self.rate.map(|rate| rate * u64::from(self.streams))
    }

    /// How long the client may take before it counts as stuck.
    pub(crate) fn patience(&self) -> Duration {
        let planned = self.seconds().unwrap_or(1) + self.omit_seconds;
        Duration::from_secs(u64::from(planned)) + LONGEST_EXCHANGE
    }
}

/// What all UDP streams of one way carry together where the test is not about the rate.
pub(crate) const TOTAL_UDP_RATE: u64 = 50_000_000;
/// Everything of a test but its payload, on a machine that is busy.
const LONGEST_EXCHANGE: Duration = Duration::from_secs(8);
