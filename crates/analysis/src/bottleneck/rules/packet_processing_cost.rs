//! `packet-processing-cost`: packets are made and given back.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::load;

const PAGE: Page = Page {
    id: RuleId::PacketProcessingCost,
    title: "Packet processing cost (allocation of packet buffers)",
    what: "A host's CPU was full, and at least 15 % of its busy time went to allocating and \
           freeing packets and pages.",
    why: "That costs for each packet, however short: few long packets cost less than many short \
          ones.",
    evidence: "Samples of `__alloc_skb`, `kmem_cache_alloc`, `page_frag_alloc`, \
               `skb_release_data` and their like.",
    remedy: "A larger MTU, GRO and segmentation offload on, a driver with a pool of pages.",
    source: "Documentation/networking/page_pool.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Work, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    let part = |full: &load::Full<'_>| full.share(|work| work == measurement::Work::Allocation);
    let heavy = load::heavy(case, part, load::usual(LEAST), WORK).into_iter();
    heavy.map(|(_, found)| found.remedy(REMEDY)).collect()
}

const REMEDY: &str = "make fewer, longer packets: a larger MTU, ethtool -K INTERFACE gro on tso on";
/// What the CPU does, as the finding says it.
const WORK: &str = "allocates packets";
/// Share of the busy time. To be calibrated.
const LEAST: f64 = 0.15;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| crate::test_record::full_of(record, measurement::Work::Allocation, 25))
    .silent(|record| crate::test_record::full_of(record, measurement::Work::Allocation, 8));
