//! A worker could have run and waited for a CPU (`schedstat`, field 2).

use std::time::Duration;

use measurement::host::{Family, counter};
use measurement::{Page, RuleId, Transport};

use super::{Thresholds, others_cpu, software_path, stopped};
use crate::evidence::{Evidence, HostView, sender};

/// The fact in words, for the rule of trust and for that of what limits.
pub(crate) const PAGE: Page = Page {
    id: RuleId::RunDelay,
    title: "Scheduler run delay",
    what: "It could have run and did not for more than 1 % of the time.",
    why: "Meanwhile nothing is sent, or a socket fills that nobody reads. A run that kept the \
           rate asked and lost nothing was not harmed by a little of it. Where both ends share \
           the CPUs of one host, and nobody else ran there, they waited for each other: that is \
           what such a path is, and it is only noted. Where it waited for a \
           quarter of the time while CPUs were idle and nobody else ran, or another thread woke \
           late for a twentieth of it, linerate was held back: \
           by a CPU quota, which a program that does not see its control \
           group (`ip netns exec` hides it) cannot read, or by an affinity.",
    evidence: "Run delay of each worker's thread (`/proc/<pid>/task/<tid>/schedstat`, field 2) less \
           what waking it takes; how late a thread woke that naps for 25 ms.",
    remedy: "Free the CPU or choose another. Where CPUs were idle: `cpu.max` of the control groups \
             above, the CPU limit of the container, `taskset -p`.",
    source: "B. Gregg, USE method",
};

/// Share of the time that the worker waited for a CPU which waited most, beyond what it takes
/// to wake it, or any thread where linerate is held back; none: the host does not report it.
pub(crate) fn share(evidence: &Evidence<'_>, host: &HostView<'_>) -> Option<f64> {
    let waits = stopped::waiting(evidence, host).as_secs_f64() / host.span().as_secs_f64();
    let share = of_workers(evidence, host)? + waits;
    let held = || held(host).max(stalled(evidence, host));
    Some(if is_held(evidence, host) { share.max(held()) } else { share })
}

fn of_workers(evidence: &Evidence<'_>, host: &HostView<'_>) -> Option<f64> {
    let delay = time(evidence, host)?;
    Some(delay.as_secs_f64() / host.span().as_secs_f64().max(f64::MIN_POSITIVE))
}

/// Whether threads that nap wake late, again and again, since they wait for a CPU, although CPUs
/// are idle and nobody else runs. A worker of a socket shows less: it may be throttled when it has
/// nothing to do, and then waits as if for the network.
fn is_held(evidence: &Evidence<'_>, host: &HostView<'_>) -> bool {
    let is_late = held(host) >= LEAST_HELD || stalled(evidence, host) >= LEAST_STALLED;
    is_late && is_alone(evidence, host) && idle(host) > SOME_IDLE
}

/// Whether others ran for too little to explain why a worker waited.
fn is_alone(evidence: &Evidence<'_>, host: &HostView<'_>) -> bool {
    let waited = of_workers(evidence, host).unwrap_or(0.0);
    let explains = |taken: f64| taken * LITTLE > waited;
    others_cpu::are_few(evidence, host)
        || others_cpu::taken(evidence, host).is_some_and(|taken| !explains(taken))
}

/// Share of the time for which a thread that napped was late and waited for a CPU.
fn held(host: &HostView<'_>) -> f64 {
    host.evidence.held_seconds / host.span().as_secs_f64().max(f64::MIN_POSITIVE)
}

/// Share of the time in which the paced sender of a host stood still for as long at a time as a
/// quota stops it.
fn stalled(evidence: &Evidence<'_>, host: &HostView<'_>) -> f64 {
    let record = evidence.record;
    let directions = record.outcome.directions.iter();
    let paced = directions.filter(|one| sender(one.direction) == *host.role());
    // One that is stopped stands still as long, and is not runnable; one of TCP waits for the path.
    let is_udp = record.plan.transport == Transport::Udp;
    let runs = is_udp && host.evidence.still_seconds <= 0.0;
    let reports = paced.filter_map(|one| one.pacing.as_ref()).filter(|pacing| {
        let each = pacing.stalled.as_secs_f64() / pacing.stalls.max(1) as f64;
        runs && pacing.stalls >= FEW && each >= LONG && pacing.forgone.is_zero()
    });
    let shares = reports.map(|pacing| {
        pacing.stalled.as_secs_f64() / pacing.sending.as_secs_f64().max(f64::MIN_POSITIVE)
    });
    shares.fold(0.0, f64::max)
}

