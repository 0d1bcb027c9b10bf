//! Packets that came into a host and reached nobody there, though no counter of drops has them:
//! rules of a firewall (`iptables`, `nft`) count for themselves alone.

use super::Host;

/// How many; 0 where the host does not tell. Of all traffic of the host, and a packet that was
/// joined of several counts once.
pub(crate) fn by_its_rules(host: &Host<'_>) -> u64 {
    let both = |name: &str| -> u64 {
        let names = [format!("snmp.Ip.{name}"), format!("snmp6.Ip6{name}")];
        names.iter().filter_map(|name| host.growth(name)).fold(0, u64::saturating_add)
    };
    let elsewhere = ELSEWHERE.iter().map(|name| both(name)).fold(0, u64::saturating_add);
    let joined = both("ReasmReqds").saturating_sub(both("ReasmOKs"));
    both("InReceives")
        .saturating_sub(both("InDelivers"))
        .saturating_sub(elsewhere)
        .saturating_sub(joined)
}

/// What went on, or was dropped for a reason that is counted (RFC 4293).
const ELSEWHERE: [&str; 9] = [
    "ForwDatagrams",
    "OutForwDatagrams",
    "InHdrErrors",
    "InAddrErrors",
    "InNoRoutes",
    "InTooBigErrors",
    "InTruncatedPkts",
    "InUnknownProtos",
    "InDiscards",
];

#[cfg(test)]
mod tests {
    use measurement::Role;

    use super::*;
    use crate::scene;

    #[test]
    fn what_came_in_and_reached_nobody_was_turned_away() {
        let mut record = scene::udp();
        let host = scene::host(&mut record, &Role::Peer);
        let names = ["Ip.InReceives", "Ip.InDelivers", "Ip.ForwDatagrams", "Ip.ReasmReqds"];
        for (name, by) in names.into_iter().zip([1_000, 800, 40, 30]) {
            scene::grow(host, &format!("snmp.{name}"), by);
        }
        scene::grow(host, "snmp.Ip.ReasmOKs", 10);
        let test = crate::evidence::Evidence::of(&record);
        let host = test.host(&Role::Peer).expect("it is there");
        assert_eq!(by_its_rules(host), 140);
    }
}
