//! From a name to addresses.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use crate::error::SessionError;

/// The address families, IPv4 or IPv6, that may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Family {
    /// IPv4 and IPv6, in the order of the resolver (RFC 6724).
    #[default]
    Any,
    /// IPv4 addresses only.
    V4,
    /// IPv6 addresses only.
    V6,
}

impl Family {
    /// Whether `address` is of this family; always true for [`Self::Any`].
    pub const fn includes(self, address: &SocketAddr) -> bool {
        match self {
            Self::Any => true,
            Self::V4 => address.is_ipv4(),
            Self::V6 => address.is_ipv6(),
        }
    }
}

/// The addresses of `host`: a name, an IPv4 or IPv6 address, or a link-local one
/// with its interface, `fe80::1%eth0` (RFC 4007, section 11).
pub(crate) fn resolve(
    host: &str,
    port: u16,
    family: Family,
) -> Result<Vec<SocketAddr>, SessionError> {
    let failed = |why: String| SessionError::Resolve { host: host.to_owned(), why };
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if bare.is_empty() {
        return Err(failed("it is empty".to_owned()));
    }
    let found = (bare, port).to_socket_addrs().map_err(|error| failed(words(&error)))?;
    let addresses: Vec<_> = found.filter(|address| family.includes(address)).collect();
    if addresses.is_empty() {
        let family = if family == Family::V4 { "IPv4" } else { "IPv6" };
        return Err(failed(format!("the name has no {family} address")));
    }
    Ok(addresses)
}

/// The first address of `host` (a name or an address) that is of `family`, in the order of the
/// resolver (getaddrinfo(3)).
///
/// # Errors
/// [`SessionError::Resolve`] if the host has no such address.
pub fn resolve_ip(host: &str, family: Family) -> Result<IpAddr, SessionError> {
    let addresses = resolve(host, 0, family)?;
    let none = || SessionError::Resolve { host: host.to_owned(), why: "it has none".to_owned() };
    addresses.first().map(SocketAddr::ip).ok_or_else(none)
}

/// The resolver's words without "failed to lookup address information: ".
fn words(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.rsplit(": ").next().unwrap_or(&text).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_need_no_name_service() {
        let found = resolve("127.0.0.1", 5201, Family::Any).expect("an address");
        assert_eq!(found, ["127.0.0.1:5201".parse().expect("valid")]);
        let found = resolve("[::1]", 1, Family::V6).expect("an address");
        assert_eq!(found, ["[::1]:1".parse().expect("valid")]);
    }

    #[test]
    fn a_scope_is_kept() {
        let found = resolve("fe80::1%lo", 1, Family::Any).expect("an address");
        assert!(matches!(found[..], [SocketAddr::V6(address)] if address.scope_id() == 1));
    }

    #[test]
    fn a_name_of_the_other_family_is_an_error_that_says_so() {
        let error = resolve("127.0.0.1", 1, Family::V6).expect_err("not IPv6");
        assert!(error.to_string().contains("has no IPv6 address"), "{error}");
        assert!(resolve("", 1, Family::Any).is_err());
    }
}
