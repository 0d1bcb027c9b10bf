//! `cgroup-cpu-quota`: a control group's quota stopped the test.

use measurement::host::Family;
use measurement::units::show_duration;

use super::{Finding, Rule, Test};
use crate::evidence::Host;
use crate::facts::quota;
use crate::words::{self, counted};

pub(super) const RULE: Rule = Rule { page: &quota::PAGE, check };

fn check(evidence: &Test<'_>) -> Vec<Finding> {
    evidence.ends().filter_map(of).collect()
}

fn of(host: &Host<'_>) -> Option<Finding> {
    if !host.tells(Family::CGROUP) {
        let what = format!("cgroup CPU quota on {}", words::host(host.role()));
        return Some(Finding::unchecked(what, "it reports no cgroup CPU statistics"));
    }
    let throttled = quota::throttled(host)?;
    let text = format!(
        "cgroup CPU quota throttled linerate on {} {}, for {} in total; raise cpu.max, or run it \
        outside of that group",
        words::host(host.role()),
        counted(throttled.times, "time"),
        show_duration(throttled.time)
    );
    Some(Finding::suspect(Some(host.role()), text))
}

#[cfg(test)]
mod tests {
    use measurement::Role;
    use measurement::host::counter;

    use super::*;
    use crate::scene;

    #[test]
    fn a_quota_that_stopped_it_makes_it_suspect() {
        let mut record = scene::udp();
        assert_eq!(scene::found(&RULE, &record), []);
        let host = scene::host(&mut record, &Role::Peer);
        scene::grow(host, counter::CGROUP_THROTTLED, 12);
        scene::grow(host, counter::CGROUP_THROTTLED_TIME, 1_500_000);
        let text = scene::suspected(&RULE, &record);
        assert!(text.contains("on the server 12 times, for 1.5s in total"), "{text}");
    }
}
