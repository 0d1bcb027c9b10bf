//! From findings to one sentence.

use measurement::verdict::Finding;
use measurement::{Certainty, Conclusion, Order, Role, RuleId, Verdict};

use super::bound::{Closeness, closeness, is_refuted, of_direction};
use super::{
    Case, UsualEffect, brings_about, deciding, effect_of, findings, is_of_a_filter,
    is_seen_from_the_other_end, kind_of,
};
use crate::accounts::Test;

/// What limits `test`.
pub(crate) fn verdict(test: &Test<'_>, case: &Case<'_>) -> Option<Verdict> {
    if test.flows.is_empty() {
        return None;
    }
    let mut findings = findings(case);
    if is_delivered(test) {
        findings.retain(|finding| finding.certainty == Certainty::Note);
        findings.truncate(MOST_FURTHER);
        let sentence = "reached the asked rate".to_owned();
        return Some(Verdict {
            conclusion: Conclusion::Delivered,
            sentence,
            findings,
            would_decide: None,
        });
    }
    let limit = findings.first().filter(|first| first.certainty == Certainty::Limit);
    let limit = limit.filter(|limit| !is_refuted(case, limit));
    if let Some(limit) = limit {
        let sentence = sentence(limit);
        findings.truncate(1 + MOST_FURTHER);
        return Some(Verdict {
            conclusion: Conclusion::Limited,
            sentence,
            findings,
            would_decide: None,
        });
    }
    let would_decide = Some(deciding::measurement(case, &findings));
    let sentence = undecided(test, &findings);
    findings.truncate(1 + MOST_FURTHER);
    Some(Verdict { conclusion: Conclusion::Undecided, sentence, findings, would_decide })
}

/// Findings that name a change, of a test that did not reach the asked rate, the most telling first.
pub(crate) fn changeable(test: &Test<'_>, case: &Case<'_>) -> Vec<Finding> {
    if test.flows.is_empty() || is_delivered(test) {
        return Vec::new();
    }
    let mut findings = findings(case);
    findings.retain(|one| one.certainty != Certainty::Note && !one.remedy.changes.is_empty());
    findings
}

/// Every rate that was asked arrived.
fn is_delivered(test: &Test<'_>) -> bool {
    test.flows.iter().all(|flow| flow.outcome.asked.is_some() && flow.is_kept())
}

/// What limits, and what to change.
fn sentence(limit: &Finding) -> String {
    format!("{}; {}", limit.text, limit.remedy)
}

/// What it could be, as far as anything speaks for it.
fn undecided(test: &Test<'_>, findings: &[Finding]) -> String {
    let candidates = findings.iter().filter(|one| one.certainty == Certainty::Candidate);
    let names: Vec<_> = candidates.take(1 + MOST_FURTHER).map(|one| one.text.as_str()).collect();
    let is_known = test.flows.iter().all(|flow| flow.arrived().is_some());
    let sentence = if is_known {
        "not decidable from this evidence"
    } else {
        "not decidable: the receiver did not report what arrived"
    };
    if names.is_empty() {
        return sentence.to_owned();
    }
    format!("{sentence}; candidates: {}", names.join("; "))
}

