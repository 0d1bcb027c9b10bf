//! `worker-saturated`: a worker of linerate is the limit.

use measurement::Role;

use super::{Case, Class, Found, Rule};
use crate::facts::workers;
use crate::words::{self, count, percent};

pub(super) const RULE: Rule =
    Rule::new(&workers::PAGE, Class::Full, check).seen_from_the_other_end();

fn check(case: &Case<'_>) -> Vec<Found> {
    if case.wanting().next().is_none() {
        return Vec::new();
    }
    [Role::Here, Role::Peer].iter().filter_map(|role| finding(case, role)).collect()
}

fn finding(case: &Case<'_>, role: &Role) -> Option<Found> {
    let (number, worker) = workers::limiting(case.test?, role)?;
    let name = words::host(role);
    let text = format!("worker {number} of linerate on {name} is full");
    let found = Found::limit(text)
        .at(role)
        .explaining(worker.utilisation)
        .seen(format!("it was busy {} of the time", percent(worker.utilisation)))
        .remedy("use more streams (-P), or faster engines (--fastest)");
    let block = case.test?.record.plan.options.block.filter(|_| case.is_tcp());
    let Some(block) = block.filter(|block| block.bytes() < SMALL) else { return Some(found) };
    let found = found
        .seen(format!("each system call moves at most {} bytes", count(block.bytes())))
        .remedy("use longer blocks (-l)");
    Some(found.change_from(super::usual_blocks(), Some(block)))
}

/// Blocks of which a system call costs more than the copy, in bytes. To be calibrated.
const SMALL: u64 = 8_192;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        crate::test_record::occupy(record, &Role::Peer, 0.99);
        record.plan = crate::test_record::plan_with(&record.plan, |draft| draft.streams = 2);
    })
    .silent(|record| crate::test_record::occupy(record, &Role::Peer, 0.80));
