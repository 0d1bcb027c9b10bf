//! The process of an end was stopped: it was to work, or to wake, and neither ran nor waited
//! for a CPU.

use std::time::Duration;

use measurement::host::counter;

use super::steal;
use crate::evidence::{Evidence, HostView};

/// For how long linerate on a host stood still, and not since a hypervisor had its CPU; none:
/// the host does not report it.
pub(crate) fn time(evidence: &Evidence<'_>, host: &HostView<'_>) -> Option<Duration> {
    let asleep = Duration::try_from_secs_f64(host.evidence.still_seconds).ok();
    let stood = asleep.max(in_turns(evidence, host))?;
    let stolen = steal::stolen(host).map_or(Duration::ZERO, |stolen| stolen.time);
    Some(stood.saturating_sub(stolen))
}

/// How long the busiest worker of an end was in its turns without a CPU and without waiting
/// for one.
fn in_turns(evidence: &Evidence<'_>, host: &HostView<'_>) -> Option<Duration> {
    let runtime = evidence.runtime(host.role())?;
    let turns = runtime.mpus.iter().map(|mpu| mpu.run_seconds).fold(0.0, f64::max);
    let most = |each| host.each(each).iter().map(|(_, nanos)| *nanos).max();
    let accounted = most(counter::TASK_RUN)?.saturating_add(most(counter::TASK_WAIT).unwrap_or(0));
    Duration::try_from_secs_f64(turns - accounted as f64 / 1e9).ok()
}

/// Share of the time. A worker that works without a CPU has no other explanation, so that what
/// is noticeable limits. To be calibrated.
pub(crate) const LIMITING: f64 = 0.10;
