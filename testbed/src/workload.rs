//! What both ends of a test are asked for, in words that every program has.

use std::fmt;
use std::net::IpAddr;

use clap::ValueEnum;

/// What a test sends: traffic, direction, streams, length and rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workload {
    /// What carries the payload, and how.
    pub traffic: Traffic,
    /// Which end sends.
    pub direction: Direction,
    /// Parallel streams, in each direction.
    pub streams: u32,
    /// Bytes of a block, of a datagram, or of a request and of a response; none: what the program
    /// takes by itself.
    pub length: Option<u32>,
    /// How fast each stream sends.
    pub rate: Rate,
}

/// The kind of traffic of a test: TCP or UDP streams, or requests and responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Streams over TCP.
    Tcp,
    /// Streams of datagrams.
    Udp,
    /// Requests and responses, one at a time.
    Exchange(Exchange),
}

/// How requests and responses are exchanged, one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Exchange {
    /// Request and response over one TCP connection
    Tcp,
    /// Request and response in datagrams
    Udp,
    /// A TCP connection for each request and response
    Connect,
}

/// Which end of a test sends, as the client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Direction {
    /// The client sends
    Send,
    /// The server sends
    Reverse,
    /// Both at the same time
    Both,
}

/// The rate at which each stream of a test sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// As fast as the program does without an option.
    Usual,
    /// As fast as it goes.
    Unlimited,
    /// Bits of payload a second.
    BitsPerSecond(u64),
}

/// The parameters of one test of one program, at both ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// The server's address.
    pub address: IpAddr,
    /// The server's port.
    pub port: u16,
    /// What is sent.
    pub workload: Workload,
    /// What ends the test.
    pub end: End,
    /// Seconds at the start that do not count.
    pub omit_seconds: u32,
    /// Congestion control of the sender of TCP; none: the host's.
    pub congestion: Option<String>,
    /// Socket buffers in bytes; none: the host's.
    pub window: Option<u64>,
    /// TCP segment size in bytes; none: the path's.
    pub mss: Option<u32>,
    /// Whether the family of the address is given as an option too.
    pub family: Family,
    /// In which form the client prints its results.
    pub output: Output,
    /// Options of the program itself, behind those of the test.
    pub flags: String,
}

/// The amount after which a test ends: time, bytes, or blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Whole seconds: iperf3 takes no others.
    Seconds(u32),
    /// Bytes over all streams of a direction.
    Bytes(u64),
    /// Blocks or datagrams over all streams of a direction.
    Blocks(u64),
}

/// How a client learns the address family of the server: from the address, or from an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// From the address alone.
    OfAddress,
    /// From an option beside it (`-4`, `-6`).
    Option,
}

/// The form in which a client prints its results: JSON or text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// As a program reads them.
    Json,
    /// As a person reads them.
    Text,
}

impl Workload {
    /// A TCP test of `streams` streams from client to server, at the rate that is the program's
    /// default.
    pub const fn tcp(streams: u32) -> Self {
        let (traffic, direction) = (Traffic::Tcp, Direction::Send);
        Self { traffic, direction, streams, length: None, rate: Rate::Usual }
    }

    /// A UDP test of one stream from client to server, with datagrams of `length` bytes of payload,
    /// as fast as possible.
    pub const fn datagrams(length: u32) -> Self {
        let (traffic, direction) = (Traffic::Udp, Direction::Send);
        Self { traffic, direction, streams: 1, length: Some(length), rate: Rate::Unlimited }
    }

    /// A test of requests and responses, one at a time, of `size` bytes each.
    pub const fn exchange(exchange: Exchange, size: u32) -> Self {
        let (traffic, direction) = (Traffic::Exchange(exchange), Direction::Both);
        Self { traffic, direction, streams: 1, length: Some(size), rate: Rate::Usual }
    }

    /// This workload in another direction.
    #[must_use]
    pub const fn towards(self, direction: Direction) -> Self {
        Self { direction, ..self }
    }
}

impl Test {
    /// A test against the server at `address` on port 5201 (that of iperf3), with JSON output and
    /// otherwise the defaults of the host.
    pub fn new(address: impl Into<IpAddr>, workload: Workload, end: End) -> Self {
        Self {
            address: address.into(),
            port: PORT,
            workload,
            end,
            omit_seconds: 0,
            congestion: None,
            window: None,
            mss: None,
            family: Family::OfAddress,
            output: Output::Json,
            flags: String::new(),
        }
    }

    /// The congestion control of the test. `None`: the host's default, or the traffic is not TCP.
    pub fn congestion(&self) -> Option<&String> {
        self.congestion.as_ref().filter(|_| self.workload.traffic == Traffic::Tcp)
    }

    /// Seconds at the start that do not count. `None`: there are none.
    pub fn omitted(&self) -> Option<u32> {
        Some(self.omit_seconds).filter(|seconds| *seconds > 0)
    }

    /// `ipv4` or `ipv6`, the client's option for the family of the server's address. Empty if the
    /// test does not ask for such an option.
    pub fn family_option(&self, ipv4: &'static str, ipv6: &'static str) -> &'static str {
        match (self.family, self.address.is_ipv4()) {
            (Family::OfAddress, _) => "",
            (Family::Option, true) => ipv4,
            (Family::Option, false) => ipv6,
        }
    }

    /// Duration of the test in seconds, including the omitted start. A test that ends by bytes or
    /// blocks has only the omitted start.
    pub fn seconds(&self) -> u32 {
        match self.end {
            End::Seconds(seconds) => seconds + self.omit_seconds,
            End::Bytes(_) | End::Blocks(_) => self.omit_seconds,
        }
    }
}

impl Direction {
    /// The element for this direction, given those for send, reverse and both.
    pub fn one_of<T>(self, [send, reverse, both]: [T; 3]) -> T {
        match self {
            Self::Send => send,
            Self::Reverse => reverse,
            Self::Both => both,
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.traffic, self.length) {
            (Traffic::Exchange(exchange), _) => return write!(f, "{exchange}"),
            (Traffic::Tcp, _) => f.write_str("TCP")?,
            (Traffic::Udp, None) => f.write_str("UDP")?,
            (Traffic::Udp, Some(length)) => write!(f, "UDP {length} B")?,
        }
        let streams = if self.streams == 1 { "stream" } else { "streams" };
        write!(f, " {}, {} {streams}", self.direction, self.streams)
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.one_of(["send", "reverse", "both"]))
    }
}

impl fmt::Display for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Connect => "connect",
        })
    }
}

/// The default port of iperf3 and linerate (docs/protocol/iperf3.md, clause 2.1).
pub const PORT: u16 = 5201;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_is_named_by_what_is_sent() {
        assert_eq!(Workload::tcp(1).to_string(), "TCP send, 1 stream");
        let both = Workload::tcp(4).towards(Direction::Both);
        assert_eq!(both.to_string(), "TCP both, 4 streams");
        assert_eq!(Workload::datagrams(64).to_string(), "UDP 64 B send, 1 stream");
        assert_eq!(Workload::exchange(Exchange::Connect, 64).to_string(), "connect");
    }
}
