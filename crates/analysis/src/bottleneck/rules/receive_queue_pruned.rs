//! `receive-queue-pruned`: the receiver's TCP dropped or squeezed segments.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::transfer::{self, Transfer};
use crate::words::{self, percent, share};
use measurement::host::{Counter, counter};

const PAGE: Page = Page {
    id: RuleId::ReceiveQueuePruned,
    title: "TCP receive queue pruned or dropped",
    what: "Segments that reached the host were dropped or squeezed in TCP itself.",
    why: "They are sent again although the path lost nothing. The program does not read, its \
          socket is locked for too long, or its buffer is full of small segments.",
    evidence: "`TCPBacklogDrop`, `TCPRcvQDrop`, `TCPOFODrop`, `PruneCalled`, `RcvPruned`, \
               `TCPZeroWindowDrop` of the receiver, against the segments that were sent again.",
    remedy: "A larger `net.ipv4.tcp_rmem`, a CPU of its own for the reader, GRO.",
    source: "Documentation/networking/snmp_counter.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Overrun, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    super::in_transfers(case, finding)
}

fn finding(case: &Case<'_>, transfer: &Transfer<'_>) -> Option<Found> {
    let receiver = transfer.receiver();
    let grown = transfer::grown(case.host(&receiver), &NAMES);
    let drops =
        grown.iter().filter(|(name, _)| *name != counter::TCP_PRUNE_CALLED).map(|(_, by)| *by);
    let drops = drops.fold(0, u64::saturating_add);
    if grown.is_empty() || transfer.sent_again() < NOTICED {
        return None;
    }
    let part = share(drops, transfer.account.retransmitted_segments).min(1.0);
    let text = format!("TCP of {} drops or prunes received segments", words::host(&receiver));
    let found = if part >= 0.5 && transfer.may_wait_for_the_path() {
        Found::limit(text)
    } else {
        Found::candidate(text)
    };
    let found = found
        .at(&receiver)
        .going(transfer.flow.outcome.direction)
        .explaining(part)
        .seen(transfer::in_words(&grown))
        .seen(format!("{} of the retransmitted segments", percent(part)))
        .remedy("raise net.ipv4.tcp_rmem there, and give the reader a CPU of its own (--cpus)");
    Some(found)
}

const NAMES: [Counter<'static>; 6] = [
    counter::TCP_BACKLOG_DROP,
    counter::TCP_RCV_Q_DROP,
    counter::TCP_OFO_DROP,
    counter::TCP_PRUNE_CALLED,
    counter::TCP_RCV_PRUNED,
    counter::TCP_ZERO_WINDOW_DROP,
];
/// Bytes sent again, of all. To be calibrated.
const NOTICED: f64 = 0.001;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        crate::test_record::send_again(record, 1_000, 0);
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::TCP_BACKLOG_DROP, 990);
    })
    .silent(|record| {
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::TCP_BACKLOG_DROP, 3);
    });
