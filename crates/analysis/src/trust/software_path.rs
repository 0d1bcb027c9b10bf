//! T12: the path was software.

use measurement::Role;

use super::{Evidence, Finding, Page, Rule};

pub(crate) const PAGE: Page = Page {
    id: "T12",
    title: "The path was software",
    what: "Both ends are on one host: a loopback, a pair of virtual interfaces, two namespaces.",
    why: "What was measured is copying within one kernel: no link, no device, no interrupt \
           took part.",
    evidence: "The kind of the interface, the addresses, what tells one start of a kernel from \
           another.",
    remedy: "Two hosts.",
    source: "",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let text = kind(evidence).map(|kind| {
        format!(
            "a path in software ({kind}): it says nothing about a link or a NIC; test between two \
             hosts for that"
        )
    });
    text.map(|text| Finding::note(None, text)).into_iter().collect()
}

/// What makes it one; none: it is none, as far as is known.
pub(super) fn kind(evidence: &Evidence<'_>) -> Option<&'static str> {
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
    let peer = &evidence.record.peer;
    let is_own = peer.address.ip() == peer.local_address.ip();
    is_own || peer.address.ip().to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene;

    #[test]
    fn a_path_in_software_is_said_to_be_one() {
        let mut record = scene::udp();
        assert_eq!(scene::found(&RULE, &record), []);
        for host in &mut record.hosts {
            host.inventory.boot = Some("the same".to_owned());
        }
        assert!(scene::noted(&RULE, &record).contains("(both ends on one host)"));
        scene::in_software(&mut record);
        assert!(scene::noted(&RULE, &record).starts_with("a path in software (veth)"));
        record.peer.address = "127.0.0.1:5201".parse().expect("an address");
        assert!(scene::noted(&RULE, &record).contains("(loopback)"));
    }
}
