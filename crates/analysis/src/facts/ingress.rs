//! Packets dropped between an interface and the IP layer: at the ingress hook (tc(8), nft(8)).

use measurement::host::{Counter, EachCounter, Interface, counter};
use measurement::{TestRecord, Transport};

use super::{backlog_drops, ip_layer, queue_drops};
use crate::evidence::{Growth, HostView};

/// What the ingress hook of a host dropped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ingress<'a> {
    /// The interface that dropped, or received, most.
    pub(crate) interface: &'a str,
    /// The name of the counter.
    pub(crate) source: &'static str,
    pub(crate) packets: Growth,
}

/// What the ingress hook dropped; none: nothing, or nothing that can be told.
///
/// A filter of tc(8) has a counter of its own. One of nft(8) has none in the kernel's statistics:
/// there what the interfaces received is set against what the IP layer did.
pub(crate) fn dropped<'a>(record: &TestRecord, host: &HostView<'a>) -> Option<Ingress<'a>> {
    let policed = policed(host);
    let vanished = vanished(record, host);
    let policed_most = policed.map_or(0, |one| one.packets.most);
    // Both count what a filter of tc drops.
    vanished.filter(|one| one.packets.least > policed_most).or(policed)
}

/// By the queueing disciplines `ingress` and `clsact` of the interface that dropped most.
fn policed<'a>(host: &HostView<'a>) -> Option<Ingress<'a>> {
    let all = host.carriers().into_iter().flat_map(|interface| {
        let disciplines = queue_drops::disciplines(host, interface).into_iter();
        disciplines.filter(|one| one.is_policer() && one.drops > 0).map(move |one| {
            let counter = counter::QDISC_DROPS.within(interface).on(one.name);
            let packets = Growth::of(host, |grown| grown(counter));
            Ingress { interface, source: "drops of qdisc ingress", packets }
        })
    });
    all.max_by_key(|one| one.packets.most)
}

/// By what interfaces received and the IP layer did not.
fn vanished<'a>(record: &TestRecord, host: &HostView<'a>) -> Option<Ingress<'a>> {
    let interface = busiest(host).filter(|_| is_comparable(record, host))?;
    ip_layer::received(host)?;
    let names: Vec<_> = used(host).map(|(name, _)| name).collect();
    let packets = Growth::of(host, |grown| {
        let sum = |counters: Vec<Counter<'_>>| {
            counters.into_iter().map(grown).fold(0, u64::saturating_add)
        };
        let all = |each: EachCounter<'static>| sum(names.iter().map(|one| each.on(*one)).collect());
        let dropped = all(counter::INTERFACE_RX_DROPPED);
        // A device may count what its backlog dropped as well.
        let backlog = sum(backlog_drops::counters(host));
        all(counter::INTERFACE_RX_PACKETS)
            .saturating_sub(sum(counter::IP_IN_RECEIVES.each().to_vec()))
            .saturating_sub(dropped.max(backlog))
    });
    let packets =
        if are_large(host, packets) { packets } else { packets.or_fewer(other_frames(host)) };
    (packets.least > 0).then_some(Ingress { interface, source: VANISHED, packets })
}

/// Whether what vanished has more bytes than frames of other protocols have.
fn are_large(host: &HostView<'_>, vanished: Growth) -> bool {
    let sum = |each| host.each(each).iter().map(|(_, grown)| grown).sum::<u64>();
    let octets = counter::IP_IN_OCTETS.each().into_iter();
    let octets = octets.filter_map(|counter| host.growth(counter)).reduce(u64::saturating_add);
    octets.filter(|octets| *octets > 0).is_some_and(|octets| {
        let headers = ETHERNET_HEADER.saturating_mul(sum(counter::INTERFACE_RX_PACKETS));
        let bytes = sum(counter::INTERFACE_RX_BYTES).saturating_sub(headers.saturating_add(octets));
        vanished.most > 0 && bytes / vanished.most > LARGEST_OTHER
    })
}

/// Frames of other protocols than IP that a host receives meanwhile, at most.
fn other_frames(host: &HostView<'_>) -> u64 {
    OTHERS_EACH_SECOND.saturating_mul(host.span().as_secs() + 1)
}

/// Interfaces that received something, and how many packets.
fn used<'a>(host: &HostView<'a>) -> impl Iterator<Item = (&'a str, u64)> {
    host.each(counter::INTERFACE_RX_PACKETS).into_iter().filter(|(_, packets)| *packets > 0)
}

/// The carrier that received most packets.
fn busiest<'a>(host: &HostView<'a>) -> Option<&'a str> {
    let received = |name: &&str| host.growth(counter::INTERFACE_RX_PACKETS.on(*name));
    host.carriers().into_iter().max_by_key(|name| received(name).unwrap_or(0))
}

/// Whether every packet that an interface counts is one that the IP layer counts: none is put
/// together with others between the two (GRO), and none passes two interfaces, as those of a
/// bridge do.
fn is_comparable(record: &TestRecord, host: &HostView<'_>) -> bool {
    used(host).all(|(name, packets)| match host.interface(name) {
        Some(interface) => !is_stacked(interface) && !joins(record, interface),
        None => name == LOOPBACK || packets <= OTHER_FRAMES,
    })
}

