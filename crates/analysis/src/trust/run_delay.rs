//! `run-delay`: a worker waited for a CPU.

use super::{Finding, Rule, Test};
use crate::evidence::Host;
use crate::facts::run_delay;
use crate::words::{self, percent};

pub(super) const RULE: Rule = Rule { page: &run_delay::PAGE, check };

fn check(evidence: &Test<'_>) -> Vec<Finding> {
    evidence.ends().filter_map(|host| of(evidence, host)).collect()
}

fn of(evidence: &Test<'_>, host: &Host<'_>) -> Option<Finding> {
    let Some(share) = run_delay::share(evidence, host) else {
        let what = format!("run delay of workers of {}", words::host(host.role()));
        return Some(Finding::unchecked(
            what,
            "its kernel reports no run delay \
        (CONFIG_SCHED_INFO)",
        ));
    };
    let most =
        if evidence.is_at_ease() { run_delay::HARMLESS } else { run_delay::THRESHOLDS.noticeable };
    (share > most).then(|| {
        let (name, share) = (words::host(host.role()), percent(share));
        let fact = format!("a worker of linerate on {name} waited {share} of the time for a CPU");
        if run_delay::is_by_the_other_end(evidence, host) {
            let text = format!("{fact}, as both ends share its CPUs; test between two hosts");
            return Finding::note(Some(host.role()), text);
        }
        let quota =
            if run_delay::is_idle(host) { ", see whether it has a quota (cpu.max)" } else { "" };
        let text = format!("{fact}; stop what else runs there{quota}, or choose CPUs (--cpus)");
        Finding::suspect(Some(host.role()), text)
    })
}

#[cfg(test)]
mod tests {
    use measurement::Role;
    use measurement::host::Family;
    use measurement::host::counter;

    use super::*;
    use crate::scene;

    #[test]
    fn a_worker_that_waits_for_a_cpu_makes_it_suspect() {
        let mut record = scene::tcp();
        assert_eq!(scene::found(&RULE, &record), []);
        scene::grow(scene::host(&mut record, &Role::Peer), counter::TASK_WAIT.on(9), 300_000_000);
        let text = scene::suspected(&RULE, &record);
        assert!(text.starts_with("a worker of linerate on the server waited 3.0 %"), "{text}");
    }

    #[test]
    fn what_wakes_it_is_no_wait_and_a_rate_that_was_kept_was_not_harmed() {
        let mut record = scene::tcp();
        scene::grow(scene::host(&mut record, &Role::Here), counter::TASK_WAIT.on(9), 300_000_000);
        record.runtime.as_mut().expect("told").mpus[0].sleeps = 50_000;
        assert_eq!(scene::found(&RULE, &record), []);
        let mut paced = scene::udp();
        scene::grow(scene::host(&mut paced, &Role::Here), counter::TASK_WAIT.on(9), 300_000_000);
        assert_eq!(scene::found(&RULE, &paced), []);
        scene::grow(scene::host(&mut paced, &Role::Here), counter::TASK_WAIT.on(9), 3_000_000_000);
        assert!(scene::suspected(&RULE, &paced).contains("waited 30 % of the time"));
    }

    #[test]
    fn ends_on_one_host_that_wait_for_each_other_are_noted() {
        let mut record = scene::tcp();
        scene::in_software(&mut record);
        let host = scene::host(&mut record, &Role::Here);
        scene::grow(host, counter::TASK_WAIT.on(9), 3_000_000_000);
        for cpu in ["0", "1"] {
            scene::grow(host, counter::CPU_IDLE.on(cpu), 1_000_000_000);
        }
        let text = scene::noted(&RULE, &record);
        assert!(text.contains("waited 30 %") && text.contains("both ends share"), "{text}");
        for role in [Role::Here, Role::Peer] {
            scene::grow(scene::host(&mut record, &role), counter::CPU_USER.on(1), 4_000_000_000);
        }
        assert!(scene::suspected(&RULE, &record).contains("stop what else runs there"));
    }

    #[test]
    fn who_waits_while_cpus_are_idle_does_not_wait_for_the_other_end() {
        let mut record = scene::tcp();
        scene::in_software(&mut record);
        let host = scene::host(&mut record, &Role::Here);
        scene::grow(host, counter::TASK_WAIT.on(9), 7_000_000_000);
        for cpu in ["0", "1"] {
            scene::grow(host, counter::CPU_IDLE.on(cpu), 8_000_000_000);
        }
        assert!(scene::suspected(&RULE, &record).contains("waited 70 % of the time"));
    }

    #[test]
    fn a_kernel_that_does_not_tell_is_named() {
        let mut record = scene::tcp();
        scene::host(&mut record, &Role::Here).series.remove(Family::TASK);
        assert!(scene::unchecked(&RULE, &record).contains("workers of this host"));
    }
}
