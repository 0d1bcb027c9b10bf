//! `standing-queue`: a queue on the path is always full.

use super::{Case, Class, Found, Page, Rule, RuleId, UsualEffect};
use crate::bottleneck::transfer::{self, Transfer};

const PAGE: Page = Page {
    id: RuleId::StandingQueue,
    title: "Standing queue on the path (bufferbloat)",
    what: "Under load the round trip was at least five times the least one and 1 ms above it, \
           while the sender waited for its congestion window. `path-rate-limit` or the rule of a \
           host says what the limit is.",
    why: "More arrives there than the link behind it takes: that queue is at the bottleneck of \
          the path, and delays everybody's packets.",
    evidence: "The median of the smoothed round trips against the least (`tcpi_rtt`, \
               `tcpi_min_rtt`).",
    remedy: "Find the queue (`--observe HOST`): a shaper, a slower link; there `fq_codel` or `cake` \
             keeps it short. More rate needs a faster link.",
    source: "RFC 8290",
};

pub(super) const RULE: Rule =
    Rule::new(&PAGE, Class::Symptom, check).with_effect(UsualEffect::Delay);

fn check(case: &Case<'_>) -> Vec<Found> {
    super::in_transfers(case, |_, transfer| finding(transfer))
}

fn finding(transfer: &Transfer<'_>) -> Option<Found> {
    let (trip, least) = transfer.typical_round_trip().zip(transfer.least_round_trip())?;
    let waited = transfer.standing_queue().filter(|_| transfer.may_wait_for_the_path())?;
    let share = waited.as_secs_f64() / trip.as_secs_f64();
    let found = Found::note(format!("a full queue adds {} of delay", transfer::shown(waited)))
        .going(transfer.flow.outcome.direction)
        .explaining(share * transfer.shares().congestion_window)
        .seen(format!(
            "a round trip takes {}, without load {}",
            transfer::shown(trip),
            transfer::shown(least)
        ))
        .remedy(
            "find the shaper or slow link (--observe HOST); fq_codel or cake there keeps the \
                 queue short",
        );
    Some(found)
}

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        let tcp = crate::test_record::sent(record);
        (tcp.rtt_micros, tcp.min_rtt_micros) = (48_000, 300);
    })
    .silent(|record| {
        let tcp = crate::test_record::sent(record);
        (tcp.rtt_micros, tcp.min_rtt_micros) = (1_200, 300);
    });
