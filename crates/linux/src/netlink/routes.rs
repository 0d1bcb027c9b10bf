//! The routes of a network namespace's main table.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::RouteSocket;
use super::address::{address, family, octets};
use super::kernel::{self, RouteMessage};
use super::message::{Message, attribute, u16_at, u32_at};

/// A route of the kernel's routing table (rtnetlink(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteEntry {
    /// Destination network; a route with [`Self::prefix_length`] 0 is the default route.
    pub to: IpAddr,
    /// Length of the destination's network part, in bits.
    pub prefix_length: u8,
    /// Address of the router; `None` if the destination is on the link.
    pub via: Option<IpAddr>,
    /// Index of the output interface.
    pub index: u32,
    /// Path MTU that is set on the route, in bytes.
    pub mtu: Option<u32>,
}

impl RouteSocket {
    /// Lists the unicast routes of the main table. A route with several next hops is listed
    /// once for each. A router with the full Internet table has a million routes.
    ///
    /// # Errors
    /// The errors of sendto(2) and recv(2), such as `ENOBUFS`; none is expected.
    pub fn routes(&mut self) -> io::Result<Vec<RouteEntry>> {
        let body = RouteMessage { family: 0, destination_length: 0 };
        let of_each = self.dump(libc::RTM_GETROUTE, &body.encode(), entries)?;
        Ok(of_each.into_iter().flatten().collect())
    }

    /// Lists the interfaces by which a default route of any table leaves, or half of one: VPNs set
    /// `0.0.0.0/1` and `128.0.0.0/1`.
    ///
    /// # Errors
    /// Those of [`Self::routes`].
    pub fn default_route_interfaces(&mut self) -> io::Result<BTreeSet<u32>> {
        let body = RouteMessage { family: 0, destination_length: 0 };
        let of_each = self.dump(libc::RTM_GETROUTE, &body.encode(), default_route)?;
        Ok(of_each.into_iter().flatten().collect())
    }
}

/// The interfaces of a route to everything, or to half of it.
fn default_route(message: &[u8]) -> Option<Vec<u32>> {
    let attributes = message.get(RouteMessage::BYTES..)?;
    let is_wide = *message.get(RouteMessage::DESTINATION_LENGTH)? <= 1;
    if !is_wide || !is_configured(message)? {
        return None;
    }
    if let Some(hops) = attribute(attributes, kernel::RTA_MULTIPATH) {
        return Some(next_hops(hops).map(|(index, _)| index).collect());
    }
    Some(vec![u32_at(attribute(attributes, kernel::RTA_OIF)?, 0..4)?])
}

/// Whether a route is unicast, and no cached one.
fn is_configured(message: &[u8]) -> Option<bool> {
    let is_cached = u32_at(message, RouteMessage::FLAGS)? & kernel::RTM_F_CLONED != 0;
    Some(*message.get(RouteMessage::TYPE)? == kernel::RTN_UNICAST && !is_cached)
}

impl RouteSocket {
    /// Adds a route to the network of `to` by the router `via`; `prefix_length` is the
    /// network part in bits, 0 for the default route.
    ///
    /// # Errors
    /// `ENETUNREACH` if the router is not on a link, `EEXIST` if there is such a route,
    /// `EPERM` without `CAP_NET_ADMIN`.
    pub fn add_route(&mut self, to: IpAddr, prefix_length: u8, via: IpAddr) -> io::Result<()> {
        self.request(new_route(to, prefix_length, via))
    }
}

fn new_route(to: IpAddr, prefix_length: u8, via: IpAddr) -> Message {
    let flags = kernel::NLM_F_CREATE | kernel::NLM_F_EXCL;
    let body = RouteMessage { family: family(to), destination_length: prefix_length };
    let mut body = body.encode();
    body[RouteMessage::TABLE] = kernel::RT_TABLE_MAIN;
    body[RouteMessage::PROTOCOL] = kernel::RTPROT_STATIC;
    body[RouteMessage::TYPE] = kernel::RTN_UNICAST;
    let message =
        Message::new(libc::RTM_NEWROUTE, flags, &body).attribute(kernel::RTA_GATEWAY, &octets(via));
    if prefix_length == 0 { message } else { message.attribute(kernel::RTA_DST, &octets(to)) }
}

fn entries(message: &[u8]) -> Option<Vec<RouteEntry>> {
    let attributes = message.get(RouteMessage::BYTES..)?;
    if !is_of_main_table(message, attributes)? {
        return None;
    }
    let to = match attribute(attributes, kernel::RTA_DST) {
        Some(octets) => address(octets)?,
        None => everything(*message.get(RouteMessage::FAMILY)?)?,
    };
    let prefix_length = *message.get(RouteMessage::DESTINATION_LENGTH)?;
    let metrics = attribute(attributes, kernel::RTA_METRICS).unwrap_or_default();
    let mtu = attribute(metrics, kernel::RTAX_MTU).and_then(|mtu| u32_at(mtu, 0..4));
    let route = |index, via| RouteEntry { to, prefix_length, via, index, mtu };
    if let Some(hops) = attribute(attributes, kernel::RTA_MULTIPATH) {
        return Some(next_hops(hops).map(|(index, via)| route(index, via)).collect());
    }
    let index = u32_at(attribute(attributes, kernel::RTA_OIF)?, 0..4)?;
    Some(vec![route(index, gateway(attributes))])
}

