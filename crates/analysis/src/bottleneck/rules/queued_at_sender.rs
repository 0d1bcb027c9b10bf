//! `queued-at-sender`: segments were stuck in the sender's own queue.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::transfer::{self, Transfer};
use crate::words::{self, percent};
use measurement::host::counter;

const PAGE: Page = Page {
    id: RuleId::QueuedAtSender,
    title: "Queued at the sender (TSQ, qdisc backlog)",
    what: "TCP wanted to send again what its own host had not sent yet.",
    why: "The queueing discipline or the driver holds packets longer than a round trip should \
          take: it is the sender that is slow, and not the path.",
    evidence: "`TCPSpuriousRtxHostQueues`, `TCPWqueueTooBig` of the sender.",
    remedy: "Look at `tc -s qdisc` and the driver's queue; `fq_codel`, byte queue limits.",
    source: "Documentation/networking/snmp_counter.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Symptom, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    super::in_transfers(case, finding)
}

fn finding(case: &Case<'_>, transfer: &Transfer<'_>) -> Option<Found> {
    let sender = transfer.sender();
    let names = [counter::TCP_SPURIOUS_RTX_HOST_QUEUES, counter::TCP_WQUEUE_TOO_BIG];
    let grown = transfer::grown(case.host(&sender), &names);
    (!grown.is_empty()).then(|| {
        let text = format!(
            "segments are queued at the sender, {} (qdisc or driver)",
            words::host(&sender)
        );
        let share = transfer.shares().congestion_window;
        Found::candidate(text)
            .at(&sender)
            .going(transfer.flow.outcome.direction)
            .explaining(share / 2.0)
            .seen(transfer::in_words(&grown))
            .seen(format!(
                "the sender waited for its congestion window {} of the time",
                percent(share)
            ))
            .remedy("look at tc -s qdisc there, and at the driver's queue (byte queue limits)")
    })
}

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        let host = crate::test_record::host(record, &measurement::Role::Here);
        crate::test_record::grow(host, counter::TCP_SPURIOUS_RTX_HOST_QUEUES, 40);
    })
    .silent(|record| {
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::TCP_SPURIOUS_RTX_HOST_QUEUES, 40);
    });
