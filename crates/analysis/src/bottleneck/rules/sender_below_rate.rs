//! `sender-below-rate`: the sender cannot send the rate that was asked.

use measurement::{BitRate, RateSearch, RateSearchEnd};

use super::{Case, Class, Found, Rule};
use crate::accounts::Flow;
use crate::bottleneck::load;
use crate::facts::{send_blocked, workers};
use crate::words::{self, percent, share};

pub(super) const RULE: Rule = Rule::new(&send_blocked::PAGE, Class::Short, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    case.wanting().filter_map(|flow| finding(case, flow)).collect()
}

fn finding(case: &Case<'_>, flow: &Flow<'_>) -> Option<Found> {
    let test = case.test?;
    let (asked, offered) = asked(case, flow).zip(flow.outcome.offered)?;
    let kept = share(offered.rate.bits_per_second(), asked.bits_per_second());
    if kept >= send_blocked::KEPT || send_blocked::is_by_a_block(test.record, flow.outcome) {
        return None;
    }
    let missing = 1.0 - kept;
    // What is behind the sender takes no more: other rules say what that is.
    if case.is_tcp() || send_blocked::share(test, flow.outcome.direction) > missing / 2.0 {
        return None;
    }
    let sender = flow.sender();
    let worker = workers::limiting(test, &sender);
    let full = load::full(case).into_iter().find(|full| full.role == sender);
    let name = words::host(&sender);
    let fact = match case.search() {
        Some(_) => format!("{name} cannot send more than {}", offered.rate),
        None => format!("{name} cannot send the requested rate"),
    };
    let is_shown = worker.is_some() || full.is_some();
    let found = if is_shown { Found::limit(fact) } else { Found::candidate(fact) };
    let mut found = found
        .at(&sender)
        .going(flow.outcome.direction)
        .explaining(missing)
        .seen(format!("sent {} of the requested {asked} ({})", offered.rate, percent(kept)))
        .remedy(
            "use longer datagrams (-l), more streams (-P) or faster engines (--fastest), or ask \
             for less (-b)",
        );
    if let Some((number, worker)) = worker {
        let busy = percent(worker.utilisation);
        found = found.seen(format!("its worker {number} was busy {busy} of the time"));
    }
    if let Some(full) = full {
        found = found.seen(full.in_words());
        if let Some((work, share)) = full.most() {
            found = found.seen(format!("{} of that: {work}", percent(share)));
        }
    }
    Some(found)
}

/// The rate that was requested, or that of the trial in which a search saw the sender at its limit.
fn asked(case: &Case<'_>, flow: &Flow<'_>) -> Option<BitRate> {
    let is_limit = |search: &&RateSearch| search.end == RateSearchEnd::Sender;
    let trial = || case.search().filter(is_limit).and(case.test?.record.plan.asked());
    flow.outcome.asked.or_else(trial)
}

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::udp)
    .fires(|record| {
        crate::test_record::send_only(record, 60_000_000);
        crate::test_record::occupy(record, &measurement::Role::Here, 0.99);
        crate::test_record::fill(crate::test_record::host(record, &measurement::Role::Here), 0.99);
    })
    .silent(|record| {
        crate::test_record::send_only(record, 60_000_000);
        crate::test_record::block(record, 6_000_000_000);
    });