fn is_of_main_table(message: &[u8], attributes: &[u8]) -> Option<bool> {
    let table = match attribute(attributes, kernel::RTA_TABLE) {
        Some(table) => u32_at(table, 0..4)?,
        None => u32::from(*message.get(RouteMessage::TABLE)?),
    };
    Some(table == u32::from(kernel::RT_TABLE_MAIN) && is_configured(message)?)
}

fn everything(family: u8) -> Option<IpAddr> {
    match i32::from(family) {
        libc::AF_INET => Some(Ipv4Addr::UNSPECIFIED.into()),
        libc::AF_INET6 => Some(Ipv6Addr::UNSPECIFIED.into()),
        _ => None,
    }
}

fn gateway(attributes: &[u8]) -> Option<IpAddr> {
    // A router of the other family comes with its family before it (`struct rtvia`).
    let other = || attribute(attributes, kernel::RTA_VIA)?.get(2..);
    attribute(attributes, kernel::RTA_GATEWAY).or_else(other).and_then(address)
}

/// Decodes `struct rtnexthop`, `linux/rtnetlink.h`: length, flags, hops and interface, then
/// attributes.
fn next_hops(mut hops: &[u8]) -> impl Iterator<Item = (u32, Option<IpAddr>)> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(hops, 0..2)?);
        let attributes = hops.get(NEXT_HOP_BYTES..length)?;
        let index = u32_at(hops, 4..8)?;
        hops = hops.get(super::message::aligned(length)..).unwrap_or_default();
        Some((index, gateway(attributes)))
    })
}

const NEXT_HOP_BYTES: usize = 8;

#[cfg(test)]
mod tests {
    use super::super::message::{HEADER_BYTES, Message};
    use super::*;

    const MAIN: u8 = 254;

    fn message(table: u8, kind: u8) -> Message {
        let body = [2, 24, 0, 0, table, 0, 0, kind, 0, 0, 0, 0];
        Message::new(libc::RTM_NEWROUTE, 0, &body).attribute(kernel::RTA_DST, &[10, 1, 0, 0])
    }

    fn read(message: Message) -> Option<Vec<RouteEntry>> {
        entries(&message.finish(1)[HEADER_BYTES..])
    }

    #[test]
    fn a_route_has_its_router_its_interface_and_its_mtu() {
        let whole = message(MAIN, kernel::RTN_UNICAST)
            .attribute(kernel::RTA_OIF, &3_u32.to_ne_bytes())
            .attribute(kernel::RTA_GATEWAY, &[10, 0, 0, 1])
            .nested(kernel::RTA_METRICS, |metrics| {
                metrics.attribute(kernel::RTAX_MTU, &1400_u32.to_ne_bytes())
            });
        let expected = RouteEntry {
            to: [10, 1, 0, 0].into(),
            prefix_length: 24,
            via: Some([10, 0, 0, 1].into()),
            index: 3,
            mtu: Some(1400),
        };
        assert_eq!(read(whole), Some(vec![expected]));
    }

    #[test]
    fn each_of_several_next_hops_is_a_way_out() {
        let hop = |index: u32| [&8_u16.to_ne_bytes()[..], &[0, 0], &index.to_ne_bytes()].concat();
        let hops = [hop(3), hop(4)].concat();
        let whole = message(MAIN, kernel::RTN_UNICAST).attribute(kernel::RTA_MULTIPATH, &hops);
        let indices: Vec<u32> =
            read(whole).expect("a route").iter().map(|route| route.index).collect();
        assert_eq!(indices, [3, 4]);
    }

    #[test]
    fn other_tables_and_local_routes_are_left_out() {
        let oif = |message: Message| message.attribute(kernel::RTA_OIF, &3_u32.to_ne_bytes());
        assert_eq!(read(oif(message(255, kernel::RTN_UNICAST))), None);
        assert_eq!(read(oif(message(MAIN, kernel::RTN_LOCAL))), None);
        assert!(read(oif(message(MAIN, kernel::RTN_UNICAST))).is_some());
        let bytes = message(MAIN, kernel::RTN_UNICAST).finish(1);
        for length in 0..bytes.len() {
            let _ = entries(&bytes[..length]);
        }
    }

    #[test]
    fn the_routes_of_this_namespace_leave_by_its_links() {
        let mut route = RouteSocket::open().expect("netlink is there");
        let indices: Vec<u32> =
            route.links().expect("asked").iter().map(|link| link.index).collect();
        let routes = route.routes().expect("asked");
        assert!(routes.iter().all(|one| indices.contains(&one.index)), "{routes:?}");
    }
}