/// The most telling first: the surest; of those what the rate does not refute; causes before what
/// they bring about; what names a thing that should not be before what any test has; without a test
/// what allows least; and then what explains most.
pub(super) fn in_order(case: &Case<'_>, mut found: Vec<Finding>) -> Vec<Finding> {
    let limits = found.iter().filter(|finding| finding.certainty == Certainty::Limit);
    let limits = limits.filter(|finding| !is_refuted(case, finding));
    let limits: Vec<_> = limits.cloned().collect();
    let is_consequence = |finding: &Finding| {
        limits.iter().any(|limit| {
            limit.rule != finding.rule
                && brings_about(limit.rule, finding.rule)
                && reaches(case, limit, finding)
                && is_as_long(limit, finding)
                && !outweighs(case, finding, limit)
                // What a filter drops does not make the rate that a shaper was given.
                && !(is_of_a_filter(limit.rule)
                    && closeness(case, finding) == Closeness::Met)
        })
    };
    let key = |finding: &Finding| {
        (
            finding.certainty,
            !is_refuted(case, finding),
            !is_consequence(finding),
            !limits.iter().any(|limit| outweighs(case, limit, finding)),
            kind_of(finding.rule),
            closeness(case, finding),
        )
    };
    // Stable: of equals the one that comes first on the way stays first.
    found.order_by(|one, other| {
        let shares = || explained(case, other).total_cmp(&explained(case, one));
        let bounds = || lowest(case, one).cmp(&lowest(case, other));
        key(other).cmp(&key(one)).then_with(bounds).then_with(shares)
    });
    found
}

/// Whether loss keeps TCP waiting for most of the time, while a host stood still for a small part of
/// it, which costs as much.
fn outweighs(case: &Case<'_>, finding: &Finding, short: &Finding) -> bool {
    let is_short = effect_of(short.rule) == UsualEffect::Passed && short.share <= SHORT;
    let is_loss = finding.rule == RuleId::TcpPathLoss || is_of_a_filter(finding.rule);
    let is_more = || explained(case, finding) > MUCH_LONGER * short.share;
    case.is_tcp() && is_short && is_loss && is_more()
}

/// Whether a cause that is a share of the time lasts about as long as the wait for a CPU that it
/// brings about: the rest of a longer one is of others.
fn is_as_long(limit: &Finding, finding: &Finding) -> bool {
    let are_times = limit.rule == RuleId::CgroupCpuQuota && finding.rule == RuleId::RunDelay;
    !are_times || limit.host != finding.host || limit.share * MUCH_LONGER >= finding.share
}

/// Share of the result that a finding explains. Loss keeps TCP from sending while it waits for its
/// congestion window, as far as the sender tells: of a finding of loss it is that part of the share.
fn explained(case: &Case<'_>, finding: &Finding) -> f64 {
    let is_loss = effect_of(finding.rule) == UsualEffect::Loss;
    let transfers = if is_loss { of_direction(case, finding.direction) } else { Vec::new() };
    let shares = transfers.iter().filter_map(|one| one.account.shares);
    let waited = shares.map(|shares| shares.congestion_window).reduce(f64::max);
    finding.share * waited.unwrap_or(1.0)
}

/// Without a test nothing arrived to which a bound could be compared: the lowest is the worst.
fn lowest(case: &Case<'_>, finding: &Finding) -> u64 {
    let bound = finding.effect.bound().filter(|_| case.test.is_none());
    bound.map_or(u64::MAX, |bound| bound.from.bits_per_second())
}

/// Whether what a cause brings about can be seen where something was found: on its host, or
/// on another namespace of that kernel; between the hosts; or at the other end, where a
/// finding is about waiting for this one.
fn reaches(case: &Case<'_>, limit: &Finding, finding: &Finding) -> bool {
    let same_way = match (limit.direction, finding.direction) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    };
    let same_place = match (&limit.host, &finding.host) {
        (Some(one), Some(other)) => is_one_place(case, one, other),
        _ => true,
    };
    same_way && (same_place || is_seen_from_the_other_end(finding.rule))
}

fn is_one_place(case: &Case<'_>, one: &Role, other: &Role) -> bool {
    let hosts = case.host(one).zip(case.host(other));
    one == other || hosts.is_some_and(|(one, other)| one.is_same_kernel(other))
}

/// Share of the time in which a host stands still, which costs a rate about as much of itself.
const SHORT: f64 = 0.15;
/// So many times the share of a cause is more than it brings about.
const MUCH_LONGER: f64 = 4.0;
/// Findings beside the headline.
const MOST_FURTHER: usize = 3;

#[cfg(test)]
mod tests;
