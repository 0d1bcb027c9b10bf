//! The process of an end was stopped: it was to work, or to wake, and neither ran nor waited
//! for a CPU.

use std::time::Duration;

use measurement::host::counter;
use measurement::{Page, RuleId};

use super::{Thresholds, others_cpu, steal};
use crate::evidence::{Evidence, HostView};

/// The fact in words, for the rule of trust and for that of what limits.
pub(crate) const PAGE: Page = Page {
    id: RuleId::ProcessStopped,
    title: "Process stopped",
    what: "For more than 5 % of the time linerate on an end was to work, or to wake, by its own \
           clock, and neither ran nor waited for a CPU. From 8 % of the time on that is what limits.",
    why: "Somebody stopped it (SIGSTOP, a debugger, a frozen cgroup), or it waited for memory. \
          Meanwhile nothing is sent, or a socket fills that nobody reads. A run that kept the \
          rate asked and lost nothing was not harmed by a little of it.",
    evidence: "How late a thread woke that naps for 25 ms, and the time of a worker in its turns, \
               less their CPU time and run delay (`/proc/<pid>/task/<tid>/schedstat`) and what the \
               hypervisor took (`steal` of `/proc/stat`).",
    remedy: "See who stops it: the state `T` in `ps`, a debugger, `cgroup.freeze`, `vmstat` for \
             swapping.",
    source: "proc(5), signal(7)",
};

/// For how long linerate on a host stood still, and not since a hypervisor had its CPU; none:
/// the host does not report it.
pub(crate) fn time(evidence: &Evidence<'_>, host: &HostView<'_>) -> Option<Duration> {
    let stood = stood(evidence, host)?;
    let stolen = steal::stolen(host).map_or(Duration::ZERO, |stolen| stolen.time);
    Some(stood.saturating_sub(stolen).saturating_sub(waiting(evidence, host)))
}

/// For how long linerate on a host seems to stand still while it waits for a CPU: others kept one busy,
/// and some task waited nearly all the time. The kernel counts a run delay when it ends
/// (`sched_info_arrive`, `kernel/sched/stats.h`), so that a long one looks like a stop.
pub(crate) fn waiting(evidence: &Evidence<'_>, host: &HostView<'_>) -> Duration {
    let crowd = others_cpu::crowd(evidence, host);
    let is_crowded = |crowd: &others_cpu::Crowd| crowd.taken.min(crowd.waited) >= NEARLY_ALL;
    let Some(crowd) = crowd.filter(is_crowded) else { return Duration::ZERO };
    stood(evidence, host).unwrap_or_default().mul_f64(crowd.waited.min(1.0))
}

/// For how long linerate on a host neither ran nor was counted as waiting, asleep or in its turns;
/// none: the host does not report it.
fn stood(evidence: &Evidence<'_>, host: &HostView<'_>) -> Option<Duration> {
    let asleep = Duration::try_from_secs_f64(host.evidence.still_seconds).ok();
    asleep.max(in_turns(evidence, host))
}

/// Least CPU time of others, as a share of a CPU, and least share of the time in which tasks waited.
const NEARLY_ALL: f64 = 0.90;

/// How long the busiest worker of an end was in its turns without a CPU and without waiting
/// for one.
fn in_turns(evidence: &Evidence<'_>, host: &HostView<'_>) -> Option<Duration> {
    let runtime = evidence.runtime(host.role())?;
    let turns = runtime.mpus.iter().map(|mpu| mpu.run_seconds).fold(0.0, f64::max);
    let most = |each| host.each(each).iter().map(|(_, nanos)| *nanos).max();
    let accounted = most(counter::TASK_RUN)?.saturating_add(most(counter::TASK_WAIT).unwrap_or(0));
    Duration::try_from_secs_f64(turns - accounted as f64 / 1e9).ok()
}

/// Share of the time that linerate on a host stood still; none: the host does not report it.
pub(crate) fn share(evidence: &Evidence<'_>, host: &HostView<'_>) -> Option<f64> {
    let span = evidence.record.result_span().filter(|span| !span.is_zero())?;
    Some(time(evidence, host)?.as_secs_f64() / span.as_secs_f64())
}

/// Shares of the time. A worker that works without a CPU has no other explanation. To be
/// calibrated.
pub(crate) const THRESHOLDS: Thresholds = Thresholds { noticeable: 0.05, limiting: 0.10 };
