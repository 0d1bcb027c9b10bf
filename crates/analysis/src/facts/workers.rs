//! Workers, the threads that ran a test, that had no time left.

use measurement::{MpuUse, Page, Role, RuleId};

use crate::evidence::{Evidence, sender};

/// The fact in words, for the rule of trust and for that of what limits.
pub(crate) const PAGE: Page = Page {
    id: RuleId::WorkerSaturated,
    title: "Worker thread saturated",
    what: "It was busy for 95 % of the time or more.",
    why: "Then the rate may be what the tool can do on that host, and not what the network can. \
          Where no rate was asked that is only noted: such a test finds the limit of the host.",
    evidence: "The time that each worker ran and did not spin.",
    remedy: "More streams, engines that move more with each call.",
    source: "",
};

/// The busiest worker of an end, if it had no time left.
pub(crate) fn at_its_limit<'a>(evidence: &Evidence<'a>, role: &Role) -> Option<(u32, &'a MpuUse)> {
    busiest(full(evidence, role))
}

/// The busiest worker of an end that had no time left, where that may be what limits.
pub(crate) fn limiting<'a>(evidence: &Evidence<'a>, role: &Role) -> Option<(u32, &'a MpuUse)> {
    busiest(all_limiting(evidence, role))
}

/// Each worker of an end that had no time left, where that may be what limits.
pub(crate) fn all_limiting<'a>(
    evidence: &Evidence<'a>,
    role: &Role,
) -> impl Iterator<Item = (u32, &'a MpuUse)> {
    let duty = Duty::at(evidence, role);
    full(evidence, role).filter(move |(_, worker)| duty.may_limit(worker))
}

fn full<'a>(evidence: &Evidence<'a>, role: &Role) -> impl Iterator<Item = (u32, &'a MpuUse)> {
    let workers = evidence.runtime(role).map_or(&[][..], |runtime| &runtime.mpus);
    (0..).zip(workers).filter(|(_, worker)| worker.utilisation >= AT_ITS_LIMIT)
}

fn busiest<'a>(workers: impl Iterator<Item = (u32, &'a MpuUse)>) -> Option<(u32, &'a MpuUse)> {
    workers.max_by(|(_, one), (_, other)| one.utilisation.total_cmp(&other.utilisation))
}

/// What the workers of one end do.
#[derive(Clone, Copy)]
enum Duty {
    /// It only sends, as fast as possible.
    SendFreely,
    /// Receive, or keep a rate.
    Other,
}

impl Duty {
    fn at(evidence: &Evidence<'_>, role: &Role) -> Self {
        let mut directions = evidence.record.outcome.directions.iter();
        let is_free = directions.all(|one| sender(one.direction) == *role && one.asked.is_none());
        if is_free { Self::SendFreely } else { Self::Other }
    }

    /// Whether a busy worker may be the limit. A sender of as much as goes sleeps only when the
    /// kernel takes no more: that is the limit then, however little time is left.
    const fn may_limit(self, worker: &MpuUse) -> bool {
        match self {
            Self::SendFreely => worker.sleeps <= worker.turns / FEW_SLEEPS,
            Self::Other => true,
        }
    }
}

/// Above this the worker's share of a core is all of it: what is missing is bookkeeping.
const AT_ITS_LIMIT: f64 = 0.95;
/// One sleep in so many turns is none.
const FEW_SLEEPS: u64 = 1000;
