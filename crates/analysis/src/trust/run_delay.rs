//! `run-delay`: a worker waited for a CPU.

use super::{Finding, Rule, Test};
use crate::evidence::HostView;
use crate::facts::run_delay::{self, Cause};
use crate::words::{self, percent};

pub(super) const RULE: Rule = Rule { page: &run_delay::PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    test.ends().filter_map(|host| finding(test, host)).collect()
}

fn finding(test: &Test<'_>, host: &HostView<'_>) -> Option<Finding> {
    let Some(share) = run_delay::share(test, host) else {
        let what = format!("run delay of workers of {}", words::host(host.role()));
        return Some(Finding::unchecked(
            what,
            "its kernel reports no run delay \
        (CONFIG_SCHED_INFO)",
        ));
    };
    let most =
        if test.is_at_ease() { run_delay::HARMLESS } else { run_delay::THRESHOLDS.noticeable };
    (share > most).then(|| in_words(test, host, share))
}

fn in_words(test: &Test<'_>, host: &HostView<'_>, share: f64) -> Finding {
    let (name, share) = (words::host(host.role()), percent(share));
    let fact = format!("a worker on {name} waited {share} of the time for a CPU");
    let sentence = match run_delay::cause(test, host) {
        Cause::OtherEnd => {
            let sentence = format!("{fact}, as both ends share its CPUs; test between two hosts");
            return Finding::note(Some(host.role()), sentence);
        }
        Cause::HeldBack => {
            format!("{fact} while CPUs were idle; {}", run_delay::RELEASE)
        }
        Cause::Others => format!("{fact}; stop other processes there, or pin linerate (--cpus)"),
    };
    Finding::suspect(Some(host.role()), sentence)
}

#[cfg(test)]
mod tests {
    use measurement::Role;
    use measurement::host::Family;
    use measurement::host::counter;

    use super::*;
    use crate::test_record;

    #[test]
    fn a_worker_that_waits_for_a_cpu_makes_it_suspect() {
        let mut record = test_record::tcp();
        assert_eq!(test_record::found(&RULE, &record), []);
        test_record::grow(
            test_record::host(&mut record, &Role::Peer),
            counter::TASK_WAIT.on(9),
            300_000_000,
        );
        let text = test_record::suspected(&RULE, &record);
        assert!(text.starts_with("a worker on the server waited 3.0 %"), "{text}");
    }

    #[test]
    fn what_wakes_it_is_no_wait_and_a_rate_that_was_kept_was_not_harmed() {
        let mut record = test_record::tcp();
        test_record::grow(
            test_record::host(&mut record, &Role::Here),
            counter::TASK_WAIT.on(9),
            300_000_000,
        );
        record.runtime.as_mut().expect("reported").mpus[0].sleeps = 50_000;
        assert_eq!(test_record::found(&RULE, &record), []);
        let mut paced = test_record::udp();
        test_record::grow(
            test_record::host(&mut paced, &Role::Here),
            counter::TASK_WAIT.on(9),
            300_000_000,
        );
        assert_eq!(test_record::found(&RULE, &paced), []);
        test_record::grow(
            test_record::host(&mut paced, &Role::Here),
            counter::TASK_WAIT.on(9),
            3_000_000_000,
        );
        assert!(test_record::suspected(&RULE, &paced).contains("waited 30 % of the time"));
    }

    #[test]
    fn ends_on_one_host_that_wait_for_each_other_are_noted() {
        let mut record = test_record::tcp();
        test_record::in_software(&mut record);
        let host = test_record::host(&mut record, &Role::Here);
        test_record::grow(host, counter::TASK_WAIT.on(9), 3_000_000_000);
        for cpu in ["0", "1"] {
            test_record::grow(host, counter::CPU_IDLE.on(cpu), 1_000_000_000);
        }
        let text = test_record::noted(&RULE, &record);
        assert!(text.contains("waited 30 %") && text.contains("both ends share"), "{text}");
        for role in [Role::Here, Role::Peer] {
            test_record::grow(
                test_record::host(&mut record, &role),
                counter::CPU_USER.on(1),
                4_000_000_000,
            );
        }
        assert!(test_record::suspected(&RULE, &record).contains("stop other processes there"));
    }

    #[test]
    fn who_waits_while_cpus_are_idle_does_not_wait_for_the_other_end() {
        let mut record = test_record::tcp();
        test_record::in_software(&mut record);
        let host = test_record::host(&mut record, &Role::Here);
        test_record::grow(host, counter::TASK_WAIT.on(9), 7_000_000_000);
        for cpu in ["0", "1"] {
            test_record::grow(host, counter::CPU_IDLE.on(cpu), 8_000_000_000);
        }
        let text = test_record::suspected(&RULE, &record);
        assert!(text.contains("waited 70 % of the time for a CPU while CPUs were idle"), "{text}");
        assert!(text.contains("CPU limit") && !text.contains("stop other processes"), "{text}");
    }

    #[test]
    fn who_wakes_late_while_cpus_are_idle_is_held_back_although_its_worker_hardly_waits() {
        let mut record = test_record::tcp();
        test_record::in_software(&mut record);
        for cpu in ["0", "1"] {
            let host = test_record::host(&mut record, &Role::Here);
            test_record::grow(host, counter::CPU_IDLE.on(cpu), 4_000_000_000);
        }
        assert_eq!(test_record::found(&RULE, &record), []);
        test_record::host(&mut record, &Role::Here).held_seconds = 4.0;
        let text = test_record::suspected(&RULE, &record);
        assert!(text.contains("waited 40 % of the time") && text.contains("CPU limit"), "{text}");
        let host = test_record::host(&mut record, &Role::Here);
        test_record::grow(host, counter::CPU_USER.on(1), 9_000_000_000);
        assert_eq!(test_record::found(&RULE, &record), [], "others ran: CPUs may be full");
    }

    #[test]
    fn a_kernel_that_does_not_tell_is_named() {
        let mut record = test_record::tcp();
        test_record::host(&mut record, &Role::Here).series.remove(Family::TASK);
        assert!(test_record::unchecked(&RULE, &record).contains("workers of this host"));
    }
}
