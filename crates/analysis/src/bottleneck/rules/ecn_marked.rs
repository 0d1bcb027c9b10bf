//! `ecn-marked`: a queue on the path marks congestion.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::transfer::Transfer;
use crate::words::counted;

const PAGE: Page = Page {
    id: RuleId::EcnMarked,
    title: "ECN congestion marks",
    what: "Segments arrived with a mark of congestion (ECN).",
    why: "A queue that is managed (`fq_codel`, `cake`) marks in place of dropping: what is behind \
          it is the narrowest of the path, and no host limits.",
    evidence: "`tcpi_delivered_ce`.",
    remedy: "Nothing at the hosts; more rate needs a faster link or another shaper there.",
    source: "RFC 3168",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Queue, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    super::in_transfers(case, |_, transfer| finding(transfer))
}

fn finding(transfer: &Transfer<'_>) -> Option<Found> {
    let marks = transfer.senders.iter().map(|tcp| u64::from(tcp.congestion_marks)).sum::<u64>();
    let text = "bottleneck on the path: its queue marks congestion (ECN)";
    let is_waiting = transfer.account.shares.is_some() && transfer.may_wait_for_the_path();
    let found = match marks {
        0..FEW => return None,
        _ if is_waiting => Found::limit(text),
        _ => Found::candidate(text),
    };
    let found = found
        .going(transfer.flow.outcome.direction)
        .explaining(transfer.shares().congestion_window)
        .seen(format!("{} arrived with CE marks", counted(marks, "segment")))
        .remedy("look for the shaper or the slower link behind that queue (--observe HOST)");
    Some(found)
}

/// To be calibrated.
const FEW: u64 = 10;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| crate::test_record::sent(record).congestion_marks = 400)
    .silent(|record| crate::test_record::sent(record).congestion_marks = 3);
