//! Which addresses a server answers: lists of prefixes that are allowed or denied.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// Prefix of IPv4 or IPv6 addresses in the notation of CIDR (RFC 4632, section 3.1; RFC 4291,
/// section 2.3), e.g. `192.0.2.0/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IpPrefix {
    /// As it was given; IPv4-mapped IPv6 addresses as IPv4.
    address: IpAddr,
    /// Number of leading bits that count, at most 32 or 128.
    length: u8,
}

impl IpPrefix {
    /// Number of leading bits that count: 0 to 32 of an IPv4 prefix, 0 to 128 of an IPv6 prefix.
    pub const fn length(self) -> u8 {
        self.length
    }

    /// Whether `address` lies in the prefix. An IPv4-mapped IPv6 address counts as IPv4.
    pub fn contains(self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        if address.is_ipv4() != self.address.is_ipv4() {
            return false;
        }
        first_bits(address, self.length) == first_bits(self.address, self.length)
    }
}

impl FromStr for IpPrefix {
    type Err = String;

    /// Reads `192.0.2.0/24`, `2001:db8::/32`, or an address alone.
    fn from_str(text: &str) -> Result<Self, String> {
        let hint = || format!("'{text}' is no prefix: type e.g. 192.0.2.0/24 or 2001:db8::/32");
        let (address, length) = text.split_once('/').map_or((text, None), |(a, l)| (a, Some(l)));
        let address: IpAddr = address.parse().map_err(|_| hint())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Ok(most), |length| length.parse().map_err(|_| hint()))?;
        if length > most {
            return Err(hint());
        }
        Ok(match address {
            IpAddr::V6(mapped) if length >= MAPPED => match mapped.to_ipv4_mapped() {
                Some(address) => Self { address: address.into(), length: length - MAPPED },
                None => Self { address: mapped.into(), length },
            },
            address => Self { address, length },
        })
    }
}

impl fmt::Display for IpPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

/// Prefixes of clients that a server answers, and of those that it does not. The longest prefix
/// that contains an address decides, of two as long the denied one. An address in no prefix is
/// admitted if no prefix is allowed explicitly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessList {
    /// Prefixes whose clients are admitted; empty: all that are not denied.
    pub allow: Vec<IpPrefix>,
    /// Prefixes whose clients are refused.
    pub deny: Vec<IpPrefix>,
}

impl AccessList {
    /// Whether a client at `address` is admitted.
    pub fn admits(&self, address: IpAddr) -> bool {
        let longest = |prefixes: &[IpPrefix]| {
            let containing = prefixes.iter().filter(|prefix| prefix.contains(address));
            containing.map(|prefix| prefix.length).max()
        };
        match (longest(&self.allow), longest(&self.deny)) {
            (None, None) => self.allow.is_empty(),
            (allowed, denied) => allowed > denied,
        }
    }
}

/// The first `length` bits of an address, as a number.
fn first_bits(address: IpAddr, length: u8) -> u128 {
    let bits = match address {
        IpAddr::V4(address) => u128::from(u32::from(address)) << 96,
        IpAddr::V6(address) => u128::from(Ipv6Addr::from(address.octets())),
    };
    bits & u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0)
}

/// Bits before the IPv4 address in an IPv4-mapped one (RFC 4291, section 2.5.5.2).
const MAPPED: u8 = 96;

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str) -> IpPrefix {
        text.parse().expect("a prefix")
    }

    fn list(allow: &[&str], deny: &[&str]) -> AccessList {
        let read = |texts: &[&str]| texts.iter().map(|text| prefix(text)).collect();
        AccessList { allow: read(allow), deny: read(deny) }
    }

    #[test]
    fn a_prefix_contains_the_addresses_with_its_first_bits() {
        let contains =
            |of: &str, address: &str| prefix(of).contains(address.parse().expect("an address"));
        assert!(contains("192.0.2.0/24", "192.0.2.255"));
        assert!(!contains("192.0.2.0/24", "192.0.3.0"));
        assert!(contains("192.0.2.7", "192.0.2.7") && !contains("192.0.2.7", "192.0.2.6"));
        assert!(contains("0.0.0.0/0", "203.0.113.9") && !contains("0.0.0.0/0", "2001:db8::1"));
        assert!(contains("2001:db8::/32", "2001:db8:ffff::1"));
        assert!(!contains("2001:db8::/32", "2001:db9::1"));
        assert!(contains("::/0", "2001:db8::1") && !contains("::/0", "192.0.2.1"));
        assert!(contains("10.0.0.0/8", "::ffff:10.1.2.3"), "IPv4-mapped");
        assert!(contains("::ffff:10.0.0.0/104", "10.1.2.3"));
    }

    #[test]
    fn what_is_no_prefix_is_refused() {
        for text in ["", "/", "10.0.0.0/33", "10.0.0.0/-1", "2001:db8::/129", "a.example/24"] {
            let told = text.parse::<IpPrefix>().expect_err(text);
            assert!(told.contains("192.0.2.0/24"), "{told}");
        }
    }

    #[test]
    fn the_longest_prefix_decides() {
        let admits =
            |list: &AccessList, address: &str| list.admits(address.parse().expect("an address"));
        let open = AccessList::default();
        assert!(admits(&open, "192.0.2.1") && admits(&open, "2001:db8::1"));
        let denied = list(&[], &["192.0.2.0/24"]);
        assert!(!admits(&denied, "192.0.2.1") && admits(&denied, "192.0.3.1"));
        let nested = list(&["10.0.0.0/8", "10.1.2.0/24"], &["10.1.0.0/16"]);
        assert!(admits(&nested, "10.0.0.1") && !admits(&nested, "10.1.0.1"));
        assert!(admits(&nested, "10.1.2.1") && !admits(&nested, "192.0.2.1"));
        let both = list(&["10.0.0.0/8"], &["10.0.0.0/8"]);
        assert!(!admits(&both, "10.0.0.1"), "of two as long the denied one");
    }
}
