//! `syscall-cost`: entering the kernel costs more than what is done there.

use super::{Case, Found, Page, Rule, RuleId};
use crate::bottleneck::load;

const PAGE: Page = Page {
    id: RuleId::SyscallCost,
    title: "CPU time for system calls",
    what: "A host's CPU was full, and at least a fifth of its busy time went to entering and \
           leaving the kernel.",
    why: "A call costs the same for 64 bytes as for 64 KiB: small datagrams one at a time cost a \
          call each.",
    evidence: "Samples of the entry code and of the system calls' own functions.",
    remedy: "Many datagrams with one call (`--fastest` finds the engine: sendmmsg(2), \
             segmentation offload), longer blocks (`-l`).",
    source: "sendmmsg(2), udp(7)",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(case: &Case<'_>) -> Vec<Found> {
    let part = |full: &load::Full<'_>| full.share(|work| work == measurement::Work::SystemCall);
    let heavy = load::heavy(case, part, load::usual(LEAST), WORK).into_iter();
    heavy.map(|(_, found)| found.remedy(REMEDY)).collect()
}

const REMEDY: &str = "move more bytes per system call: --fastest, or longer blocks or datagrams \
                      (-l)";
/// What the CPU does, as the finding says it.
const WORK: &str = "enters system calls";
/// Share of the busy time. To be calibrated.
const LEAST: f64 = 0.20;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| crate::test_record::full_of(record, measurement::Work::SystemCall, 30))
    .silent(|record| crate::test_record::full_of(record, measurement::Work::SystemCall, 10));
