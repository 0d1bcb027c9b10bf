//! Which addresses count as one client, and which clients as one network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where a client comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ClientOrigin {
    pub(crate) prefix: ClientPrefix,
    pub(crate) network: ClientNetwork,
}

/// What limits per address are about: an IPv4 address, or the /64 of an IPv6 address,
/// within which a host chooses its addresses freely (RFC 4291, section 2.5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ClientPrefix(IpAddr);

/// What one party often has of addresses: the /24 of an IPv4 address, the longest prefix that is
/// routed in the Internet, or the /48 of an IPv6 address, a site's (RFC 6177). All of loopback
/// is this host, in both families.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ClientNetwork(IpAddr);

impl ClientOrigin {
    pub(crate) fn of(address: IpAddr) -> Self {
        Self {
            prefix: ClientPrefix::containing(address),
            network: ClientNetwork::containing(address),
        }
    }
}

impl ClientPrefix {
    pub(crate) fn containing(address: IpAddr) -> Self {
        Self(match known_as(address) {
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(address) => first_bits(address, 64).into(),
        })
    }
}

impl ClientNetwork {
    pub(crate) fn containing(address: IpAddr) -> Self {
        let address = known_as(address);
        if address.is_loopback() {
            return Self(Ipv4Addr::LOCALHOST.into());
        }
        Self(match address {
            IpAddr::V4(address) => {
                let [one, two, three, _] = address.octets();
                Ipv4Addr::new(one, two, three, 0).into()
            }
            IpAddr::V6(address) => first_bits(address, 48).into(),
        })
    }
}

/// The IPv4 address of a host, if its IPv6 address contains it: IPv4-mapped (RFC 4291), or of a
/// 6to4 site (2002::/16, RFC 3056). The host is then one client in both families.
fn known_as(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => match address.octets() {
            [0x20, 0x02, a, b, c, d, ..] => Ipv4Addr::new(a, b, c, d).into(),
            _ => address.into(),
        },
        address @ IpAddr::V4(_) => address,
    }
}

fn first_bits(address: Ipv6Addr, count: u32) -> Ipv6Addr {
    Ipv6Addr::from(u128::from(address) & (u128::MAX << (128 - count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_host_is_one_client_whichever_of_its_addresses_it_takes() {
        let prefix = |text| ClientPrefix::containing(address(text));
        assert_eq!(prefix("::ffff:10.0.0.1"), prefix("10.0.0.1"));
        assert_eq!(prefix("2002:0a00:0001:7::9"), prefix("10.0.0.1"));
        assert_ne!(prefix("10.0.0.1"), prefix("10.0.0.2"));
        assert_eq!(prefix("2001:db8:0:1::1"), prefix("2001:db8:0:1:ffff::2"));
        assert_ne!(prefix("2001:db8:0:1::1"), prefix("2001:db8:0:2::1"));
    }

    #[test]
    fn clients_of_one_site_are_one_network() {
        let network = |text| ClientNetwork::containing(address(text));
        assert_eq!(network("10.0.0.1"), network("10.0.0.2"));
        assert_ne!(network("10.0.0.1"), network("10.0.1.1"));
        assert_eq!(network("2001:db8:0:1::1"), network("2001:db8:0:2::1"));
        assert_ne!(network("2001:db8:0:1::1"), network("2001:db8:1:1::1"));
        assert_eq!(network("127.0.7.1"), network("::1"));
    }
}
