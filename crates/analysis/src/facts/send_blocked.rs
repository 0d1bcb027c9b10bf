//! A sender had to wait for room in its sockets.

use std::time::Duration;

use measurement::{Direction, DirectionOutcome, Page, RuleId, TestRecord};

use crate::evidence::{Evidence, senders};

/// The fact in words, for the rule of trust and for that of what limits.
pub(crate) const PAGE: Page = Page {
    id: RuleId::SenderBelowRate,
    title: "Sender below the requested rate",
    what: "Less than 98 % of it was handed to the sockets.",
    why: "Then loss and rate belong to another load than the one that was asked for, and what \
           looks like the network's limit is the sender's. TCP may be held back by the network \
           or the receiver, which is what a test of it is for: that is only noted.",
    evidence: "What was offered against what was asked; the sender's worker, its waits for a CPU, \
           its stalls, what it gave up.",
    remedy: "As the cause has it.",
    source: "",
};

/// Share of the time in which the sender's sockets had no room, mean over its streams; zero if
/// the sender does not report it.
pub(crate) fn share(evidence: &Evidence<'_>, direction: Direction) -> f64 {
    let senders = senders(evidence.record, direction);
    let shares = senders.iter().map(|(one, span)| {
        let blocked = Duration::from_nanos(one.counters.blocked_nanos).as_secs_f64();
        blocked / span.as_secs_f64().max(f64::MIN_POSITIVE)
    });
    shares.sum::<f64>() / senders.len().max(1) as f64
}

/// Whether what was not sent of the rate asked is only a block or two of each stream, which a
/// short time or a low rate has too few of.
pub(crate) fn is_by_a_block(record: &TestRecord, outcome: &DirectionOutcome) -> bool {
    let (Some(asked), Some(offered)) = (outcome.asked, outcome.offered) else { return false };
    let due = asked.bits_per_second() as f64 / 8.0 * offered.span.as_secs_f64();
    let block = record.streams.first().map_or(0, |stream| stream.block.bytes());
    due - (offered.bytes as f64) < 2.0 * block as f64 * f64::from(record.plan.streams)
}

/// A rate above this share of the rate asked was kept: clocks and the last block explain the
/// rest.
pub(crate) const KEPT: f64 = 0.98;
