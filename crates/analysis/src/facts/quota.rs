//! The quota of a control group stopped linerate.

use std::time::Duration;

use measurement::host::counter;
use measurement::{Page, RuleId};

use super::Severity;
use crate::evidence::HostView;

/// The fact in words, for the rule of trust and for that of what limits.
pub(crate) const PAGE: Page = Page {
    id: RuleId::CgroupCpuQuota,
    title: "cgroup CPU quota throttled the test",
    what: "The group was throttled during the result.",
    why: "A quota stops all threads at once until its next period. One that was used up again and \
          again is the limit; one that was used up once may be.",
    evidence: "`nr_throttled` and `throttled_usec` of `cpu.stat` (cgroups(7)). Of a peer that tells \
               neither: this end's workers sleep for 10 ms or more once each 100 ms.",
    remedy: "A larger quota.",
    source: "",
};

/// How often and for how long the group stood still during the result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Throttled {
    pub(crate) times: u64,
    /// Over all threads.
    pub(crate) time: Duration,
    /// Of the time of the result.
    pub(crate) share: f64,
}

impl Throttled {
    /// Once is enough to disturb a result, as all threads stop at once.
    pub(crate) fn severity(&self) -> Severity {
        if self.share > LIMITING { Severity::Limiting } else { Severity::Noticeable }
    }
}

/// What the quota of a host's group did; none: nothing, or it is not known.
pub(crate) fn throttled(host: &HostView<'_>) -> Option<Throttled> {
    let times = host.growth(counter::CGROUP_THROTTLED).filter(|times| *times > 0)?;
    let micros = host.growth(counter::CGROUP_THROTTLED_TIME).unwrap_or(0);
    let share = micros as f64 / (host.span().as_micros() as f64).max(1.0);
    Some(Throttled { times, time: Duration::from_micros(micros), share })
}

/// Share of the time, over all threads. To be calibrated.
const LIMITING: f64 = 0.02;
