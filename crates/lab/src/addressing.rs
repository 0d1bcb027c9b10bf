//! The interface names and addresses of both ends of a link.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Interface name and addresses of an end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Addressing {
    pub(crate) interface: &'static str,
    pub(crate) ipv4: Ipv4Addr,
    pub(crate) ipv6: Ipv6Addr,
    pub(crate) link_local: Ipv6Addr,
}

/// The IPv4 address of the near end of a test link. It exists only inside the link's namespaces, so
/// it collides with nothing outside.
pub const NEAR_IPV4: Ipv4Addr = Ipv4Addr::new(10, 200, 0, 1);
/// The IPv4 address of the far end of a test link.
pub const FAR_IPV4: Ipv4Addr = Ipv4Addr::new(10, 200, 0, 2);
/// The network part, in bits, of the IPv4 addresses of a test link.
pub const IPV4_PREFIX_LENGTH: u8 = 24;

/// The unique local IPv6 address (RFC 4193) of the near end of a test link.
pub const NEAR_IPV6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0x200, 0, 0, 0, 0, 0, 1);
/// The unique local IPv6 address (RFC 4193) of the far end of a test link.
pub const FAR_IPV6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0x200, 0, 0, 0, 0, 0, 2);
/// The link-local IPv6 address (RFC 4291) of the near end of a test link.
pub const NEAR_LINK_LOCAL: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
/// The link-local IPv6 address (RFC 4291) of the far end of a test link.
pub const FAR_LINK_LOCAL: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2);
/// The network part, in bits, of all IPv6 addresses of a test link.
pub const IPV6_PREFIX_LENGTH: u8 = 64;

pub(crate) const NEAR: Addressing = Addressing {
    interface: "near0",
    ipv4: NEAR_IPV4,
    ipv6: NEAR_IPV6,
    link_local: NEAR_LINK_LOCAL,
};
pub(crate) const FAR: Addressing =
    Addressing { interface: "far0", ipv4: FAR_IPV4, ipv6: FAR_IPV6, link_local: FAR_LINK_LOCAL };
