//! `input-drops`: the packet filter of the receiver drops what comes in.

use measurement::judgement::{Drop, Place};
use measurement::{Certainty, Ledger};

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::accounts::Flow;
use crate::bottleneck::hops::{self, Hop};
use crate::words::{self, count, percent, share};

const PAGE: Page = Page {
    id: RuleId::InputDrops,
    title: "Packet filter of the receiver drops on input",
    what: "Packets came into the IP layer of the receiver and reached no socket, nor were they \
           dropped for a reason that IP counts.",
    why: "A rule at the hook PREROUTING or INPUT drops without a counter of the kernel, and to a \
          tool the packets are lost on the network.",
    evidence: "`InReceives` against `InDelivers` of IP, without its errors, reassembly and what was \
               forwarded; of UDP the ledger.",
    remedy: "`iptables -L INPUT -v -n`, `nft list ruleset` on the receiver.",
    source: "RFC 4293, snmp_counter.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Filter, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    case.wanting().filter_map(|flow| finding(case, flow)).collect()
}

fn finding(case: &Case<'_>, flow: &Flow<'_>) -> Option<Found> {
    let receiver = flow.receiver();
    let hop = hops::at_input(case, case.host(&receiver)?)?;
    let (what, certainty, part) = match &flow.account.ledger {
        Some(ledger) => of_ledger(ledger, &hop)?,
        None => ("segments", hop.blame.certainty, hop.blame.share),
    };
    let text = format!("the firewall of {} drops {what}", words::host(&receiver));
    let found = Found::new(certainty, text).at(&receiver).going(flow.outcome.direction);
    let found = found
        .explaining(part)
        .seen(described(&hop))
        .seen(format!("{} of the loss", percent(part)))
        .remedy("see what its rules count: iptables -L -v -n, nft list ruleset");
    Some(match case.host(&receiver).and_then(|host| hops::allowed_at_input(case, host)) {
        Some(bound) => found.allowing(bound),
        None => found,
    })
}

/// Of UDP the ledger tells how many datagrams that were. What drops most of what came to it limits,
/// however much was lost before.
fn of_ledger(ledger: &Ledger, hop: &Hop) -> Option<(&'static str, Certainty, f64)> {
    let drops = ledger.drops.iter().filter(|drop| drop.place == Place::ReceiverFirewall);
    let sum = |of: fn(&Drop) -> u64| drops.clone().map(of).fold(0, u64::saturating_add);
    let part = share(sum(|drop| drop.datagrams), ledger.lost());
    let is_most = part >= MOST_OF_IT || hop.passed() <= 1.0 - MOST_OF_IT;
    let is_sure = is_most && share(sum(|drop| drop.least), ledger.lost()) >= part / 2.0;
    let certainty = if is_sure { Certainty::Limit } else { Certainty::Candidate };
    let is_much = share(sum(|drop| drop.datagrams), ledger.sent) > TOLERATED;
    is_much.then_some(("datagrams", certainty, part))
}

fn described(hop: &Hop) -> String {
    format!(
        "{} of {} packets entered its IP layer and reached no socket",
        count(hop.dropped),
        count(hop.received)
    )
}

/// Of the loss.
const MOST_OF_IT: f64 = 0.5;
/// Of all datagrams. To be calibrated.
const TOLERATED: f64 = 0.000_1;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::udp)
    .fires(|record| {
        crate::test_record::lose(record, 5_000);
        crate::test_record::filter(record, &measurement::Role::Peer, 5_000);
    })
    .silent(|record| {
        crate::test_record::lose(record, 5_000);
        crate::test_record::filter(record, &measurement::Role::Peer, 0);
    });

#[cfg(test)]
mod tests {
    use measurement::Role;

    use super::*;
    use crate::test_record;

    #[test]
    fn segments_that_the_firewall_dropped_were_not_lost_on_the_path() {
        let mut record = test_record::tcp();
        test_record::send_again(&mut record, 4_000, 10);
        record.outcome.directions[0].retransmits = Some(4_000);
        test_record::filter(&mut record, &Role::Peer, 5_000);
        let verdict = crate::judge(&record).verdict.expect("something was measured");
        let begin = "the firewall of the server drops segments; ";
        assert!(verdict.sentence.starts_with(begin), "{verdict:?}");
        assert!(!verdict.findings.iter().any(|one| one.rule == RuleId::TcpPathLoss));
    }

    #[test]
    fn a_few_datagrams_of_a_short_trial_are_named_where_the_ledger_has_them() {
        let mut record = test_record::udp();
        test_record::send_only(&mut record, 328 * 1_250);
        test_record::offer(&mut record, 328 * 1_250, 320 * 1_250);
        let datagrams = record.outcome.directions[0].datagrams.as_mut().expect("reported");
        (datagrams.received, datagrams.lost) = (320, 8);
        test_record::filter(&mut record, &Role::Peer, 8);
        let verdict = crate::judge(&record).verdict.expect("something was measured");
        assert_eq!(verdict.findings[0].rule, RuleId::InputDrops, "{verdict:?}");
    }
}
