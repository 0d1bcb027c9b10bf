//! `process-stopped`: the program of an end stood still.

#[cfg(test)]
use measurement::host::counter;
use std::time::Duration;

use measurement::units::show_duration;

use super::{Case, Found, Rule};
use crate::evidence::HostView;
use crate::facts::stopped;
use crate::words::{self, percent};

pub(super) const RULE: Rule = Rule { page: &stopped::PAGE, check };

fn check(case: &Case<'_>) -> Vec<Found> {
    if case.wanting().next().is_none() {
        return Vec::new();
    }
    case.hosts.iter().filter_map(|host| finding(case, host)).collect()
}

fn finding(case: &Case<'_>, host: &HostView<'_>) -> Option<Found> {
    let (stood, share) = (stopped::time(case.test?, host)?, stopped::share(case.test?, host)?);
    (share >= stopped::THRESHOLDS.limiting).then(|| {
        let name = words::host(host.role());
        Found::limit(format!("linerate on {name} was stopped repeatedly"))
            .at(host.role())
            .explaining(share)
            .seen(format!(
                "for {} ({}) it was to work or to wake, and neither ran nor waited for a CPU",
                show_duration(whole_millis(stood)),
                percent(share)
            ))
            .remedy(
                "look for SIGSTOP or a debugger (state T in ps), a frozen cgroup, or swapping \
                 (vmstat 1)",
            )
    })
}

fn whole_millis(time: Duration) -> Duration {
    Duration::from_millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        let runtime = record.reported.runtime.as_mut().expect("reported");
        runtime.mpus[0].run_seconds = 8.0;
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::TASK_RUN.on(77), 3_000_000_000);
    })
    .silent(|record| {
        let runtime = record.reported.runtime.as_mut().expect("reported");
        runtime.mpus[0].run_seconds = 8.0;
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::TASK_RUN.on(77), 5_000_000_000);
        crate::test_record::grow(host, counter::TASK_WAIT.on(77), 2_500_000_000);
    });

#[cfg(test)]
mod tests {
    use measurement::Role;

    use super::*;
    use crate::accounts::Test;
    use crate::test_record;

    #[test]
    fn one_that_is_stopped_in_its_sleep_stands_still_and_one_whose_cpu_is_taken_does_not() {
        let mut record = test_record::tcp();
        let found = |record: &measurement::TestRecord| {
            let test = Test::from_record(record);
            check(&Case::of_test(&test, &[])).len()
        };
        test_record::host(&mut record, &Role::Peer).still_seconds = 3.0;
        assert_eq!(found(&record), 1);
        test_record::grow(
            test_record::host(&mut record, &Role::Peer),
            counter::CPU_STEAL.on(0),
            2_900_000_000,
        );
        assert_eq!(found(&record), 0);
    }
}
