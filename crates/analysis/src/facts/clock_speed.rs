//! CPUs that ran slower than before in the same run (cpufreq, thermal throttling).

use measurement::host::counter;
use measurement::{Page, RuleId};

use crate::evidence::HostView;

/// The fact in words, for the rule of trust and for that of what limits.
pub(crate) const PAGE: Page = Page {
    id: RuleId::CpuFrequencyDrop,
    title: "CPU frequency dropped",
    what: "The frequency of a busy CPU fell by more than 5 % below what it was in the same run, \
           the hardware throttled it, or a cooling device had to do more.",
    why: "Then the first seconds and the last are of two different hosts.",
    evidence: "Frequencies, throttle counts and states of cooling devices during the result. A CPU \
           that had little to do may be slow; a fan that turns faster harms nothing while \
           frequencies stay.",
    remedy: "Let it cool down, and fix the frequency.",
    source: "sbc-bench",
};

/// The clock speed of one CPU during the result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Speed {
    /// The lowest that was read, in kHz.
    pub(crate) least_khz: u64,
    /// The highest, in kHz.
    pub(crate) most_khz: u64,
}

impl Speed {
    /// Share of the highest speed that was kept.
    pub(crate) fn kept(&self) -> f64 {
        self.least_khz as f64 / self.most_khz.max(1) as f64
    }

    /// Whether it fell by more than governors and readings waver.
    pub(crate) fn fell(&self) -> bool {
        self.kept() < STEADY
    }
}

/// The clock speed of one CPU; none: the host does not report it.
pub(crate) fn speed<'a>(host: &HostView<'a>, cpu: impl Into<counter::Item<'a>>) -> Option<Speed> {
    let khz = host.gauge(counter::FREQUENCY_KHZ.on(cpu));
    let in_khz = |value: &i64| value.max(&0).unsigned_abs();
    Some(Speed {
        least_khz: khz.iter().min().map(in_khz)?,
        most_khz: khz.iter().max().map(in_khz)?,
    })
}

/// How often cores were throttled as they were hot; zero: never, or it is not known.
pub(crate) fn throttled(host: &HostView<'_>) -> u64 {
    host.sum(counter::THROTTLE_CORE).unwrap_or(0)
}

/// Share of the highest speed of the run. To be calibrated.
const STEADY: f64 = 0.95;
