//! `lock-contention`: CPUs wait for locks.

use super::{Case, Found, Page, Rule, RuleId};
use crate::bottleneck::load;

const PAGE: Page = Page {
    id: RuleId::LockContention,
    title: "Kernel lock contention",
    what: "A CPU of an end was full, and at least a tenth of what it did was to wait for locks.",
    why: "Several CPUs want the same queue, socket or counter and take turns.",
    evidence: "Samples of the slow paths of locks (`native_queued_spin_lock_slowpath`, `osq_lock`); \
               on 32-bit Arm and RISC-V, whose locks have none, of `_raw_spin_lock`.",
    remedy: "A queue and a socket for each thread: `-P` with as many threads as queues, XPS, \
             `--cpus`.",
    source: "Documentation/networking/scaling.rst",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(case: &Case<'_>) -> Vec<Found> {
    let part = |full: &load::Full<'_>| full.share(|work| work == measurement::Work::Locking);
    let heavy = load::heavy(case, part, load::usual(LEAST), WORK).into_iter();
    heavy.map(|(_, found)| found.remedy(REMEDY)).collect()
}

const REMEDY: &str = "give each thread a queue and a socket of its own (-P, --cpus, XPS)";
/// What the CPU does, as the finding says it.
const WORK: &str = "waits for locks";
/// Share of the busy time. To be calibrated.
const LEAST: f64 = 0.10;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| crate::test_record::full_of(record, measurement::Work::Locking, 20))
    .silent(|record| crate::test_record::full_of(record, measurement::Work::Locking, 4));
