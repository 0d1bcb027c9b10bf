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
    let is_long = throttled.severity() == Severity::Limiting;
    let is_repeated = throttled.times >= REPEATEDLY;
    if !is_long && !is_repeated {
        return None;
    }
    let name = words::host(host.role());
    let (share, stopped) = (throttled.share, show_time(throttled.time));
    let text = format!("cgroup CPU quota throttles linerate on {name}");
    let is_limit = is_long && is_repeated;
    let found = if is_limit { Found::limit(text) } else { Found::candidate(text) };
    let found = found.at(host.role()).explaining(share).seen(format!(
        "throttled {}, for {stopped} in total, {} of the time",
        counted(throttled.times, "time"),
        percent(share)
    ));
    Some(found.remedy("raise cpu.max, or run linerate outside that cgroup"))
}

/// Times. One period in which the quota was used up is over before it shows in the rate.
const REPEATEDLY: u64 = 2;

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

#[cfg(test)]
mod tests {
    use measurement::{Certainty, Role};

    use super::*;
    use crate::accounts::Test;
    use crate::test_record;

    #[test]
    fn a_quota_that_was_used_up_once_may_limit_and_one_that_is_again_and_again_does() {
        let certainty = |times, micros| {
            let mut record = test_record::tcp();
            let host = test_record::host(&mut record, &Role::Here);
            test_record::grow(host, counter::CGROUP_THROTTLED, times);
            test_record::grow(host, counter::CGROUP_THROTTLED_TIME, micros);
            let test = Test::from_record(&record);
            check(&Case::of_test(&test, &[]))[0].certainty
        };
        assert_eq!(certainty(1, 340_000), Certainty::Candidate);
        assert_eq!(certainty(40, 340_000), Certainty::Limit);
        assert_eq!(certainty(2, 40_000), Certainty::Candidate, "short stops");
    }
}
