//! The path between the ends is software: a loopback, a pair of virtual interfaces.

use measurement::{Peer, Role};

use crate::evidence::Evidence;

/// What makes the path one of software; none: it is none, as far as is known.
pub(crate) fn kind(evidence: &Evidence<'_>) -> Option<&'static str> {
    let mut kinds = evidence.ends().flat_map(|host| {
        host.interfaces().iter().filter_map(|name| host.interface(name)?.kind.as_deref())
    });
    if is_loopback(evidence) {
        Some("loopback")
    } else if kinds.any(|kind| kind == "veth") {
        Some("veth")
    } else if is_one_host(evidence) {
        Some("both ends on one host")
    } else {
        None
    }
}

/// Whether both ends share the CPUs of one host: one end of a veth alone does not say so.
pub(crate) fn is_one_host(evidence: &Evidence<'_>) -> bool {
    let ends = evidence.host(&Role::Here).zip(evidence.host(&Role::Peer));
    is_loopback(evidence) || ends.is_some_and(|(here, peer)| here.is_same_kernel(peer))
}

fn is_loopback(evidence: &Evidence<'_>) -> bool {
    evidence.record.peer.as_ref().is_some_and(Peer::is_on_this_host)
}
