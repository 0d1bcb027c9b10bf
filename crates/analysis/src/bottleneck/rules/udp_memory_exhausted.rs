//! `udp-memory-exhausted`: the memory that all UDP sockets share ran out.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::accounts::Flow;
use crate::words::{self, counted, percent, share};
use measurement::host::counter;

const PAGE: Page = Page {
    id: RuleId::UdpMemoryExhausted,
    title: "UDP memory exhausted (udp_mem)",
    what: "The receiver dropped datagrams since all UDP sockets together had as much memory as \
    they \
           may have.",
    why: "That bound holds for the host, whatever buffer a single socket has.",
    evidence: "`MemErrors` of UDP against the datagrams that are missing.",
    remedy: "Raise `net.ipv4.udp_mem` (in pages), or read faster.",
    source: "udp(7)",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Overrun, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    case.flows().iter().filter_map(|flow| finding(case, flow)).collect()
}

fn finding(case: &Case<'_>, flow: &Flow<'_>) -> Option<Found> {
    let ledger = flow.account.ledger.as_ref()?;
    let receiver = flow.receiver();
    let host = case.host(&receiver)?;
    let refused = counter::UDP_MEM_ERRORS.each();
    let refused = refused.iter().filter_map(|counter| host.growth(*counter)).sum::<u64>();
    let part = share(refused.min(ledger.lost()), ledger.lost());
    (share(refused.min(ledger.lost()), ledger.sent) > TOLERATED && part >= 0.5).then(|| {
        Found::limit(format!("UDP memory exhausted on {} (udp_mem)", words::host(&receiver)))
            .at(&receiver)
            .going(flow.outcome.direction)
            .explaining(part)
            .seen(format!(
                "{} there, {} of the loss (MemErrors)",
                counted(refused, "drop"),
                percent(part)
            ))
            .remedy("raise all three numbers of net.ipv4.udp_mem there")
    })
}

/// Of all datagrams. To be calibrated.
const TOLERATED: f64 = 0.000_1;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::udp)
    .fires(|record| {
        crate::test_record::lose(record, 5_000);
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::UDP_MEM_ERRORS.v4, 4_900);
    })
    .silent(|record| crate::test_record::lose(record, 5_000));
