//! `cgroup-cpu-quota`: a control group's quota stopped the test.

use measurement::host::Family;
use measurement::units::show_time;

use super::{Finding, Rule, Test};
use crate::evidence::HostView;
use crate::facts::quota;
use crate::words::{self, counted};

pub(super) const RULE: Rule = Rule { page: &quota::PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    test.ends().filter_map(finding).collect()
}

fn finding(host: &HostView<'_>) -> Option<Finding> {
    if !host.reports(Family::CGROUP) {
        let what = format!("cgroup CPU quota on {}", words::host(host.role()));
        return Some(Finding::unchecked(what, "it reports no cgroup CPU statistics"));
    }
    let throttled = quota::throttled(host)?;
    let sentence = format!(
        "cgroup CPU quota throttled linerate on {} {}, for {} in total; raise cpu.max, or run \
         outside that cgroup",
        words::host(host.role()),
        counted(throttled.times, "time"),
        show_time(throttled.time)
    );
    Some(Finding::suspect(Some(host.role()), sentence))
}

#[cfg(test)]
mod tests {
    use measurement::Role;
    use measurement::host::counter;

    use super::*;
    use crate::test_record;

    #[test]
    fn a_quota_that_stopped_it_makes_it_suspect() {
        let mut record = test_record::udp();
        assert_eq!(test_record::found(&RULE, &record), []);
        let host = test_record::host(&mut record, &Role::Peer);
        test_record::grow(host, counter::CGROUP_THROTTLED, 12);
        test_record::grow(host, counter::CGROUP_THROTTLED_TIME, 1_500_000);
        let text = test_record::suspected(&RULE, &record);
        assert!(text.contains("on the server 12 times, for 1.5 s in total"), "{text}");
    }
}
