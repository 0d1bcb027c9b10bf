//! `cpu-saturated`: a CPU of an end has no time left, whatever it does.

use measurement::host::Family;
use measurement::{ProfileSource, Role};

use super::{Case, Found, Page, Rule, RuleId};
use crate::bottleneck::load::{self, Full};
use crate::words::{self, percent};

const PAGE: Page = Page {
    id: RuleId::CpuSaturated,
    title: "CPU saturated",
    what: "A host's CPU was busy for at least 90 % of the time, and not with other programs; or \
           for more than half of it while a thread of linerate, which changed its CPU, never \
           paused. Where an end tells nothing of its CPUs, that it may be so is a candidate.",
    why: "The rate of the test is then what this CPU can do. A profile tells what it spends its \
          time on; another rule then names that.",
    evidence: "Time of the CPUs (`/proc/stat`), samples, or what somebody stated of them.",
    remedy: "A profile of the CPUs (linerate as root, or `kernel.perf_event_paranoid=1`) says what \
             to change; until then more streams (`-P`), offloads, a larger MTU.",
    source: "proc_stat(5), B. Gregg, USE method",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(case: &Case<'_>) -> Vec<Found> {
    let full = load::full(case);
    let mut found: Vec<_> = full.iter().map(|full| finding(case, full)).collect();
    if full.is_empty() {
        found.extend(unknown(case));
    }
    found
}

fn finding(case: &Case<'_>, full: &Full<'_>) -> Found {
    let text = format!("{}'s CPU is full", words::host(&full.role));
    let mut found = Found::limit(text).at(&full.role).explaining(full.busy).seen(full.in_words());
    if let Some(interrupts) = full.interrupts.filter(|share| *share >= 0.10) {
        found = found.seen(format!("{} of that in interrupts and softirqs", percent(interrupts)));
    }
    if let Some(through) = case.wanting().next().and_then(|flow| flow.outcome.headline()) {
        found = found.seen(format!("throughput {}", through.rate));
    }
    match full.most() {
        Some((work, share)) => found
            .seen(format!("{} of that: {work}", percent(share)))
            .remedy("use more streams (-P), offloads, longer blocks (-l) or a larger MTU"),
        None => found.remedy(
            "profile it: run linerate there as root, for 2 s or more; until then try more streams \
             (-P)",
        ),
    }
}

/// Ends that say nothing of their CPUs, where nothing shows what else it is.
fn unknown(case: &Case<'_>) -> Vec<Found> {
    let Some(flow) = case.wanting().next().filter(|_| case.is_tcp()) else { return Vec::new() };
    let rate = flow.outcome.headline().map(|headline| headline.rate);
    let Some(rate) = rate.filter(|rate| rate.bits_per_second() > 0) else { return Vec::new() };
    let silent = [Role::Here, Role::Peer].into_iter().filter(|role| {
        let host = case.host(role);
        host.is_none_or(|host| {
            let is_stated = host
                .evidence
                .profile
                .as_ref()
                .is_some_and(|profile| matches!(profile.source, ProfileSource::Stated(_)));
            !host.reports(Family::CPU) && !is_stated
        })
    });
    silent
        .map(|role| {
            let name = words::host(&role);
            Found::candidate(format!("{name}'s CPU may be full"))
                .at(&role)
                .seen(format!("{name} reports no CPU times; the rate was {rate}"))
                .remedy(format!("run linerate on {name}, as root for a profile"))
        })
        .collect()
}

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| crate::test_record::fill(crate::test_record::host(record, &Role::Peer), 0.98))
    .silent(|record| crate::test_record::fill(crate::test_record::host(record, &Role::Peer), 0.75));
