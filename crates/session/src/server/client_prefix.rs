//! Which addresses count as one client.

use std::net::{IpAddr, Ipv6Addr};

/// What limits per address are about: an IPv4 address, or the /64 of an IPv6 address,
/// within which a host chooses its addresses freely (RFC 4291, section 2.5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ClientPrefix(IpAddr);

impl ClientPrefix {
    pub(crate) fn containing(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(address) => Ipv6Addr::from(u128::from(address) & PREFIX).into(),
        })
    }
}

const PREFIX: u128 = !(u64::MAX as u128);

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(address: &str) -> ClientPrefix {
        ClientPrefix::containing(address.parse().expect("an address"))
    }

    #[test]
    fn a_host_is_one_client_whichever_of_its_addresses_it_takes() {
        assert_eq!(prefix("::ffff:10.0.0.1"), prefix("10.0.0.1"));
        assert_ne!(prefix("10.0.0.1"), prefix("10.0.0.2"));
        assert_eq!(prefix("2001:db8:0:1::1"), prefix("2001:db8:0:1:ffff::2"));
        assert_ne!(prefix("2001:db8:0:1::1"), prefix("2001:db8:0:2::1"));
    }
}
