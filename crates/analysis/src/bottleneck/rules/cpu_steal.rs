//! `cpu-steal`: a hypervisor takes the CPU away.

use super::{Case, Class, Found, Rule};
use crate::evidence::HostView;
use crate::facts::steal;
use crate::words::{self, percent};
#[cfg(test)]
use measurement::host::counter;

pub(super) const RULE: Rule = Rule::new(&steal::PAGE, Class::Late, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    let test = case.test.filter(|_| case.wanting().next().is_some());
    test.map_or_else(Vec::new, |test| test.kernels().filter_map(finding).collect())
}

fn finding(host: &HostView<'_>) -> Option<Found> {
    let stolen = steal::stolen(host)?;
    let severity = steal::THRESHOLDS.grade(stolen.share)?;
    let text = format!("the hypervisor steals CPU time of {}", words::host(host.role()));
    let (cpu, share) = (stolen.cpu, stolen.share);
    let found = Found::new(severity.into(), text)
        .at(host.role())
        .explaining(share)
        .seen(format!("{} of the time of CPU {cpu} was stolen", percent(share)))
        .remedy("test again, or use a host with CPUs of its own");
    Some(found)
}

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        let host = crate::test_record::host(record, &measurement::Role::Here);
        crate::test_record::grow(host, counter::CPU_STEAL.on(0), 2_500_000_000);
    })
    .silent(|record| {
        let host = crate::test_record::host(record, &measurement::Role::Here);
        crate::test_record::grow(host, counter::CPU_STEAL.on(0), 100_000_000);
    });
