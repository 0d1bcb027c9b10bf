//! A link of two hosts: its settings, its addresses and its creation.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd;

use linux::namespace::NetworkNamespace;

use crate::error::LabError;
use crate::host::{Addressing, Host, open_route};
use crate::shape::Shape;

/// Settings of a link. The default is Ethernet without shaping.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkSpec {
    /// Shaping of each direction; `None`: as fast as the machine.
    pub shape: Option<Shape>,
    /// Largest network-layer packet in bytes; 1500 if `None`. The kernel keeps
    /// IPv6 off a link below 1280 (RFC 8200, section 5).
    pub mtu: Option<u32>,
}

/// Two hosts, joined by a virtual Ethernet pair and to nothing else.
///
/// The kernel removes the interfaces and both namespaces, a moment after the
/// drop, once no process or socket is left inside.
#[derive(Debug)]
pub struct Link {
    /// The near end.
    pub near: Host,
    /// The far end.
    pub far: Host,
}

impl Link {
    /// Creates a link. Both ends can reach each other when this returns.
    ///
    /// It needs the rights that [`prepare`](crate::prepare) gets.
    ///
    /// # Errors
    /// [`LabError::BurstBelowFrame`] for a shape that passes no full frame, else the step
    /// that failed.
    pub fn create(spec: &LinkSpec) -> Result<Self, LabError> {
        spec.require_burst_of_a_frame()?;
        let (near, far) = (create_namespace()?, create_namespace()?);
        join(&near, NEAR.interface, &far, FAR.interface)?;
        let mut link = Self { near: Host::new(near, NEAR), far: Host::new(far, FAR) };
        link.near.configure(spec)?;
        link.far.configure(spec)?;
        // Neither end has a carrier before the other is up.
        link.near.finish()?;
        link.far.finish()?;
        Ok(link)
    }
}

impl LinkSpec {
    pub(crate) fn require_burst_of_a_frame(&self) -> Result<(), LabError> {
        let mtu = self.mtu.unwrap_or(DEFAULT_MTU);
        let frame_bytes = mtu.saturating_add(ETHERNET_HEADER_BYTES);
        match self.shape {
            Some(Shape { burst_bytes, .. }) if burst_bytes < frame_bytes => {
                Err(LabError::BurstBelowFrame { burst_bytes, frame_bytes })
            }
            _ => Ok(()),
        }
    }
}

pub(crate) fn create_namespace() -> Result<NetworkNamespace, LabError> {
    NetworkNamespace::create().map_err(LabError::CreateNamespace)
}

/// Creates a virtual Ethernet pair between two namespaces, each end with its name.
pub(crate) fn join(
    one: &NetworkNamespace,
    own: &str,
    other: &NetworkNamespace,
    theirs: &str,
) -> Result<(), LabError> {
    open_route(one, own)?.create_veth(own, theirs, other.as_fd()).map_err(|source| {
        LabError::CreateVeth { near: own.to_owned(), far: theirs.to_owned(), source }
    })
}

/// The IPv4 address of the near end. It exists only inside the link's
/// namespaces, so it collides with nothing outside.
pub const NEAR_IPV4: Ipv4Addr = Ipv4Addr::new(10, 200, 0, 1);
/// The IPv4 address of the far end.
pub const FAR_IPV4: Ipv4Addr = Ipv4Addr::new(10, 200, 0, 2);
/// The network part of the IPv4 addresses in bits.
pub const IPV4_PREFIX_LENGTH: u8 = 24;

/// The unique local IPv6 address (RFC 4193) of the near end.
pub const NEAR_IPV6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0x200, 0, 0, 0, 0, 0, 1);
/// The unique local IPv6 address of the far end.
pub const FAR_IPV6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0x200, 0, 0, 0, 0, 0, 2);
/// The link-local IPv6 address of the near end.
pub const NEAR_LINK_LOCAL: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
/// The link-local IPv6 address of the far end.
pub const FAR_LINK_LOCAL: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2);
/// The network part of all IPv6 addresses in bits.
pub const IPV6_PREFIX_LENGTH: u8 = 64;

pub(crate) const NEAR: Addressing = Addressing {
    interface: "near0",
    ipv4: NEAR_IPV4,
    ipv6: NEAR_IPV6,
    link_local: NEAR_LINK_LOCAL,
};
pub(crate) const FAR: Addressing =
    Addressing { interface: "far0", ipv4: FAR_IPV4, ipv6: FAR_IPV6, link_local: FAR_LINK_LOCAL };

const DEFAULT_MTU: u32 = 1500;
const ETHERNET_HEADER_BYTES: u32 = 14;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Rate;

    #[test]
    fn a_burst_below_one_frame_is_refused() {
        let rate = Rate::from_bits_per_second(1_000_000).expect("not zero");
        let shape = |burst_bytes| Some(Shape { burst_bytes, ..Shape::with_rate(rate) });
        let spec = |burst_bytes, mtu| LinkSpec { shape: shape(burst_bytes), mtu };
        assert!(spec(1514, None).require_burst_of_a_frame().is_ok());
        assert!(spec(1513, None).require_burst_of_a_frame().is_err());
        assert!(spec(9000, Some(9000)).require_burst_of_a_frame().is_err());
        assert!(LinkSpec::default().require_burst_of_a_frame().is_ok());
    }
}
