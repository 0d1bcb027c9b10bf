//! `other-processes`: other processes took CPU time.

use measurement::Role;
use measurement::host::Family;

use super::{Finding, Rule, Test};
use crate::evidence::HostView;
use crate::facts::others_cpu;
use crate::words::{self, percent};

pub(super) const RULE: Rule = Rule { page: &others_cpu::PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    let ends = test.kernels().filter(|host| !matches!(host.role(), Role::Observed(_)));
    ends.filter_map(|host| finding(test, host)).collect()
}

fn finding(test: &Test<'_>, host: &HostView<'_>) -> Option<Finding> {
    let missing = [Family::CPU, Family::PROCESS, Family::PRESSURE]
        .into_iter()
        .find(|one| !host.reports(*one));
    if let Some(family) = missing {
        let what = format!("CPU use of other processes on {}", words::host(host.role()));
        let why = match family {
            Family::PRESSURE => "its kernel reports no pressure (CONFIG_PSI, psi=1)",
            _ => "it reports no CPU times",
        };
        return Some(Finding::unchecked(what, why));
    }
    let crowd = others_cpu::crowd(test, host)?;
    crowd.severity().map(|_| {
        let sentence = format!(
            "other processes on {} used {}, and tasks waited for a CPU {} of the time; stop them, \
             or test again",
            words::host(host.role()),
            words::cpus(crowd.taken),
            percent(crowd.waited)
        );
        Finding::suspect(Some(host.role()), sentence)
    })
}

#[cfg(test)]
mod tests {
    use measurement::host::Family;
    use measurement::host::counter;
    use measurement::outcome::CpuUse;

    use super::*;
    use crate::test_record;

    fn crowded() -> measurement::TestRecord {
        let mut record = test_record::udp();
        let host = test_record::host(&mut record, &Role::Here);
        test_record::grow(host, counter::CPU_USER.on(1), 4_000_000_000);
        test_record::grow(host, counter::PRESSURE_CPU.some, 900_000);
        record
    }

    #[test]
    fn others_that_take_time_while_tasks_wait_make_it_suspect() {
        assert_eq!(test_record::found(&RULE, &test_record::udp()), []);
        let mut record = crowded();
        let text = test_record::suspected(&RULE, &record);
        assert!(text.contains("used 0.41 CPUs, and tasks waited for a CPU 9.0 %"), "{text}");
        let host = test_record::host(&mut record, &Role::Here);
        test_record::grow(host, counter::PRESSURE_CPU.some, 100_000);
        assert_eq!(test_record::found(&RULE, &record), [], "nobody waited");
    }

    #[test]
    fn both_ends_are_ours_on_one_kernel_whether_they_say_so_or_not() {
        let mut record = crowded();
        test_record::in_software(&mut record);
        let peer = test_record::host(&mut record, &Role::Peer);
        test_record::grow(peer, counter::PROCESS_USER, 4_000_000_000);
        assert_eq!(test_record::found(&RULE, &record), []);
        record.hosts.truncate(1);
        record.outcome.peer_cpu = Some(CpuUse { total: 40.0, user: 40.0, system: 0.0 });
        assert_eq!(test_record::found(&RULE, &record), []);
    }

    #[test]
    fn a_kernel_without_pressure_is_named() {
        let mut record = test_record::udp();
        test_record::host(&mut record, &Role::Here).series.remove(Family::PRESSURE);
        assert!(test_record::unchecked(&RULE, &record).contains("other processes"));
    }
}
