//! A worker could have run and waited for a CPU (`schedstat`, field 2).

use std::time::Duration;

use measurement::host::{Family, counter};
use measurement::{Page, RuleId};

use super::{Thresholds, others_cpu, software_path};
use crate::evidence::{Evidence, HostView};

/// The fact in words, for the rule of trust and for that of what limits.
pub(crate) const PAGE: Page = Page {
    id: RuleId::RunDelay,
    title: "Scheduler run delay",
    what: "It could have run and did not for more than 1 % of the time.",
    why: "Meanwhile nothing is sent, or a socket fills that nobody reads. A run that kept the \
           rate asked and lost nothing was not harmed by a little of it. Where both ends share \
           the CPUs of one host, and nobody else ran there, they waited for each other: that is \
           what such a path is, and it is only noted.",
    evidence: "Run delay of each worker's thread (`/proc/<pid>/task/<tid>/schedstat`, field 2) less \
           what waking it takes.",
    remedy: "Free the CPU or choose another.",
    source: "B. Gregg, USE method",
};

/// Share of the time that the worker waited for a CPU which waited most, beyond what it takes
/// to wake it; none: the host does not report it.
pub(crate) fn share(evidence: &Evidence<'_>, host: &HostView<'_>) -> Option<f64> {
    let delay = time(evidence, host)?;
    Some(delay.as_secs_f64() / host.span().as_secs_f64().max(f64::MIN_POSITIVE))
}

fn time(evidence: &Evidence<'_>, host: &HostView<'_>) -> Option<Duration> {
    let tasks = host.reports(Family::TASK).then(|| host.each(counter::TASK_WAIT))?;
    let waited = tasks.iter().map(|(_, nanos)| *nanos).max().unwrap_or(0);
    let runtime = evidence.runtime(host.role());
    let sleeps = runtime.and_then(|runtime| runtime.mpus.iter().map(|mpu| mpu.sleeps).max());
    let to_wake = sleeps.unwrap_or(0).saturating_mul(TO_WAKE_NANOS);
    Some(Duration::from_nanos(waited.saturating_sub(to_wake)))
}

/// Whether it was the other end that a worker waited for: both share the CPUs of one host, no
/// other process ran there, and the CPUs had something to do.
pub(crate) fn is_by_the_other_end(evidence: &Evidence<'_>, host: &HostView<'_>) -> bool {
    software_path::is_one_host(evidence) && others_cpu::are_few(evidence, host) && !is_idle(host)
}

/// Whether most CPUs were idle: what waits for one meanwhile is held back by something else, a
/// quota.
pub(crate) fn is_idle(host: &HostView<'_>) -> bool {
    let idle = host.each(counter::CPU_IDLE);
    let sum = idle.iter().map(|(_, nanos)| *nanos).fold(0, u64::saturating_add) as f64;
    sum > IDLE * idle.len() as f64 * host.span().as_nanos() as f64
}

/// Shares of the time of one worker. To be calibrated.
pub(crate) const THRESHOLDS: Thresholds = Thresholds { noticeable: 0.01, limiting: 0.15 };
/// What a run that kept its rate and lost nothing was not harmed by.
pub(crate) const HARMLESS: f64 = 0.10;
/// Share of the time of all CPUs. To be calibrated.
const IDLE: f64 = 0.6;
/// A thread that is woken is runnable for a few microseconds before it runs, on an idle CPU
/// too: the interrupt to the CPU, its way out of idle, the switch. To be calibrated.
const TO_WAKE_NANOS: u64 = 10_000;
