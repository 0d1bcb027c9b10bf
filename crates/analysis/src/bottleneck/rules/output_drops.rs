//! `output-drops`: the packet filter of the sender drops what it sends.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::transfer;
use crate::evidence::{Flowing, HostView};
use crate::facts::ip_layer;
use crate::words::{self, count, percent, share};
use measurement::Role;
use measurement::host::counter;

const PAGE: Page = Page {
    id: RuleId::OutputDrops,
    title: "Packet filter of the sender drops on output",
    what: "The IP layer of the sender was given packets that it did not send, and less was sent \
           than asked, or than could be.",
    why: "A rule at the hook OUTPUT drops before the queue. sendmsg(2) fails with `EPERM` then: a \
          stream of UDP ends, and one of TCP sends the segment later.",
    evidence: "`OutRequests` against `OutTransmits` of IP, which older kernels do not have.",
    remedy: "`iptables -L OUTPUT -v -n`, `nft list ruleset` on the sender.",
    source: "snmp_counter.rst, iptables(8)",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Filter, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    let ends = case.hosts.iter().filter(|host| !matches!(host.role(), Role::Observed(_)));
    ends.filter_map(|host| finding(case, host)).collect()
}

fn finding(case: &Case<'_>, host: &HostView<'_>) -> Option<Found> {
    case.through(host.role(), Flowing::Out).next()?;
    let dropped = ip_layer::filtered_out(host).least;
    let given = host.growth(counter::IP_OUT_REQUESTS.v4)?;
    let part = share(dropped, given);
    let name = words::host(host.role());
    let text = format!("the firewall of {name} drops packets that it sends");
    (part > TOLERATED).then(|| {
        let found =
            if is_lost_later(case, host) { Found::candidate(text) } else { Found::limit(text) };
        found
            .at(host.role())
            .explaining(1.0)
            .seen(format!(
                "{} of {} packets that IP was given ({}): OutRequests less OutTransmits",
                count(dropped),
                count(given),
                percent(part)
            ))
            .remedy("see its rules: iptables -L OUTPUT -v -n, nft list ruleset")
    })
}

/// Whether TCP sends segments again that are needed: those that the filter refuses it is told of, and
/// tries again (`tcp_write_xmit`), so that these were lost behind it.
fn is_lost_later(case: &Case<'_>, host: &HostView<'_>) -> bool {
    let transfers = transfer::wanting(case);
    let mut sent = transfers.iter().filter(|transfer| transfer.sender() == *host.role());
    sent.any(|transfer| transfer.sent_again() * (1.0 - transfer.spurious()) >= LOST)
}

/// Least share of the bytes that are sent again, and had not arrived, at which the path loses.
const LOST: f64 = 0.001;
/// Of the packets. A thousandth of loss already shows in a rate of TCP.
const TOLERATED: f64 = 0.001;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| transmit(record, 42_298))
    .silent(|record| transmit(record, 43_120));

#[cfg(test)]
fn transmit(record: &mut measurement::TestRecord, packets: u64) {
    let host = crate::test_record::host(record, &Role::Here);
    crate::test_record::grow(host, counter::IP_OUT_REQUESTS.v4, 43_134);
    crate::test_record::grow(host, counter::IP_OUT_TRANSMITS.v4, packets);
}
