//! `udp-port-closed`: datagrams reached a host on which nobody listened.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::accounts::Flow;
use crate::words::{self, counted, percent, share};
use measurement::host::counter;

const PAGE: Page = Page {
    id: RuleId::UdpPortClosed,
    title: "UDP port closed (NoPorts)",
    what: "The receiving host answered at least a tenth of the missing datagrams with \"port \
           unreachable\".",
    why: "The receiver had closed its socket, or a router sent them elsewhere. They are no loss \
          of the network.",
    evidence: "`NoPorts` of UDP against the datagrams that are missing.",
    remedy: "Look whether the receiver ended early, and at address translation on the way.",
    source: "udp(7), RFC 1122 (4.1.3.1)",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Filter, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    case.flows().iter().filter_map(|flow| finding(case, flow)).collect()
}

fn finding(case: &Case<'_>, flow: &Flow<'_>) -> Option<Found> {
    let ledger = flow.account.ledger.as_ref().filter(|ledger| ledger.lost() > 0)?;
    let receiver = flow.receiver();
    let host = case.host(&receiver)?;
    let unheard = counter::UDP_NO_PORTS.each();
    let unheard = unheard.iter().filter_map(|counter| host.growth(*counter)).sum::<u64>();
    let part = share(unheard, ledger.lost()).min(1.0);
    (part >= NOTICED && unheard > FEW).then(|| {
        let name = words::host(&receiver);
        Found::candidate(format!("datagrams arrived at a closed UDP port of {name}"))
            .at(&receiver)
            .going(flow.outcome.direction)
            .explaining(part)
            .seen(format!(
                "{} (NoPorts), {} of the loss at most",
                counted(unheard, "datagram"),
                percent(part)
            ))
            .remedy("look whether the receiver ended early, and at address translation on the way")
    })
}

/// Of what is missing.
const NOTICED: f64 = 0.10;
/// Other programs' datagrams come to closed ports too.
const FEW: u64 = 20;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::udp)
    .fires(|record| {
        crate::test_record::lose(record, 5_000);
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::UDP_NO_PORTS.v4, 2_500);
    })
    .silent(|record| {
        crate::test_record::lose(record, 5_000);
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::UDP_NO_PORTS.v4, 7);
    });
