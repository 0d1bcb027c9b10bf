//! `ingress-drops`: packets are dropped between an interface and the IP layer.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::hops::{self, Hop};
use crate::evidence::HostView;
use crate::facts::ingress::Ingress;
use crate::words::{self, count, percent};

const PAGE: Page = Page {
    id: RuleId::IngressDrops,
    title: "Packets dropped at the ingress hook",
    what: "An interface of the receiver, or of an observed host, received packets that its IP \
           layer did not, or an ingress queueing discipline dropped them.",
    why: "A policer or filter at the ingress hook drops before IP, so that no counter of IP or of \
          a socket has these packets, and the loss looks like one of the network.",
    evidence: "`drops` of the qdisc `ingress` or `clsact`; or `rx_packets` of the interfaces \
               against `InReceives` of IP, without `rx_dropped`, where no GRO is between the two.",
    remedy: "`tc -s filter show dev IF ingress`, `nft list hooks`: raise the rate of the policer, \
             or remove it.",
    source: "tc-police(8), nft(8)",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Filter, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    case.hosts.iter().filter_map(|host| finding(case, host)).collect()
}

fn finding(case: &Case<'_>, host: &HostView<'_>) -> Option<Found> {
    let (dropped, hop) = hops::at_ingress(case, host)?;
    let (interface, name) = (dropped.interface, words::host(host.role()));
    let found = Found::new(
        hop.blame.certainty,
        format!("an ingress policer or filter on {interface} of {name} drops packets"),
    );
    let remedy =
        format!("see its rules: tc -s filter show dev {interface} ingress, nft list hooks");
    let found = found.at(host.role()).explaining(hop.blame.share).remedy(remedy);
    let found = found.seen(described(&dropped, &hop)).seen(of_the_loss(&hop));
    Some(match hops::allowed_at_ingress(case, host) {
        Some(bound) => found.allowing(bound),
        None => found,
    })
}

fn described(dropped: &Ingress<'_>, hop: &Hop) -> String {
    format!(
        "{} of {}: {} of {} packets",
        dropped.source,
        dropped.interface,
        count(hop.dropped),
        count(hop.received)
    )
}

fn of_the_loss(hop: &Hop) -> String {
    format!("{} of the loss", percent(hop.blame.share))
}

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::udp)
    .fires(|record| {
        crate::test_record::lose(record, 5_000);
        crate::test_record::vanish_at_ingress(record, 5_000);
    })
    .silent(|record| {
        crate::test_record::lose(record, 5_000);
        crate::test_record::vanish_at_ingress(record, 0);
    });

#[cfg(test)]
mod tests {
    use measurement::host::counter;
    use measurement::{Certainty, Role, RuleId};

    use super::*;
    use crate::accounts::Test;
    use crate::test_record;

    /// The certainty of a finding about `vanished` packets of an interface that the IP layer did not
    /// receive, in a TCP test with `retransmits` segments sent again.
    fn of_joined(retransmits: u64, received: u64, vanished: u64) -> Certainty {
        let mut record = test_record::tcp();
        test_record::in_software(&mut record);
        record.outcome.directions[0].retransmits = Some(retransmits);
        let host = test_record::host(&mut record, &Role::Peer);
        test_record::grow(host, counter::INTERFACE_RX_PACKETS.on("eth0"), received);
        test_record::grow(host, counter::IP_IN_RECEIVES.v4, received - vanished);
        let test = Test::from_record(&record);
        let found = check(&Case::of_test(&test, &[]));
        assert!(found[0].text.contains("filter on eth0 of the server drops"), "{found:?}");
        found[0].certainty
    }

    #[test]
    fn a_dropped_packet_may_have_held_many_segments() {
        assert_eq!(of_joined(1_800, 5_000, 150), Certainty::Limit);
        // At 45 in each it is more than half of the loss, and less.
        assert_eq!(of_joined(4_800, 5_000, 80), Certainty::Limit);
        assert_eq!(of_joined(4_800, 5_000, 50), Certainty::Candidate);
    }

    #[test]
    fn of_two_filters_the_one_that_lets_less_of_what_it_gets_through_limits() {
        let first = |at_ingress, in_firewall| {
            let mut record = test_record::udp();
            test_record::lose(&mut record, at_ingress + in_firewall);
            test_record::vanish_at_ingress(&mut record, at_ingress);
            let delivered = test_record::DATAGRAMS - at_ingress - in_firewall;
            let host = test_record::host(&mut record, &Role::Peer);
            test_record::grow(host, counter::IP_IN_DELIVERS.v4, delivered);
            let test = Test::from_record(&record);
            crate::bottleneck::findings(&Case::of_test(&test, &[]))[0].rule
        };
        assert_eq!(first(48_000, 41_000), RuleId::InputDrops);
        assert_eq!(first(48_000, 500), RuleId::IngressDrops);
    }
}
