//! T7: other processes took CPU time.

use measurement::Role;
use measurement::host::{Family, counter};

use super::{Evidence, Finding, Page, Rule, software_path};
use crate::evidence::Host;
use crate::words::{self, percent};

pub(crate) const PAGE: Page = Page {
    id: "T7",
    title: "Other processes took CPU time",
    what: "They ran for more than 5 % of one CPU, while some task had to wait for a CPU for \
           more than 5 % of the time.",
    why: "Either alone does no harm; together they say that the test waited for others.",
    evidence: "Time of all CPUs (`/proc/stat`) without interrupts and without linerate's own, and \
           `some` of `/proc/pressure/cpu`. An end that shares the kernel and says nothing of \
           itself counts with what it says of its CPU use.",
    remedy: "Stop them.",
    source: "",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let ends = evidence.kernels().filter(|host| !matches!(host.role(), Role::Observed(_)));
    ends.filter_map(|host| of(evidence, host)).collect()
}

fn of(evidence: &Evidence<'_>, host: &Host<'_>) -> Option<Finding> {
    let missing =
        [Family::CPU, Family::PROCESS, Family::PRESSURE].into_iter().find(|one| !host.tells(*one));
    if let Some(family) = missing {
        let what = format!("whether other processes took CPU time of {}", words::host(host.role()));
        let why = match family {
            Family::PRESSURE => "its kernel tells no pressure (CONFIG_PSI, psi=1)",
            _ => "it does not tell how its CPUs spent their time",
        };
        return Some(Finding::unchecked(what, why));
    }
    let span = (host.span().as_nanos() as f64).max(1.0);
    let others = others(evidence, host) as f64 / span;
    let waited = host.growth(counter::PRESSURE_CPU.some).unwrap_or(0) as f64 * 1e3 / span;
    (others > MUCH_TIME && waited > MUCH_WAITING).then(|| {
        let text = format!(
            "other processes on {} took {} of a CPU, and tasks waited {} of the time for one; stop \
             them, or repeat it when they are done",
            words::host(host.role()),
            percent(others),
            percent(waited)
        );
        Finding::suspect(Some(host.role()), text)
    })
}

/// Whether a host says that others ran for so little that they harmed nobody.
pub(super) fn are_few(evidence: &Evidence<'_>, host: &Host<'_>) -> bool {
    taken(evidence, host).is_some_and(|taken| taken <= MUCH_TIME)
}

/// CPUs that processes other than linerate's took, in CPUs; none: the host does not tell.
pub(crate) fn taken(evidence: &Evidence<'_>, host: &Host<'_>) -> Option<f64> {
    let is_told = [Family::CPU, Family::PROCESS].into_iter().all(|family| host.tells(family));
    let span = (host.span().as_nanos() as f64).max(1.0);
    is_told.then(|| others(evidence, host) as f64 / span)
}

/// Nanoseconds that processes other than linerate's ran.
fn others(evidence: &Evidence<'_>, host: &Host<'_>) -> u64 {
    let time = |state| host.each(state).into_iter().map(|(_, nanos)| nanos);
    let all =
        [counter::CPU_USER, counter::CPU_NICE, counter::CPU_SYSTEM].into_iter().flat_map(time);
    let own = evidence
        .hosts
        .iter()
        .filter(|other| std::ptr::eq(*other, host) || other.is_same_kernel(host));
    let own = own.flat_map(|end| {
        [counter::PROCESS_USER, counter::PROCESS_SYSTEM].map(|name| end.growth(name).unwrap_or(0))
    });
    let own = own.fold(silent_end(evidence, host), u64::saturating_add);
    all.fold(0, u64::saturating_add).saturating_sub(own)
}

/// What a server on the same kernel says of its CPU use, in nanoseconds of the result.
fn silent_end(evidence: &Evidence<'_>, host: &Host<'_>) -> u64 {
    let is_here = *host.role() == Role::Here && evidence.host(&Role::Peer).is_none();
    let shares = is_here && software_path::kind(evidence).is_some();
    let told = evidence.record.outcome.peer_cpu.filter(|_| shares);
    let percent = told.map_or(0.0, |cpu| cpu.total.clamp(0.0, MOST_PERCENT));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    let nanos = (host.span().as_nanos() as f64 * percent / 100.0) as u64;
    nanos
}

/// Of one CPU. To be calibrated.
const MUCH_TIME: f64 = 0.05;
/// Of the time. To be calibrated.
const MUCH_WAITING: f64 = 0.05;
/// Of a thousand CPUs.
const MOST_PERCENT: f64 = 100_000.0;

#[cfg(test)]
mod tests {
    use measurement::host::Family;
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
        assert!(text.contains("took 41 % of a CPU, and tasks waited 9.0 %"), "{text}");
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
