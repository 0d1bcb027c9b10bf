//! The headers of a packet, from the Ethernet frame to the payload.

use std::fmt;
use std::str::FromStr;

use super::Impossible;
use measurement::units::group_thousands;

/// The MTU of an interface: bytes of an IP packet, headers included, 68 to 65,535 (RFC 791).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mtu(u32);

/// The headers of a packet beside the Ethernet header: VLAN tags, a tunnel, IP and TCP or UDP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    /// VLAN tags in each frame (IEEE 802.1Q), 0 to 2. The MTU does not count them.
    pub vlan_tags: u8,
    /// The tunnel in which packets go; none: they go in none.
    pub tunnel: Option<Tunnel>,
    /// IP of the tunnel's own packets.
    pub outer: Network,
    /// IP of the packets with the payload.
    pub network: Network,
    /// The transport protocol of the payload.
    pub transport: Transport,
}

/// Internet Protocol, without options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// IPv4: 20 bytes (RFC 791).
    #[default]
    Ipv4,
    /// IPv6: 40 bytes (RFC 8200).
    Ipv6,
}

/// The transport protocol of the payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// TCP with timestamps, as Linux has it unless tcp_timestamps is 0: 32 bytes (RFC 7323).
    #[default]
    Tcp,
    /// TCP without options: 20 bytes (RFC 9293).
    TcpWithoutTimestamps,
    /// UDP: 8 bytes (RFC 768).
    Udp,
}

/// A tunnel that carries packets in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tunnel {
    /// Ethernet frames in UDP: 50 bytes over IPv4 (RFC 7348).
    Vxlan,
    /// WireGuard: UDP, 16 bytes of header and a tag of 16 (J. Donenfeld: WireGuard, section 5.4.6).
    WireGuard,
    /// IPsec ESP in tunnel mode with AES-GCM and a tag of 16 bytes (RFC 4303, RFC 4106).
    Esp,
}

impl Mtu {
    /// Makes an MTU of a number of bytes.
    ///
    /// # Errors
    /// It is out of range.
    pub fn new(bytes: u32) -> Result<Self, Impossible> {
        if (LEAST..=MOST).contains(&bytes) {
            return Ok(Self(bytes));
        }
        let most = group_thousands(MOST.into());
        Err(Impossible(format!("an MTU cannot be '{bytes}': choose {LEAST} to {most} bytes")))
    }

    /// The number of bytes.
    pub const fn bytes(self) -> u32 {
        self.0
    }
}

impl FromStr for Mtu {
    type Err = Impossible;

    fn from_str(text: &str) -> Result<Self, Impossible> {
        let wrong = || Impossible(format!("'{text}' is not an MTU: type bytes, such as 1500"));
        Self::new(text.parse().map_err(|_| wrong())?)
    }
}

impl Headers {
    /// Payload bytes of a full packet of this MTU: the MSS of TCP.
    ///
    /// # Errors
    /// The headers leave no room for payload.
    pub fn payload(self, mtu: Mtu) -> Result<u32, Impossible> {
        let inner = self.tunnel.map_or(Some(mtu.0), |tunnel| tunnel.inner(mtu.0, self.outer));
        let left = inner
            .and_then(|inner| inner.checked_sub(self.network.header() + self.transport.header()));
        left.filter(|left| *left > 0).ok_or_else(|| {
            Impossible(format!("an MTU of {} leaves no room behind the headers {self}", mtu.0))
        })
    }

    /// Bytes of a full frame of this MTU, with the Ethernet header, VLAN tags and the frame check
    /// sequence (IEEE 802.3, clause 3).
    pub(super) fn frame(self, mtu: Mtu) -> u32 {
        mtu.0 + ETHERNET + self.vlan_tags() + CHECK_SEQUENCE
    }

    /// Bytes of a full frame in the memory of a host: without the frame check sequence.
    pub(super) fn buffer(self, mtu: Mtu) -> u32 {
        mtu.0 + ETHERNET + self.vlan_tags()
    }

    fn vlan_tags(self) -> u32 {
        u32::from(self.vlan_tags) * VLAN_TAG
    }
}

impl Network {
    const fn header(self) -> u32 {
        match self {
            Self::Ipv4 => 20,
            Self::Ipv6 => 40,
        }
    }
}

impl Transport {
    const fn header(self) -> u32 {
        match self {
            // Ten bytes of option and two that align them (RFC 7323, appendix A).
            Self::Tcp => 20 + 12,
            Self::TcpWithoutTimestamps => 20,
            Self::Udp => UDP,
        }
    }
}

