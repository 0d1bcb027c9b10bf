//! Two hosts with a router between them.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::addressing::{Addressing, FAR_IPV4, NEAR_IPV4};
use crate::error::LabError;
use crate::host::{Host, open_route};
use crate::link::{create_namespace, join};
use crate::link_spec::LinkSpec;

/// Two hosts that reach each other through a router, by IPv4.
///
/// The kernel removes everything once the handles are gone, as with a
/// [`Link`](crate::Link).
#[derive(Debug)]
pub struct Routed {
    /// The host at the near end.
    pub near: Host,
    /// The router, with the interface to [`Self::near`].
    pub router_near: Host,
    /// The router, with the interface to [`Self::far`].
    pub router_far: Host,
    /// The host at the far end.
    pub far: Host,
}

impl Routed {
    /// Creates two hosts and a router between them; the shaping of `spec` applies to the link
    /// between router and far end, its MTU to both links.
    ///
    /// It needs the rights that [`prepare`](crate::prepare) gets.
    ///
    /// # Errors
    /// [`LabError::EnableRouting`] if the router cannot forward, else the step that failed.
    pub fn create(spec: &LinkSpec) -> Result<Self, LabError> {
        spec.require_burst_of_a_frame()?;
        let (near, middle, far) = (create_namespace()?, create_namespace()?, create_namespace()?);
        join(&near, NEAR.interface, &middle, LEFT.interface)?;
        join(&middle, RIGHT.interface, &far, FAR.interface)?;
        let mut routed = Self {
            near: Host::new(near, NEAR),
            router_near: Host::new(middle.clone(), LEFT),
            router_far: Host::new(middle, RIGHT),
            far: Host::new(far, FAR),
        };
        let plain = LinkSpec { shape: None, ..spec.clone() };
        routed.near.configure(&plain)?;
        routed.router_near.configure(&plain)?;
        routed.router_far.configure(spec)?;
        routed.far.configure(spec)?;
        for host in [&routed.near, &routed.router_near, &routed.router_far, &routed.far] {
            host.finish()?;
        }
        routed.route()?;
        Ok(routed)
    }

    /// Enables forwarding on the router, and sets it as the default route of both ends.
    fn route(&self) -> Result<(), LabError> {
        let forward = || std::fs::write("/proc/sys/net/ipv4/ip_forward", "1");
        self.router_near.run(forward)?.map_err(refused(LEFT))?;
        for (host, via) in [(&self.near, LEFT), (&self.far, RIGHT)] {
            let everything = IpAddr::from(Ipv4Addr::UNSPECIFIED);
            open_route(host.namespace(), host.interface())?
                .add_route(everything, 0, via.ipv4.into())
                .map_err(refused(via))?;
        }
        Ok(())
    }
}

fn refused(at: Addressing) -> impl Fn(io::Error) -> LabError {
    move |source| LabError::EnableRouting { via: at.ipv4.into(), source }
}

const fn addressing(interface: &'static str, net: u8, number: u8) -> Addressing {
    let (high, low) = (0xfd00, 0x0200 + net as u16);
    Addressing {
        interface,
        ipv4: Ipv4Addr::new(10, 200, net, number),
        ipv6: Ipv6Addr::new(high, low, 0, 0, 0, 0, 0, number as u16),
        link_local: Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, net as u16, number as u16),
    }
}

const NEAR: Addressing = addressing("near0", 0, NEAR_IPV4.octets()[3]);
const LEFT: Addressing = addressing("left0", 0, 254);
const RIGHT: Addressing = addressing("right0", 1, 254);
const FAR: Addressing = addressing("far0", 1, FAR_IPV4.octets()[3]);
