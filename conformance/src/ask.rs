//! What a client is asked to do, in words that every program has.

use std::time::Duration;

/// What carries the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Tcp,
    Udp,
}

/// Which way the payload goes in a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Reverse,
    Bidir,
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

impl Direction {
    /// The ways that a test of this direction has.
    pub(crate) const fn ways(self) -> &'static [Way] {
        match self {
            Self::Forward => &[Way::Up],
            Self::Reverse => &[Way::Down],
            Self::Bidir => &Way::ALL,
        }
    }
}

/// The network protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Ipv4,
    Ipv6,
}

/// What ends a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Whole seconds: iperf3 takes no others.
    Seconds(u32),
    /// Bytes over all streams of a direction.
    Bytes(u64),
    /// Blocks or datagrams over all streams of a direction.
    Blocks(u64),
}

/// One test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) transport: Transport,
    pub(crate) direction: Direction,
    pub(crate) streams: u16,
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
    pub(crate) length: Option<u64>,
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

    /// Bytes that each way has to carry, if that is what ends the test.
    pub(crate) fn bytes(&self) -> Option<u64> {
        match (self.end, self.length) {
            (End::Bytes(bytes), _) => Some(bytes),
            (End::Blocks(blocks), Some(length)) => Some(blocks * length),
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
