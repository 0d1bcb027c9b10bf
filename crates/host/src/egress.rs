//! Finds the interfaces that carry a test, by rtnetlink(7).

use std::net::IpAddr;

use linux::netlink::{LinkEntry, RouteSocket};

/// Names of the interfaces through which packets to `peer` are sent, by the routes of the calling
/// thread's network namespace (rtnetlink(7)); empty: there is no route, or the kernel does not
/// answer.
pub fn interfaces_towards(peer: IpAddr) -> Vec<String> {
    name_of_egress(peer).into_iter().collect()
}

/// Names of the interfaces of the calling thread's network namespace that are up, without loopback;
/// empty: the kernel does not answer.
pub fn interfaces_with_links() -> Vec<String> {
    let links = RouteSocket::open().and_then(|mut route| route.links()).unwrap_or_default();
    let carries = |link: &LinkEntry| link.is_up() && !link.is_loopback();
    links.into_iter().filter(carries).map(|link| link.name).collect()
}

/// Whether packets to `peer` leave by loopback or by a pair of virtual Ethernet devices (veth(4)), so
/// that `peer` most likely is on this kernel; false: the kernel does not answer, too.
pub fn leaves_by_memory(peer: IpAddr) -> bool {
    let is_memory = |link: LinkEntry| link.is_loopback() || link.kind.as_deref() == Some("veth");
    egress(peer).is_some_and(is_memory)
}

fn name_of_egress(peer: IpAddr) -> Option<String> {
    egress(peer).map(|link| link.name)
}

fn egress(peer: IpAddr) -> Option<LinkEntry> {
    let mut route = RouteSocket::open().ok()?;
    let index = route.output_interface(peer).ok()?;
    route.links().ok()?.into_iter().find(|link| link.index == index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_to_this_host_itself_goes_by_loopback() {
        assert_eq!(interfaces_towards([127, 0, 0, 1].into()), ["lo"]);
        assert!(leaves_by_memory([127, 0, 0, 1].into()));
    }
}
