//! `checksum-cost`: the CPU adds up checksums.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::load;

const PAGE: Page = Page {
    id: RuleId::ChecksumCost,
    title: "CPU time for checksums",
    what: "A host's CPU was full, and at least 5 % of its busy time went to checksums.",
    why: "Interfaces do that while bytes pass, at no cost; where they do not, each byte is read \
          once more.",
    evidence: "Samples of `csum_partial`, `do_csum` and copies that add up meanwhile.",
    remedy: "Let the interface do it: `ethtool -K eth0 tx on rx on`; where it is fixed, the \
             hardware cannot.",
    source: "Documentation/networking/checksum-offloads.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Costly, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    let part = |full: &load::Full<'_>| full.share(|work| work == measurement::Work::Checksum);
    let heavy = load::heavy(case, part, load::unusual(LEAST), WORK).into_iter();
    heavy.map(|(_, found)| found.remedy(REMEDY)).collect()
}

const REMEDY: &str = "switch checksum offload on there: ethtool -K INTERFACE tx on rx on";
/// What the CPU does, as the finding says it.
const WORK: &str = "computes checksums";
/// Share of the busy time. To be calibrated.
const LEAST: f64 = 0.05;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| crate::test_record::full_of(record, measurement::Work::Checksum, 15))
    .silent(|record| crate::test_record::full_of(record, measurement::Work::Checksum, 2));
