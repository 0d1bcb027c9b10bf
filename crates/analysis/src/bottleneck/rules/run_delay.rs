//! `run-delay`: the test waits for a CPU that others have.

use super::{Case, Found, Rule};
use crate::evidence::HostView;
use crate::facts::{others_cpu, run_delay};
use crate::words::{self, percent};
#[cfg(test)]
use measurement::host::counter;

pub(super) const RULE: Rule = Rule { page: &run_delay::PAGE, check };

fn check(case: &Case<'_>) -> Vec<Found> {
    if case.wanting().next().is_none() {
        return Vec::new();
    }
    let Some(test) = case.test else { return Vec::new() };
    test.ends().filter_map(|host| finding(case, host)).collect()
}

fn finding(case: &Case<'_>, host: &HostView<'_>) -> Option<Found> {
    let test = case.test?;
    let share = run_delay::share(test, host)?;
    let severity = run_delay::THRESHOLDS.grade(share)?;
    if run_delay::is_by_the_other_end(test, host) {
        return None;
    }
    let name = words::host(host.role());
    let fact = format!("linerate waits for a CPU on {name} (run delay)");
    let found = Found::new(severity.into(), fact)
        .at(host.role())
        .explaining(share)
        .seen(format!("a worker could have run and did not for {} of the time", percent(share)))
        .remedy("stop what else runs there, or choose CPUs that are free (--cpus)");
    let others =
        others_cpu::taken(test, host).filter(|taken| *taken > others_cpu::THRESHOLDS.noticeable);
    Some(match others {
        Some(others) => found.seen(format!("other processes used {}", words::cpus(others))),
        None => found,
    })
}

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::TASK_WAIT.on(77), 4_500_000_000);
        crate::test_record::grow(host, counter::TASK_RUN.on(77), 4_000_000_000);
        crate::test_record::grow(host, counter::CPU_USER.on(0), 5_000_000_000);
    })
    .silent(|record| {
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::TASK_WAIT.on(77), 100_000_000);
        crate::test_record::grow(host, counter::CPU_USER.on(1), 9_000_000_000);
    });