impl Tunnel {
    /// The longest IP packet that the tunnel carries in a packet of `mtu` bytes. None: none.
    fn inner(self, mtu: u32, outer: Network) -> Option<u32> {
        let room = mtu.checked_sub(outer.header())?;
        match self {
            Self::Vxlan => room.checked_sub(UDP + 8 + ETHERNET),
            Self::WireGuard => room.checked_sub(UDP + 16 + 16),
            // Header 8, vector 8, tag 16; what is encrypted ends in two bytes, and at a multiple
            // of four (RFC 4303, section 2.4).
            Self::Esp => (room.checked_sub(8 + 8 + 16)? / 4 * 4).checked_sub(2),
        }
    }
}

impl fmt::Display for Headers {
    /// From the outside in: `vlan+vxlan+ipv6+tcp`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tags = std::iter::repeat_n("vlan", self.vlan_tags.into());
        let outer = self.tunnel.map(|_| self.outer.name()).filter(|_| self.outer != self.network);
        let tunnel = self.tunnel.map(Tunnel::name);
        let inner = [self.network.name(), self.transport.name()];
        let names: Vec<_> = tags.chain(outer).chain(tunnel).chain(inner).collect();
        f.pad(&names.join("+"))
    }
}

impl Network {
    const fn name(self) -> &'static str {
        match self {
            Self::Ipv4 => "ipv4",
            Self::Ipv6 => "ipv6",
        }
    }
}

impl Transport {
    const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::TcpWithoutTimestamps => "tcp-no-timestamps",
            Self::Udp => "udp",
        }
    }
}

impl Tunnel {
    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vxlan => "vxlan",
            Self::WireGuard => "wireguard",
            Self::Esp => "ipsec",
        }
    }
}

/// The least MTU of IPv4 (RFC 791).
const LEAST: u32 = 68;
/// The longest packet of IP without jumbograms (RFC 791).
const MOST: u32 = 65_535;
/// Destination, source and type.
const ETHERNET: u32 = 14;
const CHECK_SEQUENCE: u32 = 4;
const VLAN_TAG: u32 = 4;
const UDP: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(mtu: u32, headers: Headers) -> u32 {
        headers.payload(Mtu::new(mtu).expect("an MTU")).expect("room")
    }

    #[test]
    fn headers_leave_the_segment_sizes_that_are_known() {
        let tcp = Headers::default();
        let ipv6 = Headers { network: Network::Ipv6, ..tcp };
        let plain = Headers { transport: Transport::TcpWithoutTimestamps, ..tcp };
        let udp = Headers { transport: Transport::Udp, ..tcp };
        assert_eq!(
            [tcp, ipv6, plain, udp].map(|one| payload(1_500, one)),
            [1448, 1428, 1460, 1472]
        );
        assert_eq!(payload(9_000, tcp), 8_948);
        let tagged = Headers { vlan_tags: 2, ..tcp };
        assert_eq!((payload(1_500, tagged), tagged.frame(Mtu(1_500))), (1_448, 1_526));
    }

    #[test]
    fn tunnels_leave_the_mtu_that_their_interfaces_have() {
        let inner = |tunnel: Tunnel, outer| tunnel.inner(1_500, outer);
        assert_eq!(inner(Tunnel::Vxlan, Network::Ipv4), Some(1_450));
        assert_eq!(inner(Tunnel::Vxlan, Network::Ipv6), Some(1_430));
        assert_eq!(inner(Tunnel::WireGuard, Network::Ipv6), Some(1_420));
        assert_eq!(inner(Tunnel::Esp, Network::Ipv4), Some(1_446));
        assert_eq!(Tunnel::Esp.inner(68, Network::Ipv6), None);
    }

    #[test]
    fn an_mtu_without_room_is_refused_with_the_headers() {
        let headers =
            Headers { tunnel: Some(Tunnel::Vxlan), network: Network::Ipv6, ..Headers::default() };
        let text = headers.payload(Mtu(122)).expect_err("no room").to_string();
        assert_eq!(text, "an MTU of 122 leaves no room behind the headers ipv4+vxlan+ipv6+tcp");
        assert!("67".parse::<Mtu>().is_err() && "65536".parse::<Mtu>().is_err());
        assert!("x".parse::<Mtu>().is_err_and(|error| error.to_string().contains("type bytes")));
    }
}