fn is_stacked(interface: &Interface) -> bool {
    interface.kind.as_deref().is_some_and(|kind| STACKED.contains(&kind))
}

/// Whether an interface may put packets of the test together. Those of UDP are joined where a
/// socket, or the forwarding of UDP, asks for it (udp(7), ethtool(8)).
fn joins(record: &TestRecord, interface: &Interface) -> bool {
    let is_on =
        |name: &str| interface.offloads.get(name).is_some_and(|state| !state.starts_with("off"));
    let kind = interface.kind.as_deref();
    let may_join = match kind {
        Some("loopback") => false,
        // As they are made, without GRO (`veth_disable_gro`, `drivers/net/veth.c`).
        Some("veth") => is_on("rx-gro"),
        _ => interface.offloads.is_empty() || is_on("rx-gro") || is_on("rx-gro-hw"),
    };
    let is_plain = record.plan.transport == Transport::Udp
        && !record
            .outcome
            .directions
            .iter()
            .any(|one| crate::evidence::is_taken_in_pieces(record, one))
        && !is_on("rx-udp-gro-forwarding");
    may_join && !is_plain
}

/// Hosts that list only what carried the test do not list it.
const LOOPBACK: &str = "lo";
/// A source that is a difference.
const VANISHED: &str = "rx_packets less InReceives of IP";
/// Kinds of interfaces whose packets have passed, or will pass, another one (ip-link(8)).
const STACKED: [&str; 10] =
    ["bond", "team", "bridge", "vlan", "macvlan", "macvtap", "ipvlan", "vrf", "openvswitch", "dsa"];
/// Frames of other protocols than IP: ARP, LLDP, spanning tree.
const OTHERS_EACH_SECOND: u64 = 4;
/// Bytes of the largest of them that are usual: LLDP.
const LARGEST_OTHER: u64 = 1_000;
/// Bytes of an Ethernet header, which interfaces count and IP does not.
const ETHERNET_HEADER: u64 = 14;
/// So few packets on another interface are none of the test.
const OTHER_FRAMES: u64 = 50;

#[cfg(test)]
mod tests {
    use measurement::Role;

    use super::*;
    use crate::evidence::Evidence;
    use crate::test_record;

    fn vanish(record: &mut TestRecord) {
        let host = test_record::host(record, &Role::Peer);
        test_record::grow(host, counter::INTERFACE_RX_PACKETS.on("eth0"), 101_822);
        test_record::grow(host, counter::IP_IN_RECEIVES.v4, 56_104);
    }

    fn packets(record: &TestRecord) -> Option<Growth> {
        let test = Evidence::from_record(record);
        dropped(record, test.host(&Role::Peer).expect("it is there")).map(|one| one.packets)
    }

    #[test]
    fn what_the_interface_received_and_ip_did_not_was_dropped_between() {
        let mut record = test_record::udp();
        vanish(&mut record);
        assert_eq!(packets(&record), Some(Growth { least: 45_674, most: 45_718 }));
    }

    #[test]
    fn nothing_vanished_at_a_host_whose_ip_layer_tells_nothing() {
        let mut record = test_record::udp();
        vanish(&mut record);
        let host = test_record::host(&mut record, &Role::Peer);
        host.series.remove(measurement::host::Family::SNMP);
        assert_eq!(packets(&record), None);
    }

    #[test]
    fn few_large_packets_are_none_of_other_protocols() {
        let few = |octets: u64| {
            let mut record = test_record::tcp();
            test_record::in_software(&mut record);
            let host = test_record::host(&mut record, &Role::Peer);
            test_record::grow(host, counter::INTERFACE_RX_PACKETS.on("eth0"), 3_000);
            test_record::grow(host, counter::INTERFACE_RX_BYTES.on("eth0"), 120_042_000);
            test_record::grow(host, counter::IP_IN_RECEIVES.v4, 2_985);
            test_record::grow(host, counter::IP_IN_OCTETS.v4, octets);
            packets(&record)
        };
        assert_eq!(few(119_999_000), None, "15 frames of less than 100 bytes");
        assert!(few(119_400_000).is_some(), "15 packets of 40 kB");
    }

    #[test]
    fn packets_that_gro_may_have_joined_are_no_proof() {
        let mut record = test_record::tcp();
        vanish(&mut record);
        assert_eq!(packets(&record), None);
        test_record::in_software(&mut record);
        assert!(packets(&record).is_some(), "a veth does not join them");
        test_record::interface_of(&mut record, &Role::Peer).kind = Some("bridge".to_owned());
        assert_eq!(packets(&record), None, "they passed two interfaces");
    }

    #[test]
    fn the_counter_of_a_filter_of_tc_is_exact() {
        let mut record = test_record::tcp();
        let host = test_record::host(&mut record, &Role::Peer);
        test_record::grow(host, counter::QDISC_DROPS.within("eth0").on("ingress@ffff:"), 700);
        assert_eq!(packets(&record), Some(Growth { least: 700, most: 700 }));
    }
}
