//! `cgroup-cpu-quota`: a control group's quota is the limit.

use measurement::Role;
#[cfg(test)]
use measurement::host::counter;
use measurement::units::show_time;

use super::{Case, Class, Found, Rule};
use crate::bottleneck::load;
use crate::evidence::HostView;
use crate::facts::{Severity, pauses, quota};
use crate::words::{self, counted, percent};

pub(super) const RULE: Rule = Rule::new(&quota::PAGE, Class::Late, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if case.wanting().next().is_none() {
        return Vec::new();
    }
    case.hosts.iter().filter_map(finding).chain(of_silent_peer(case)).collect()
}

/// A peer that does not tell what its group did.
fn of_silent_peer(case: &Case<'_>) -> Option<Found> {
    let test = case.test.filter(|_| load::is_untold(case, &Role::Peer))?;
    let pauses = pauses::of_the_other_end(test)?;
    let name = words::host(&Role::Peer);
    let found = Found::limit(format!("{name} stops each 100 ms, as by a cgroup CPU quota"));
    let found = found.at(&Role::Peer).explaining(pauses.share).seen(format!(
        "{} of about {}, {} of the time",
        counted(pauses.times, "pause"),
        show_time(pauses.each),
        percent(pauses.share)
    ));
    Some(found.remedy("raise cpu.max of its cgroup, or run it outside that container"))
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
    use measurement::Certainty;

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

    #[test]
    fn an_iperf3_that_pauses_each_period_is_throttled() {
        let mut record = crate::bottleneck::fixture::tcp_from_iperf3(0);
        record.samples.last_mut().expect("there is one").streams[0].tcp =
            Some(measurement::TcpSample { min_rtt_micros: 30, ..Default::default() });
        let worker = &mut record.runtime.as_mut().expect("it tells").mpus[0];
        (worker.pauses, worker.pause_seconds, worker.turns) = (98, 7.0, 70_000);
        let test = Test::from_record(&record);
        let found = check(&Case::of_test(&test, &[]));
        assert_eq!(found[0].certainty, Certainty::Limit);
        assert_eq!(found[0].host, Some(Role::Peer));
    }
}
