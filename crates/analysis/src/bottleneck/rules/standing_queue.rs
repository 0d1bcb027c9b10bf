//! `standing-queue`: a queue on the path is always full.

use std::time::Duration;

use super::{Case, Found, Page, Rule, RuleId};
use crate::bottleneck::load;
use crate::bottleneck::transfer::{self, Transfer};
use crate::words::percent;

const PAGE: Page = Page {
    id: RuleId::StandingQueue,
    title: "Standing queue on the path (bufferbloat)",
    what: "Under load the round trip was more than five times the least one and 1 ms above it. It \
           is the limit where the sender waited for its congestion window, and the CPUs of both \
           ends had time left.",
    why: "What waits there is more than the link behind it takes: the place in front of that \
          queue is the narrowest of the path, and its length is delay for everybody.",
    evidence: "The smoothed round trip at the end against the least (`tcpi_rtt`, `tcpi_min_rtt`); \
               the time of the CPUs.",
    remedy: "Find the queue (`--observe HOST`): a shaper, a slower link; there `fq_codel` or `cake` \
             keeps it short. More rate needs a faster link.",
    source: "RFC 8290",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(case: &Case<'_>) -> Vec<Found> {
    transfer::wanting(case).iter().filter_map(|transfer| finding(case, transfer)).collect()
}

fn finding(case: &Case<'_>, transfer: &Transfer<'_>) -> Option<Found> {
    let (trip, least) = transfer.round_trip().zip(transfer.least_round_trip())?;
    let waited = trip.saturating_sub(least);
    if trip < 5 * least || waited < LONG || !transfer.may_wait_for_the_path() {
        return None;
    }
    let share = waited.as_secs_f64() / trip.as_secs_f64();
    let text = format!("bottleneck on the path; its full queue adds {}", transfer::shown(waited));
    let found = if transfer.account.shares.is_some() && have_time(case) {
        Found::limit(text)
    } else {
        Found::candidate(text)
    };
    let found = found
        .going(transfer.flow.outcome.direction)
        .explaining(share * transfer.shares().congestion_window)
        .seen(format!(
            "a round trip takes {}, without load {}",
            transfer::shown(trip),
            transfer::shown(least)
        ))
        .seen(format!(
            "the sender waited for its congestion window {} of the time",
            percent(transfer.shares().congestion_window)
        ))
        .remedy("find the shaper or the slow link (--observe HOST); fq_codel there keeps it short");
    Some(found)
}

/// Both ends tell that no CPU of theirs was full.
fn have_time(case: &Case<'_>) -> bool {
    let ends = [measurement::Role::Here, measurement::Role::Peer];
    ends.iter().all(|role| {
        let busy = case.host(role).and_then(|host| load::busiest(case, host));
        busy.is_some_and(|busy| busy < AT_EASE)
    })
}

/// Above the least round trip. To be calibrated.
const LONG: Duration = Duration::from_millis(1);
/// A CPU with so much left did not make a queue. To be calibrated.
const AT_EASE: f64 = 0.80;

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
