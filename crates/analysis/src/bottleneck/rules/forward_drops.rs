//! `forward-drops`: a router on the path received packets and did not forward them.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::hops::{self, Hop};
use crate::evidence::HostView;
use crate::facts::ip_layer;
use crate::words::{self, count, percent, share};
use measurement::host::counter;

const PAGE: Page = Page {
    id: RuleId::ForwardDrops,
    title: "Router does not forward packets",
    what: "Packets came into the IP layer of an observed host, and were neither forwarded nor \
           delivered there, nor dropped for a reason that IP counts.",
    why: "A packet filter drops at the hook FORWARD without a counter of the kernel; so does \
          connection tracking with packets that it takes for invalid.",
    evidence: "`InReceives` against `ForwDatagrams` and `InDelivers` of IP, without its errors; where \
               the kernel counts `ForwDatagrams` before the hook, `OutTransmits` less `OutRequests`.",
    remedy: "`iptables -L FORWARD -v -n`, `nft list ruleset`, `conntrack -S` on that host.",
    source: "RFC 4293, snmp_counter.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Filter, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    case.hosts.iter().filter_map(|host| finding(case, host)).collect()
}

fn finding(case: &Case<'_>, host: &HostView<'_>) -> Option<Found> {
    let Hop { dropped, received, blame } = hops::in_forwarding(case, host)?;
    let forwarded = ip_layer::passed_on(host);
    let name = words::host(host.role());
    let found = Found::new(
        blame.certainty,
        format!(
            "router {name} drops packets that it should forward: {} ({})",
            count(dropped),
            percent(share(dropped, received))
        ),
    )
    .at(host.role())
    .explaining(blame.share)
    .seen(format!("InReceives {}, forwarded {}", count(received), count(forwarded)))
    .remedy(
        "see its rules: iptables -L FORWARD -v -n, nft list ruleset; and its connection \
         tracking: conntrack -S",
    );
    let untracked = host.sum(counter::CONNTRACK_DROP).unwrap_or(0);
    let told = (untracked > 0).then(|| format!("drop of conntrack: {}", count(untracked)));
    Some(told.into_iter().fold(found, Found::seen))
}

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        crate::test_record::send_again(record, 1_700, 0);
        record.outcome.directions[0].retransmits = Some(1_700);
        forward(record, 74_914);
    })
    .silent(|record| {
        crate::test_record::send_again(record, 1_700, 0);
        record.outcome.directions[0].retransmits = Some(1_700);
        forward(record, 76_448);
    });

#[cfg(test)]
fn forward(record: &mut measurement::TestRecord, packets: u64) {
    let host = crate::test_record::observe(record, "router");
    crate::test_record::grow(host, counter::IP_IN_RECEIVES.v4, 76_448);
    crate::test_record::grow(host, counter::IP_FORW_DATAGRAMS.v4, packets);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::Test;
    use crate::test_record;

    #[test]
    fn each_router_has_its_own_number() {
        let mut record = test_record::tcp();
        record.outcome.directions[0].retransmits = Some(1_700);
        forward(&mut record, 74_914);
        let other = test_record::observe(&mut record, "another");
        test_record::grow(other, counter::IP_IN_RECEIVES.v4, 74_914);
        test_record::grow(other, counter::IP_FORW_DATAGRAMS.v4, 74_914);
        let test = Test::from_record(&record);
        let found = check(&Case::of_test(&test, &[]));
        let texts: Vec<_> = found.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts, ["router router drops packets that it should forward: 1,534 (2.0 %)"]);
    }
}
