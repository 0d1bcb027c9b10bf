//! Why a trial cannot run.

use std::io;
use std::net::IpAddr;

/// An error of this crate: what failed, on what, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PacketError {
    /// There is no such interface.
    #[error("there is no interface {0}: see linerate host")]
    NoInterface(String),
    /// The interface is down.
    #[error("interface {0} is down: ip link set {0} up")]
    Down(String),
    /// The interface has no carrier.
    #[error("interface {0} has no carrier: is the other end of its link up?")]
    NoCarrier(String),
    /// Another program has the interface.
    #[error(
        "{0} has an XDP program or socket of another process: is another linerate running there?"
    )]
    Busy(String),
    /// The interface was removed, or is another one of that name.
    #[error("interface {0} was removed in the middle")]
    Removed(String),
    /// The interface is no Ethernet device.
    #[error("interface {0} has no Ethernet address: choose an Ethernet interface")]
    NotEthernet(String),
    /// The kernel did not tell of interfaces.
    #[error("cannot read the interfaces")]
    Inspect(#[source] io::Error),
    /// Nobody answered for an address.
    #[error("no answer from {address} on {interface}: check the address, or give its MAC address")]
    Unresolved {
        /// The address that was asked for.
        address: IpAddr,
        /// The interface on which it was.
        interface: String,
    },
    /// A frame cannot hold what a trial needs in it.
    #[error("a frame of {size} bytes is too small: the smallest of these has {least}")]
    TooSmall {
        /// Size with the checksum of the frame, in bytes.
        size: usize,
        /// The smallest possible, in bytes.
        least: usize,
    },
    /// A frame is longer than the interface sends.
    #[error("a frame of {size} bytes exceeds the MTU of {interface}, {mtu}: choose a smaller one")]
    TooLarge {
        /// Size with the checksum of the frame, in bytes.
        size: usize,
        /// The interface.
        interface: String,
        /// Its MTU in bytes.
        mtu: u32,
    },
    /// Source and destination are of different families of addresses.
    #[error("{0} and {1} are not both IPv4 or IPv6: choose addresses of one family")]
    Families(IpAddr, IpAddr),
    /// No engine can send, or receive, on the interface.
    #[error("cannot open {interface} for frames (it takes CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF)")]
    Open {
        /// The interface.
        interface: String,
        /// The error of the last engine.
        #[source]
        source: io::Error,
    },
    /// No program can make frames for the interface.
    #[error("XDP cannot make frames for {interface}: choose another --engine")]
    Live {
        /// The interface.
        interface: String,
        /// The reason.
        #[source]
        source: io::Error,
    },
    /// Sending or receiving failed during a trial.
    #[error("the trial on {interface} ended early")]
    Trial {
        /// The interface.
        interface: String,
        /// The error of the kernel.
        #[source]
        source: io::Error,
    },
}

impl PacketError {
    /// Whether what was asked for cannot be, whatever the state of the host.
    pub const fn is_of_the_request(&self) -> bool {
        matches!(
            self,
            Self::NoInterface(_)
                | Self::NotEthernet(_)
                | Self::TooSmall { .. }
                | Self::TooLarge { .. }
                | Self::Families(..)
        )
    }
}
