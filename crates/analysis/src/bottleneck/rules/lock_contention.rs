//! `lock-contention`: CPUs wait for locks.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::load;

const PAGE: Page = Page {
    id: RuleId::LockContention,
    title: "Kernel lock contention",
    what: "A host's CPU was full, and at least a tenth of its busy time went to waiting for \
           locks.",
    why: "Several CPUs want the same queue, socket or counter and take turns.",
    evidence: "Samples of the slow paths of locks (`native_queued_spin_lock_slowpath`, `osq_lock`); \
               on 32-bit Arm and RISC-V, whose locks have none, of `_raw_spin_lock`.",
    remedy: "A queue and a CPU for each thread: as many as there are queues, XPS, `--cpus`. With one \
             stream: RFS, so that its packets are processed where its thread runs; or more streams \
             (`-P`).",
    source: "Documentation/networking/scaling.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Work, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    let part = |full: &load::Full<'_>| full.share(|work| work == measurement::Work::Locking);
    let heavy = load::heavy(case, part, load::usual(LEAST), WORK).into_iter();
    let has_one = case.test.is_some_and(|test| test.record.plan.streams == 1);
    let remedy = if has_one { ONE_STREAM } else { SEVERAL_STREAMS };
    heavy.map(|(_, found)| found.remedy(remedy)).collect()
}

/// Its socket is locked by the thread that uses it and by the CPU that takes its packets in.
const ONE_STREAM: &str = "use several streams (-P), RFS, or --cpus with the CPU that serves the \
                          interrupt";
const SEVERAL_STREAMS: &str = "give each thread a queue and a CPU of its own (XPS, --cpus)";
/// What the CPU does, as the finding says it.
const WORK: &str = "waits for locks";
/// Share of the busy time. To be calibrated.
const LEAST: f64 = 0.10;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| crate::test_record::full_of(record, measurement::Work::Locking, 20))
    .silent(|record| crate::test_record::full_of(record, measurement::Work::Locking, 4));
