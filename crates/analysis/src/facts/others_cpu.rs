//! CPU time that other processes took, and whether tasks waited meanwhile (`/proc/stat`,
//! `/proc/pressure/cpu`).

use measurement::host::{Counter, EachCounter, Family, counter};
use measurement::outcome::CpuUse;
use measurement::{Page, Role, RuleId};

use super::{Severity, Thresholds, software_path};
use crate::evidence::{Evidence, HostView};

/// The fact in words, for the rule of trust and for that of what limits.
pub(crate) const PAGE: Page = Page {
    id: RuleId::OtherProcesses,
    title: "Other processes used CPU time",
    what: "They ran for more than 5 % of one CPU, while some task had to wait for a CPU for \
           more than 5 % of the time.",
    why: "Either alone does no harm; together they say that the test waited for others.",
    evidence: "User and system time of all CPUs (`/proc/stat`), each less linerate's own, and \
           `some` of `/proc/pressure/cpu`. An end that shares the kernel and says nothing of \
           itself counts with what it says of its CPU use.",
    remedy: "Stop them.",
    source: "",
};

/// What others took of a host, and how much tasks had to wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Crowd {
    /// CPUs that other processes took.
    pub(crate) taken: f64,
    /// Share of the time in which some task waited for a CPU.
    pub(crate) waited: f64,
}

impl Crowd {
    /// Either alone does no harm; together they say that the test waited for others.
    pub(crate) fn severity(&self) -> Option<Severity> {
        THRESHOLDS.grade(self.taken.min(self.waited))
    }
}

/// What others did on a host; none: it does not report it all.
pub(crate) fn crowd(evidence: &Evidence<'_>, host: &HostView<'_>) -> Option<Crowd> {
    let taken = taken(evidence, host)?;
    let waited = host.growth(counter::PRESSURE_CPU.some)? as f64 * 1e3 / nanos(host);
    Some(Crowd { taken, waited })
}

/// CPUs that processes other than linerate's took; none: the host does not report it.
pub(crate) fn taken(evidence: &Evidence<'_>, host: &HostView<'_>) -> Option<f64> {
    let is_known = [Family::CPU, Family::PROCESS].into_iter().all(|family| host.reports(family));
    is_known.then(|| others(evidence, host))
}

/// Whether a host reports that others ran for so little that they harmed nothing.
pub(crate) fn are_few(evidence: &Evidence<'_>, host: &HostView<'_>) -> bool {
    taken(evidence, host).is_some_and(|taken| taken <= THRESHOLDS.noticeable)
}

fn nanos(host: &HostView<'_>) -> f64 {
    (host.span().as_nanos() as f64).max(1.0)
}

/// CPUs that processes other than linerate's took. User and system time are compared each on its
/// own: a kernel without `CONFIG_IRQ_TIME_ACCOUNTING` counts softirqs as system time of the process
/// that they interrupt (`account_system_index_time`, `kernel/sched/cputime.c`), and not as `system`
/// in `/proc/stat`, so that a sum would take them off what others used.
fn others(evidence: &Evidence<'_>, host: &HostView<'_>) -> f64 {
    let all = |states: &[EachCounter<'static>]| {
        let each = states.iter().flat_map(|state| host.each(*state));
        each.map(|(_, nanos)| nanos as f64).sum::<f64>() / nanos(host)
    };
    let silent = silent_end(evidence, host);
    let user = all(&[counter::CPU_USER, counter::CPU_NICE])
        - own(evidence, host, counter::PROCESS_USER)
        - silent.user;
    let system =
        all(&[counter::CPU_SYSTEM]) - own(evidence, host, counter::PROCESS_SYSTEM) - silent.system;
    user.max(0.0) + system.max(0.0)
}

/// CPUs that linerate took on this kernel. Ends read their times when their samplers ran, so that
/// each counts over a time of its own.
fn own(evidence: &Evidence<'_>, host: &HostView<'_>, time: Counter<'static>) -> f64 {
    let ends = evidence.hosts.iter();
    let ends = ends.filter(|other| std::ptr::eq(*other, host) || other.is_same_kernel(host));
    ends.map(|end| end.growth(time).unwrap_or(0) as f64 / nanos(end)).sum()
}

/// CPUs that a server on the same kernel took which sent no evidence, by its report of its CPU use.
fn silent_end(evidence: &Evidence<'_>, host: &HostView<'_>) -> CpuUse {
    let is_here = *host.role() == Role::Here && evidence.host(&Role::Peer).is_none();
    let shares = is_here && software_path::kind(evidence).is_some();
    let reported = evidence.record.outcome.peer_cpu.filter(|_| shares).unwrap_or_default();
    let cpus = |percent: f64| percent.clamp(0.0, MOST_PERCENT) / 100.0;
    let (total, user) = (cpus(reported.total), cpus(reported.user));
    CpuUse { total, user, system: (total - user).max(0.0) }
}

/// Of one CPU, and of the time. To be calibrated.
pub(crate) const THRESHOLDS: Thresholds = Thresholds { noticeable: 0.05, limiting: 0.30 };
/// Of a thousand CPUs.
const MOST_PERCENT: f64 = 100_000.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_record;

    fn taken_of(record: &measurement::TestRecord) -> f64 {
        let evidence = Evidence::from_record(record);
        taken(&evidence, evidence.host(&Role::Here).expect("it is there")).expect("it tells")
    }

    /// A process uses 8.5 of the ten seconds of a CPU. This end has 5 seconds of system time, 4 of
    /// them softirqs, which the CPUs do not have as system time.
    fn hogged() -> measurement::TestRecord {
        let mut record = test_record::udp();
        let host = test_record::host(&mut record, &Role::Here);
        test_record::grow(host, counter::CPU_USER.on(1), 8_500_000_000);
        test_record::grow(host, counter::CPU_SYSTEM.on(0), 1_000_000_000);
        test_record::grow(host, counter::CPU_SOFTIRQ.on(0), 4_000_000_000);
        test_record::grow(host, counter::PROCESS_SYSTEM, 5_000_000_000);
        record
    }

    #[test]
    fn softirqs_that_a_process_is_charged_with_hide_nobody() {
        let taken = taken_of(&hogged());
        assert!((taken - 0.85).abs() < 0.001, "{taken}");
    }

    #[test]
    fn each_end_is_counted_over_the_time_of_its_own_readings() {
        let mut record = hogged();
        test_record::in_software(&mut record);
        let peer = test_record::host(&mut record, &Role::Peer);
        test_record::grow(peer, counter::PROCESS_USER, 5_000_000_000);
        // Its sampler was starved, and read half of the time.
        peer.series.at.truncate(6);
        let taken = taken_of(&record);
        assert!((taken - 0.35).abs() < 0.001, "{taken}");
    }
}
