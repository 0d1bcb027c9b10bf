//! CPU time that other processes took, and whether tasks waited meanwhile (`/proc/stat`,
//! `/proc/pressure/cpu`).

use measurement::host::{Family, counter};
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
    evidence: "Time of all CPUs (`/proc/stat`) without interrupts and without linerate's own, and \
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
    is_known.then(|| others(evidence, host) as f64 / nanos(host))
}

/// Whether a host reports that others ran for so little that they harmed nothing.
pub(crate) fn are_few(evidence: &Evidence<'_>, host: &HostView<'_>) -> bool {
    taken(evidence, host).is_some_and(|taken| taken <= THRESHOLDS.noticeable)
}

fn nanos(host: &HostView<'_>) -> f64 {
    (host.span().as_nanos() as f64).max(1.0)
}

/// Nanoseconds that processes other than linerate's ran.
fn others(evidence: &Evidence<'_>, host: &HostView<'_>) -> u64 {
    let time = |state| host.each(state).into_iter().map(|(_, nanos)| nanos);
    let all = [counter::CPU_USER, counter::CPU_NICE, counter::CPU_SYSTEM];
    let all = all.into_iter().flat_map(time);
    let own = evidence
        .hosts
        .iter()
        .filter(|other| std::ptr::eq(*other, host) || other.is_same_kernel(host));
    let own = own.flat_map(|end| {
        [counter::PROCESS_USER, counter::PROCESS_SYSTEM].map(|time| end.growth(time).unwrap_or(0))
    });
    let own = own.fold(silent_end(evidence, host), u64::saturating_add);
    all.fold(0, u64::saturating_add).saturating_sub(own)
}

/// What a server on the same kernel that sent no evidence reports of its CPU use, in
/// nanoseconds of the result.
fn silent_end(evidence: &Evidence<'_>, host: &HostView<'_>) -> u64 {
    let is_here = *host.role() == Role::Here && evidence.host(&Role::Peer).is_none();
    let shares = is_here && software_path::kind(evidence).is_some();
    let reported = evidence.record.outcome.peer_cpu.filter(|_| shares);
    let percent = reported.map_or(0.0, |cpu| cpu.total.clamp(0.0, MOST_PERCENT));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    let nanos = (host.span().as_nanos() as f64 * percent / 100.0) as u64;
    nanos
}

/// Of one CPU, and of the time. To be calibrated.
pub(crate) const THRESHOLDS: Thresholds = Thresholds { noticeable: 0.05, limiting: 0.30 };
/// Of a thousand CPUs.
const MOST_PERCENT: f64 = 100_000.0;
