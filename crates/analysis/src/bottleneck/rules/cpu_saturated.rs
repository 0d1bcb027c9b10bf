//! `cpu-saturated`: a CPU of an end has no time left, whatever it does.

use measurement::{BitRate, Bound, Role};

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::bound;
use crate::bottleneck::load::{self, Full};
use crate::words::{self, percent};

const PAGE: Page = Page {
    id: RuleId::CpuSaturated,
    title: "CPU saturated",
    what: "A host's CPU was busy for at least 90 % of the time, and not with other programs; or \
           for more than half of it while a thread of linerate, which changed its CPU, never \
           paused; or the program of an end that tells no more used nine tenths of a CPU for one \
           stream. Where nothing of that is known, that it may be so is a candidate.",
    why: "The rate of the test is then what this CPU can do. A profile tells what it spends its \
          time on; another rule then names that.",
    evidence: "Time of the CPUs (`/proc/stat`), samples, what somebody stated of them, or the CPU \
               time of its process that an iperf3 reports.",
    remedy: "A profile of the CPUs (linerate as root, or `kernel.perf_event_paranoid=1`) says what \
             to change; until then more streams (`-P`), offloads, a larger MTU.",
    source: "proc_stat(5), B. Gregg, USE method",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Full, check);

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
    let silent = [Role::Here, Role::Peer].into_iter().filter(|role| load::is_untold(case, role));
    silent
        .map(|role| {
            let used = load::of_process(case, &role);
            let found = used.map_or_else(|| untold(&role, rate), |used| stated(case, &role, used));
            found.remedy(format!("run linerate on {}, as root for a profile", words::host(&role)))
        })
        .collect()
}

fn untold(role: &Role, rate: BitRate) -> Found {
    let name = words::host(role);
    Found::candidate(format!("{name}'s CPU may be full"))
        .at(role)
        .seen(format!("{name} reports no CPU times; the rate was {rate}"))
}

/// An end of which only the CPU time of its program is known, as a share of a CPU. What interrupts
/// take for a receiver is not in it.
fn stated(case: &Case<'_>, role: &Role, used: f64) -> Found {
    let name = words::host(role);
    let seen = format!("its program used {} of a CPU", percent(used));
    if used >= FULL && case.is_one_stream() {
        return Found::limit(format!("{name}'s CPU is full")).at(role).explaining(used).seen(seen);
    }
    let found = Found::candidate(format!("{name}'s CPU may be full")).at(role).seen(seen);
    let passed = bound::of_passed(case, role, None).filter(|_| load::sends_at_ease(case, role));
    match passed {
        Some(passed) => {
            let most = passed.to.bits_per_second() as f64 / used;
            found.allowing(Bound::exact(most, format!("{} took {}", passed.to, percent(used))))
        }
        None => found,
    }
}

/// CPU time of a program with one stream, as a share of a CPU, from which on its thread is full.
const FULL: f64 = 0.90;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| crate::test_record::fill(crate::test_record::host(record, &Role::Peer), 0.98))
    .silent(|record| crate::test_record::fill(crate::test_record::host(record, &Role::Peer), 0.75));

#[cfg(test)]
mod tests {
    use measurement::outcome::CpuUse;
    use measurement::{Certainty, TestRecord};

    use super::*;
    use crate::accounts::Test;
    use crate::bottleneck::{findings, fixture};
    use crate::test_record;

    /// Certainty of the finding on the CPU of a server that reports that its program used `percent` of
    /// one.
    fn of_server(mut record: TestRecord, percent: f64) -> Option<Certainty> {
        record.hosts.truncate(1);
        record.outcome.peer_cpu = Some(CpuUse { total: percent, user: 0.0, system: percent });
        let test = Test::from_record(&record);
        let found = findings(&Case::of_test(&test, &[]));
        let is_it = |one: &&measurement::verdict::Finding| {
            one.rule == RuleId::CpuSaturated && one.host == Some(Role::Peer)
        };
        found.iter().find(is_it).map(|one| one.certainty)
    }

    #[test]
    fn the_cpu_time_of_a_program_tells_of_an_end_that_tells_no_more() {
        let sender = || fixture::tcp_from_iperf3(0);
        assert_eq!(of_server(sender(), 98.0), Some(Certainty::Limit));
        assert_eq!(of_server(sender(), 70.0), Some(Certainty::Candidate));
        assert_eq!(of_server(sender(), 17.0), Some(Certainty::Note), "it had time for far more");
        let receiver = || test_record::tcp();
        assert_eq!(of_server(receiver(), 98.0), Some(Certainty::Limit));
        assert_eq!(
            of_server(receiver(), 17.0),
            Some(Certainty::Candidate),
            "interrupts are not told"
        );
    }
}
