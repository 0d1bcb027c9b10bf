//! What every program of a row is asked for.

use std::fmt;

use clap::ValueEnum;

/// What is sent, and which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bench) struct Workload {
    /// Parallel streams, in each direction.
    pub(in crate::bench) streams: u32,
    /// Who sends.
    pub(in crate::bench) direction: Direction,
    /// Bytes of the datagrams that are sent; none: it is TCP.
    pub(in crate::bench) length: Option<u32>,
}

/// Who sends, as the client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::bench) enum Direction {
    /// The client sends
    Send,
    /// The server sends
    Reverse,
    /// Both at the same time
    Both,
}

impl Workload {
    /// TCP from the client.
    pub(in crate::bench) fn tcp(streams: u32) -> Self {
        Self { streams, direction: Direction::Send, length: None }
    }

    /// One stream of datagrams of so many bytes from the client.
    pub(in crate::bench) fn datagrams(length: u32) -> Self {
        Self { streams: 1, direction: Direction::Send, length: Some(length) }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.length {
            None => f.write_str("TCP")?,
            Some(length) => write!(f, "UDP {length} B")?,
        }
        let streams = if self.streams == 1 { "stream" } else { "streams" };
        write!(f, " {}, {} {streams}", self.direction, self.streams)
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Send => "send",
            Self::Reverse => "reverse",
            Self::Both => "both",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_is_named_by_what_is_sent() {
        assert_eq!(Workload::tcp(1).to_string(), "TCP send, 1 stream");
        let both = Workload { direction: Direction::Both, ..Workload::tcp(4) };
        assert_eq!(both.to_string(), "TCP both, 4 streams");
        assert_eq!(Workload::datagrams(64).to_string(), "UDP 64 B send, 1 stream");
    }
}
