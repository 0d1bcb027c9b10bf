//! `copy-cost`: copying limits.

use super::{Case, Found, Page, Rule, RuleId};
use crate::bottleneck::load;

const PAGE: Page = Page {
    id: RuleId::CopyCost,
    title: "CPU time for copies",
    what: "A CPU of an end was full, and at least a quarter of what it did was to copy bytes.",
    why: "Each byte is copied from the program to the kernel or back, and some drivers copy it \
          once more. A core copies so many bytes a second and no more; on small in-order cores \
          that is the limit long before the link.",
    evidence: "Samples of the CPUs: `copy_user_generic`, `rep_movs_alternative`, \
               `__arch_copy_to_user`, `__asm_copy_from_user`, `memcpy` and their like; time of \
               the CPUs.",
    remedy: "Sending: engines without copies (`--fastest` finds them, `--engine sendfile` is one). \
             Receiving: `--engine msg-trunc` shows what is left without the copy; a newer kernel has \
             faster copies. A larger MTU and GRO make fewer, longer ones.",
    source: "Documentation/networking/msg_zerocopy.rst",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(case: &Case<'_>) -> Vec<Found> {
    let part = |full: &load::Full<'_>| full.share(measurement::Work::is_copy);
    let heavy = load::heavy(case, part, load::usual(LEAST), WORK).into_iter();
    heavy
        .map(|(full, found)| {
            let sends = load::sends(case, &full.role);
            found.remedy(if sends { SENDING } else { RECEIVING })
        })
        .collect()
}

const SENDING: &str = "send without copies: --fastest finds the engine (writes of 64 KiB and more)";
const RECEIVING: &str =
    "--engine msg-trunc shows the most that is to be won; use longer reads (-l), a larger MTU, GRO";
/// What the CPU does, as the finding says it.
const WORK: &str = "copies data";
/// Share of the busy time. To be calibrated.
const LEAST: f64 = 0.25;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| crate::test_record::full_of(record, measurement::Work::CopyUser, 40))
    .silent(|record| crate::test_record::full_of(record, measurement::Work::CopyUser, 12));
