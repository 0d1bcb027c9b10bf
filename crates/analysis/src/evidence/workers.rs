//! The threads that ran a test, as what they did tells of them.

use measurement::host::{Family, counter};
use std::time::Duration;

use measurement::{MpuUse, Role};

use super::{Evidence, Host};

/// The busiest worker of an end, if it had no time left.
pub(crate) fn worker_at_its_limit<'a>(
    evidence: &Evidence<'a>,
    role: &Role,
) -> Option<(u32, &'a MpuUse)> {
    let workers = (0..).zip(&evidence.runtime(role)?.mpus);
    let full = workers.filter(|(_, worker)| worker.utilisation >= AT_ITS_LIMIT);
    full.max_by(|(_, one), (_, other)| one.utilisation.total_cmp(&other.utilisation))
}

/// How long the worker that waited most for a CPU did so, beyond what it takes to wake it;
/// none: the host does not tell.
pub(crate) fn run_delay(evidence: &Evidence<'_>, host: &Host<'_>) -> Option<Duration> {
    let tasks = host.tells(Family::TASK).then(|| host.each(counter::TASK_WAIT))?;
    let waited = tasks.iter().map(|(_, nanos)| *nanos).max().unwrap_or(0);
    let runtime = evidence.runtime(host.role());
    let sleeps = runtime.and_then(|runtime| runtime.mpus.iter().map(|mpu| mpu.sleeps).max());
    let to_wake = sleeps.unwrap_or(0).saturating_mul(TO_WAKE_NANOS);
    Some(Duration::from_nanos(waited.saturating_sub(to_wake)))
}

/// Above this the worker's share of a core is all of it: what is missing is bookkeeping.
pub(crate) const AT_ITS_LIMIT: f64 = 0.95;
/// A thread that is woken is runnable for a few microseconds before it runs, on an idle CPU
/// too: the interrupt to the CPU, its way out of idle, the switch. To be calibrated.
const TO_WAKE_NANOS: u64 = 10_000;
