//! `application-limited`: TCP had nothing to send.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::transfer::Transfer;
use crate::words::{self, percent};

const PAGE: Page = Page {
    id: RuleId::ApplicationLimited,
    title: "Application-limited sender",
    what: "For at least a tenth of the time nothing was in flight, and nothing was refused.",
    why: "Then the network could have taken more than the program gave: the sender's CPU or its \
          program is slower than the path.",
    evidence: "The time that the connection was not busy (`tcpi_busy_time`).",
    remedy: "Larger blocks (`-l`), more streams (`-P`), faster engines (`--fastest`).",
    source: "tcp(7)",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Symptom, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    super::in_transfers(case, |_, transfer| finding(transfer))
}

fn finding(transfer: &Transfer<'_>) -> Option<Found> {
    let share = transfer.shares().application;
    let sender = transfer.sender();
    (share >= NOTICED).then(|| {
        let text =
            format!("application-limited: TCP on {} had no data to send", words::host(&sender));
        Found::candidate(text)
            .at(&sender)
            .going(transfer.flow.outcome.direction)
            .explaining(share)
            .seen(format!("nothing was in flight for {} of the time", percent(share)))
            .remedy("use larger blocks (-l), more streams (-P) or faster engines (--fastest)")
    })
}

/// Share of the time. To be calibrated.
const NOTICED: f64 = 0.10;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| crate::test_record::sent(record).busy_micros = 6_000_000)
    .silent(|record| crate::test_record::sent(record).busy_micros = 9_500_000);
