//! CPU time of the process over a test.

use std::time::Duration;

use linux::host::{CpuTime, cpu_time};
use measurement::Timestamp;
use measurement::outcome::CpuUse;

/// Runs from the start of a test to its stop.
#[derive(Debug, Default)]
pub(crate) struct CpuClock {
    begun: Option<(Timestamp, CpuTime)>,
    ended: Option<(Timestamp, CpuTime)>,
}

impl CpuClock {
    pub(crate) fn begin(&mut self, now: Timestamp) {
        self.begun = Some((now, cpu_time()));
    }

    pub(crate) fn end(&mut self, now: Timestamp) {
        self.ended = Some((now, cpu_time()));
    }

    pub(crate) fn usage(&self) -> CpuUse {
        let (Some((from, before)), Some((to, after))) = (self.begun, self.ended) else {
            return CpuUse::default();
        };
        let wall = to.since(from).as_secs_f64().max(1e-9);
        let percent = |spent: Duration| 100.0 * spent.as_secs_f64() / wall;
        let user = percent(after.user.saturating_sub(before.user));
        let system = percent(after.system.saturating_sub(before.system));
        CpuUse { total: user + system, user, system }
    }
}
