//! `other-processes`: other processes took CPU time.

use measurement::Role;
use measurement::host::Family;

use super::{Finding, Rule, Test};
use crate::evidence::Host;
use crate::facts::others_cpu;
use crate::words::{self, percent};

pub(super) const RULE: Rule = Rule { page: &others_cpu::PAGE, check };

fn check(evidence: &Test<'_>) -> Vec<Finding> {
    let ends = evidence.kernels().filter(|host| !matches!(host.role(), Role::Observed(_)));
    ends.filter_map(|host| of(evidence, host)).collect()
}

fn of(evidence: &Test<'_>, host: &Host<'_>) -> Option<Finding> {
    let missing =
        [Family::CPU, Family::PROCESS, Family::PRESSURE].into_iter().find(|one| !host.tells(*one));
    if let Some(family) = missing {
        let what = format!("CPU use of other processes on {}", words::host(host.role()));
        let why = match family {
            Family::PRESSURE => "its kernel reports no pressure (CONFIG_PSI, psi=1)",
            _ => "it reports no CPU times",
        };
        return Some(Finding::unchecked(what, why));
    }
    let crowd = others_cpu::crowd(evidence, host)?;
    crowd.severity().map(|_| {
        let text = format!(
            "other processes on {} used {}, and tasks waited for a CPU {} of the time; \
             stop them, or repeat it when they are done",
            words::host(host.role()),
            words::cpus(crowd.taken),
            percent(crowd.waited)
        );
        Finding::suspect(Some(host.role()), text)
    })
}

#[cfg(test)]
mod tests {
    use measurement::host::Family;
    use measurement::host::counter;
    use measurement::outcome::CpuUse;

    use super::*;
    use crate::scene;

    fn crowded() -> measurement::TestRecord {
        let mut record = scene::udp();
        let host = scene::host(&mut record, &Role::Here);
        scene::grow(host, counter::CPU_USER.on(1), 4_000_000_000);
        scene::grow(host, counter::PRESSURE_CPU.some, 900_000);
        record
    }

    #[test]
    fn others_that_take_time_while_tasks_wait_make_it_suspect() {
        assert_eq!(scene::found(&RULE, &scene::udp()), []);
        let mut record = crowded();
        let text = scene::suspected(&RULE, &record);
        assert!(text.contains("used 0.41 CPUs, and tasks waited for a CPU 9.0 %"), "{text}");
        let host = scene::host(&mut record, &Role::Here);
        scene::grow(host, counter::PRESSURE_CPU.some, 100_000);
        assert_eq!(scene::found(&RULE, &record), [], "nobody waited");
    }

    #[test]
    fn both_ends_are_ours_on_one_kernel_whether_they_say_so_or_not() {
        let mut record = crowded();
        scene::in_software(&mut record);
        let peer = scene::host(&mut record, &Role::Peer);
        scene::grow(peer, counter::PROCESS_USER, 4_000_000_000);
        assert_eq!(scene::found(&RULE, &record), []);
        record.hosts.truncate(1);
        record.outcome.peer_cpu = Some(CpuUse { total: 40.0, user: 40.0, system: 0.0 });
        assert_eq!(scene::found(&RULE, &record), []);
    }

    #[test]
    fn a_kernel_without_pressure_is_named() {
        let mut record = scene::udp();
        scene::host(&mut record, &Role::Here).series.remove(Family::PRESSURE);
        assert!(scene::unchecked(&RULE, &record).contains("other processes"));
    }
}
