//! Addresses of links: adding them, and whether they are ready.

use std::io;
use std::net::IpAddr;

use super::RouteSocket;
use super::kernel::{self, IfAddressMessage, RouteMessage};
use super::message::Message;

impl RouteSocket {
    /// Adds an IP address to the interface `name`; `prefix_length` is the network part in bits.
    ///
    /// An IPv6 address skips duplicate address detection (`IFA_F_NODAD`), which would keep it
    /// unusable for about a second.
    ///
    /// # Errors
    /// `ENODEV` if there is no such link, `EEXIST` if it has the address, `EPERM` without
    /// `CAP_NET_ADMIN`, `EOPNOTSUPP` or `EACCES` where IPv6 is off.
    pub fn add_address(
        &mut self,
        name: &str,
        address: IpAddr,
        prefix_length: u8,
    ) -> io::Result<()> {
        let index = self.interface_index(name)?;
        self.request(address_request(index, address, prefix_length))
    }

    /// Whether the kernel delivers packets to `address` to this host itself (`RTN_LOCAL`).
    /// `address` is assumed to be one of the interface `name`. The kernel finishes adding an IPv6
    /// address in the background; this returns true when it has.
    ///
    /// # Errors
    /// `ENETUNREACH` if there is no route to the address, `ENODEV` if there is no such
    /// link.
    pub fn is_local(&mut self, name: &str, address: IpAddr) -> io::Result<bool> {
        let index = self.interface_index(name)?;
        let route = RouteMessage {
            family: family(address),
            destination_length: if address.is_ipv4() { 32 } else { 128 },
        };
        let message = Message::new(libc::RTM_GETROUTE, 0, &route.encode())
            .attribute(kernel::RTA_DST, &octets(address))
            .attribute(kernel::RTA_OIF, &index.to_ne_bytes());
        let answer = self.ask(message)?;
        Ok(answer.get(RouteMessage::TYPE) == Some(&kernel::RTN_LOCAL))
    }
}

fn address_request(index: u32, address: IpAddr, prefix_length: u8) -> Message {
    let flags = kernel::NLM_F_CREATE | kernel::NLM_F_EXCL;
    let body = IfAddressMessage {
        family: family(address),
        prefix_length,
        flags: if address.is_ipv6() { kernel::IFA_F_NODAD } else { 0 },
        scope: scope(address),
        index,
    };
    let octets = octets(address);
    Message::new(libc::RTM_NEWADDR, flags, &body.encode())
        .attribute(kernel::IFA_LOCAL, &octets)
        .attribute(kernel::IFA_ADDRESS, &octets)
}

/// The address family as the byte of the kernel's structures.
#[expect(clippy::cast_possible_truncation, reason = "AF_INET is 2, AF_INET6 is 10")]
pub(super) fn family(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => libc::AF_INET as u8,
        IpAddr::V6(_) => libc::AF_INET6 as u8,
    }
}

fn scope(address: IpAddr) -> u8 {
    match address {
        IpAddr::V6(address) if address.is_unicast_link_local() => kernel::RT_SCOPE_LINK,
        _ => kernel::RT_SCOPE_UNIVERSE,
    }
}

/// The address in an attribute: 4 bytes are IPv4, 16 bytes IPv6.
pub(super) fn address(octets: &[u8]) -> Option<IpAddr> {
    let four = || <[u8; 4]>::try_from(octets).ok().map(IpAddr::from);
    four().or_else(|| <[u8; 16]>::try_from(octets).ok().map(IpAddr::from))
}

pub(super) fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::super::message::{HEADER_BYTES, attribute};
    use super::*;

    #[test]
    fn an_ipv4_address_is_asked_for_with_prefix_and_index() {
        let address = IpAddr::from(Ipv4Addr::new(192, 0, 2, 1));
        let bytes = address_request(3, address, 24).finish(1);
        let body = &bytes[HEADER_BYTES..];
        assert_eq!(body[..4], [2, 24, 0, 0]);
        assert_eq!(body[4..8], 3_u32.to_ne_bytes());
        assert_eq!(attribute(&body[8..], kernel::IFA_LOCAL), Some(&[192, 0, 2, 1][..]));
    }

    #[test]
    fn an_ipv6_address_skips_duplicate_detection() {
        let address = IpAddr::from(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1));
        let bytes = address_request(3, address, 64).finish(1);
        let body = &bytes[HEADER_BYTES..];
        assert_eq!(body[..4], [10, 64, kernel::IFA_F_NODAD, kernel::RT_SCOPE_LINK]);
        let local = attribute(&body[8..], kernel::IFA_LOCAL).expect("present");
        assert_eq!((local.len(), local[0], local[15]), (16, 0xfe, 1));
    }
}
