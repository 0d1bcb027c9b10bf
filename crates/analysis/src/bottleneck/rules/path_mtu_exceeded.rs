//! `path-mtu-exceeded`: packets are too large for the path.

use measurement::Certainty;
use measurement::remedy::Setting;

use super::{Case, Class, Found, Page, Rule, RuleId, UsualEffect};
use crate::bottleneck::hops;
use crate::evidence::HostView;
use crate::words::{self, count, share};
use measurement::host::{Counter, counter};

const PAGE: Page = Page {
    id: RuleId::PathMtuExceeded,
    title: "Packets exceed the path MTU",
    what: "A host gave up putting packets together or taking them apart, or TCP found by probing \
           that larger ones vanish; or an observed router received packets larger than its next \
           link takes; or the path MTU is below the interface's MTU.",
    why: "One lost fragment loses the whole datagram. Where a router drops what is too large and \
          its message does not come back, connections open and then stand still.",
    evidence: "`ReasmFails` and `FragFails` of IP, `TCPMTUPFail`; the path MTU of TCP's sockets \
               against the interface's.",
    remedy: "Datagrams that fit (`-l`), the MTU of the path at both ends, \
             `net.ipv4.tcp_mtu_probing=1` where messages of ICMP are lost.",
    source: "RFC 4821, RFC 8899, ip-sysctl.rst",
};

pub(super) const RULE: Rule =
    Rule::new(&PAGE, Class::Oversize, check).with_effect(UsualEffect::Unknown);

fn check(case: &Case<'_>) -> Vec<Found> {
    if case.wanting().next().is_none() {
        return Vec::new();
    }
    let failed =
        case.hosts.iter().filter_map(|host| refused(case, host).or_else(|| failed(case, host)));
    failed.chain(smaller(case)).collect()
}

/// An observed host did not forward what it must not fragment.
fn refused(case: &Case<'_>, host: &HostView<'_>) -> Option<Found> {
    let hop = hops::too_big(case, host).filter(|hop| hop.dropped >= FEW)?;
    // Where nothing arrives, results do not either, and nobody knows how much is missing.
    if !hop.is_limit() && share(hop.dropped, hop.received) < MOST_OF_ALL {
        return None;
    }
    let name = words::host(host.role());
    let found = Found::limit(format!("packets exceed the MTU of the next link of router {name}"));
    let found = found.at(host.role()).explaining(1.0).seen(format!(
        "{} of {} packets were too large to forward, with DF set",
        count(hop.dropped),
        count(hop.received)
    ));
    Some(found.remedy(
        "let ICMP \"fragmentation needed\" pass, or at both ends sysctl -w \
         net.ipv4.tcp_mtu_probing=1",
    ))
}

fn failed(case: &Case<'_>, host: &HostView<'_>) -> Option<Found> {
    let grown = COUNTERS.map(|counter| (counter, host.growth(counter).unwrap_or(0)));
    let grown = grown.into_iter().filter(|(_, grown)| *grown >= ENOUGH);
    let mut arrived = case.wanting().map(|flow| flow.arrived().map_or(0, |all| all.bytes));
    let certainty =
        if arrived.all(|bytes| bytes == 0) { Certainty::Limit } else { Certainty::Candidate };
    let name = words::host(host.role());
    let text = format!("packets exceed the path MTU, by the counters of {name}");
    let found = Found::new(certainty, text);
    let found = grown.fold(found.at(host.role()), |found, (name, grown)| {
        found.seen(format!("{name} grew by {}", count(grown)))
    });
    let is_any = !found.evidence.is_empty();
    is_any.then(|| {
        found
            .remedy("send datagrams that fit (-l), or let TCP probe the path MTU")
            .change(super::sysctl("net.ipv4.tcp_mtu_probing", 1))
    })
}

/// TCP knows that the path takes less than the interface.
fn smaller(case: &Case<'_>) -> Option<Found> {
    let record = case.test?.record;
    let last = record.samples.last()?;
    let path = last.streams.iter().filter_map(|stream| stream.tcp.map(|tcp| tcp.path_mtu));
    let path = path.filter(|mtu| *mtu > 0).min()?;
    let device = case.devices().find(|device| device.host.role() == &measurement::Role::Here)?;
    let own = device.interface.mtu;
    // A path MTU is below 64 KiB, whatever a loopback has.
    (path < own && path < LARGEST).then(|| {
        Found::note("the path MTU is below the interface's MTU")
            .at(device.host.role())
            .seen(format!(
                "path MTU {} bytes, {} has {}",
                count(path.into()),
                device.name(),
                count(own.into())
            ))
            .remedy(
                "raise the smallest MTU on the path (a tunnel?), or lower that of the interface",
            )
            .change_from(
                Setting::Mtu { interface: device.interface.name.clone(), bytes: path },
                Some(own),
            )
    })
}

const COUNTERS: [Counter<'static>; 5] = [
    counter::IP_REASM_FAILS.v4,
    counter::IP_FRAG_FAILS.v4,
    counter::IP_REASM_FAILS.v6,
    counter::IP_FRAG_FAILS.v6,
    counter::TCP_MTUP_FAIL,
];
/// The largest packet of IPv4 (RFC 791).
const LARGEST: u32 = 65_535;
/// A few may be anybody's. To be calibrated.
const ENOUGH: u64 = 10;

/// TCP sends what does not fit again after ever longer times. To be calibrated.
const FEW: u64 = 3;
/// Of the packets.
const MOST_OF_ALL: f64 = 0.5;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::udp)
    .fires(|record| {
        crate::test_record::lose(record, 500);
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::IP_REASM_FAILS.v4, 500);
    })
    .silent(|record| crate::test_record::lose(record, 500));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::Test;
    use crate::test_record;

    #[test]
    fn a_router_that_must_not_fragment_is_the_reason() {
        let mut record = test_record::udp();
        test_record::lose(&mut record, 90_000);
        let host = test_record::observe(&mut record, "router");
        test_record::grow(host, counter::IP_IN_RECEIVES.v4, 90_100);
        test_record::grow(host, counter::IP_FORW_DATAGRAMS.v4, 100);
        test_record::grow(host, counter::IP_FRAG_FAILS.v4, 90_000);
        let verdict = crate::judge(&record).verdict.expect("something was measured");
        let begin = "packets exceed the MTU of the next link of router router; ";
        assert!(verdict.sentence.starts_with(begin), "{verdict:?}");
    }

    #[test]
    fn a_tunnel_on_the_way_is_told() {
        let mut record = test_record::tcp();
        test_record::sent(&mut record).path_mtu = 1_400;
        let test = Test::from_record(&record);
        let found = check(&Case::of_test(&test, &[]));
        assert_eq!(found[0].evidence, ["path MTU 1,400 bytes, eth0 of this host has 1,500"]);
    }

    #[test]
    fn what_a_host_could_not_fragment_limits_where_nothing_arrives() {
        let certainty = |lost| {
            let mut record = test_record::udp();
            test_record::lose(&mut record, lost);
            let host = test_record::host(&mut record, &measurement::Role::Here);
            test_record::grow(host, counter::IP_FRAG_FAILS.v4, 90_000);
            let test = Test::from_record(&record);
            check(&Case::of_test(&test, &[]))[0].certainty
        };
        assert_eq!(certainty(100_000), Certainty::Limit);
        assert_eq!(certainty(10_000), Certainty::Candidate);
    }
}
