//! The hypervisor took CPU time away (`steal` of `/proc/stat`).

use std::time::Duration;

use measurement::host::counter;
use measurement::{Page, RuleId};

use super::Thresholds;
use crate::evidence::HostView;

/// The fact in words, for the rule of trust and for that of what limits.
pub(crate) const PAGE: Page = Page {
    id: RuleId::CpuSteal,
    title: "CPU steal time",
    what: "More than 1 % of the time of a CPU was stolen.",
    why: "The host stood still then, whatever it shows of itself. The time is counted in \
           ticks, so that a few of them tell nothing.",
    evidence: "Steal time (`/proc/stat`, field 8).",
    remedy: "Repeat; a machine of its own.",
    source: "",
};

/// What was taken from the CPU that lost most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stolen<'a> {
    pub(crate) cpu: &'a str,
    pub(crate) time: Duration,
    /// Of the time of the result.
    pub(crate) share: f64,
}

/// What the hypervisor took from a host; none: nothing, or too few ticks to tell.
pub(crate) fn stolen<'a>(host: &HostView<'a>) -> Option<Stolen<'a>> {
    let all = host.each(counter::CPU_STEAL).into_iter();
    let (cpu, nanos) = all.max_by_key(|(_, nanos)| *nanos)?;
    let share = nanos as f64 / (host.span().as_nanos() as f64).max(1.0);
    let time = Duration::from_nanos(nanos);
    (time >= LEAST).then_some(Stolen { cpu, time, share })
}

/// Shares of the time of one CPU. To be calibrated.
pub(crate) const THRESHOLDS: Thresholds = Thresholds { noticeable: 0.01, limiting: 0.15 };
/// What a run that kept its rate and lost nothing was not harmed by.
pub(crate) const HARMLESS: f64 = 0.10;
/// Three ticks of 10 ms (`USER_HZ`, proc_stat(5)).
const LEAST: Duration = Duration::from_millis(30);