fn time(evidence: &Evidence<'_>, host: &HostView<'_>) -> Option<Duration> {
    let tasks = host.reports(Family::TASK).then(|| host.each(counter::TASK_WAIT))?;
    let waited = tasks.iter().map(|(_, nanos)| *nanos).max().unwrap_or(0);
    let runtime = evidence.runtime(host.role());
    let sleeps = runtime.and_then(|runtime| runtime.mpus.iter().map(|mpu| mpu.sleeps).max());
    let to_wake = sleeps.unwrap_or(0).saturating_mul(TO_WAKE_NANOS);
    Some(Duration::from_nanos(waited.saturating_sub(to_wake)))
}

/// Why a worker waited for a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The other end had it: both share the CPUs of one host, and no other process ran there.
    OtherEnd,
    /// Nobody: CPUs were idle and no other process ran, so that a quota or an affinity held it back.
    HeldBack,
    /// Something else ran there, as far as is known.
    Others,
}

/// Why a worker of a host waited.
pub(crate) fn cause(evidence: &Evidence<'_>, host: &HostView<'_>) -> Cause {
    // A quota stops all threads for tens of milliseconds at a time: that is more than a little.
    let is_much = of_workers(evidence, host).is_some_and(|share| share >= LEAST_OF_A_QUOTA);
    match is_alone(evidence, host) {
        true if is_held(evidence, host) => Cause::HeldBack,
        true if is_much && idle(host) > MOSTLY_IDLE => Cause::HeldBack,
        true if software_path::is_one_host(evidence) => Cause::OtherEnd,
        _ => Cause::Others,
    }
}

/// What to do where a worker was held back.
pub(crate) const RELEASE: &str = "look for a CPU limit of a cgroup or container (cpu.max), or a \
                                  CPU affinity (taskset -p PID)";

/// Share of the time of all CPUs in which they were idle.
fn idle(host: &HostView<'_>) -> f64 {
    let idle = host.each(counter::CPU_IDLE);
    let sum = idle.iter().map(|(_, nanos)| *nanos).fold(0, u64::saturating_add) as f64;
    sum / (idle.len() as f64 * host.span().as_nanos() as f64).max(1.0)
}

/// Shares of the time of one worker. To be calibrated.
pub(crate) const THRESHOLDS: Thresholds = Thresholds { noticeable: 0.01, limiting: 0.15 };
/// A worker that waited for so many times what others ran did not wait for them.
const LITTLE: f64 = 4.0;
/// What a run that kept its rate and lost nothing was not harmed by.
pub(crate) const HARMLESS: f64 = 0.10;
/// Least share of the time that a worker waits under a CPU quota. Waking for bursts of 16 datagrams
/// takes 14 %.
const LEAST_OF_A_QUOTA: f64 = 0.25;
/// Share of the time of all CPUs. To be calibrated.
const MOSTLY_IDLE: f64 = 0.6;
/// Least idle share of the CPUs at which a thread that sleeps for short times finds one at once.
const SOME_IDLE: f64 = 0.2;
/// Share of the time, in pieces of at least 10 ms. Under quotas it was 0.09 to 0.4, elsewhere 0.
const LEAST_HELD: f64 = 0.05;
/// Share of the time of a paced sender, in pieces of at least so many seconds, and how many.
const LEAST_STALLED: f64 = 0.10;
const LONG: f64 = 0.010;
const FEW: u64 = 5;
/// A thread that is woken is runnable for a few microseconds before it runs, on an idle CPU
/// too: the interrupt to the CPU, its way out of idle, the switch. To be calibrated.
const TO_WAKE_NANOS: u64 = 10_000;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use measurement::Role;

    use super::*;
    use crate::test_record;

    #[test]
    fn a_paced_sender_that_stands_still_for_as_long_as_a_quota_stops_it_is_held_back() {
        let stood = |stalls, millis| {
            let mut record = test_record::udp();
            let pacing = record.outcome.directions[0].pacing.as_mut().expect("it is paced");
            (pacing.stalls, pacing.stalled) = (stalls, Duration::from_millis(millis));
            let evidence = Evidence::from_record(&record);
            share(&evidence, evidence.host(&Role::Here).expect("it is there")).expect("it tells")
        };
        assert!(stood(100, 2_000) > 0.1, "20 ms at a time");
        assert!(stood(2_000, 2_000) < 0.1, "a millisecond at a time");
    }
}
