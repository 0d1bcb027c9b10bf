//! `cgroup-cpu-quota`: a control group's quota is the limit.

#[cfg(test)]
use measurement::host::counter;
use measurement::units::show_time;

use super::{Case, Found, Rule};
use crate::evidence::HostView;
use crate::facts::{Severity, quota};
use crate::words::{self, counted, percent};

pub(super) const RULE: Rule = Rule { page: &quota::PAGE, check };

fn check(case: &Case<'_>) -> Vec<Found> {
    let is_wanting = case.wanting().next().is_some();
    if is_wanting { case.hosts.iter().filter_map(finding).collect() } else { Vec::new() }
}

fn finding(host: &HostView<'_>) -> Option<Found> {
    let throttled = quota::throttled(host)?;
    (throttled.severity() == Severity::Limiting).then(|| {
        let name = words::host(host.role());
        let (share, stopped) = (throttled.share, show_time(throttled.time));
        Found::limit(format!("cgroup CPU quota throttles linerate on {name}"))
            .at(host.role())
            .explaining(share)
            .seen(format!(
                "throttled {}, for {stopped} in total, {} of the time",
                counted(throttled.times, "time"),
                percent(share)
            ))
            .remedy("raise cpu.max, or run linerate outside that cgroup")
    })
}

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::CGROUP_THROTTLED, 90);
        crate::test_record::grow(host, counter::CGROUP_THROTTLED_TIME, 6_000_000);
    })
    .silent(|record| {
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::CGROUP_THROTTLED, 1);
        crate::test_record::grow(host, counter::CGROUP_THROTTLED_TIME, 20_000);
    });
