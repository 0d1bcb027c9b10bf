//! Which interface carries a test.

use std::net::IpAddr;

use linux::netlink::{LinkEntry, RouteSocket};

/// The interface by which packets to `peer` leave, in the network namespace of the calling
/// thread; empty if the kernel does not tell.
pub fn interfaces_towards(peer: IpAddr) -> Vec<String> {
    name_of_egress(peer).into_iter().collect()
}

/// Every interface of the calling thread's network namespace that is up, but for loopback.
pub fn interfaces_with_links() -> Vec<String> {
    let links = RouteSocket::open().and_then(|mut route| route.links()).unwrap_or_default();
    let carries = |link: &LinkEntry| link.is_up() && !link.is_loopback();
    links.into_iter().filter(carries).map(|link| link.name).collect()
}

fn name_of_egress(peer: IpAddr) -> Option<String> {
    let mut route = RouteSocket::open().ok()?;
    let index = route.output_interface(peer).ok()?;
    let links = route.links().ok()?;
    links.into_iter().find(|link| link.index == index).map(|link| link.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_to_this_host_itself_goes_by_loopback() {
        assert_eq!(interfaces_towards([127, 0, 0, 1].into()), ["lo"]);
    }
}
