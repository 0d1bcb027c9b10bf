//! `dma-sync-cost`: memory is made coherent for the device by hand.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::load;

const PAGE: Page = Page {
    id: RuleId::DmaSyncCost,
    title: "CPU time for DMA cache maintenance and bounce buffers",
    what: "A host's CPU was full, and at least 5 % of its busy time went to cleaning caches for \
           the device, or to copies through bounce buffers.",
    why: "A device that does not see the caches needs them cleaned for each packet; one that \
          cannot reach the memory needs a copy.",
    evidence: "Samples of `arch_sync_dma_for_cpu`, `dcache_inval_poc`, `swiotlb_bounce` and their \
               like.",
    remedy: "A driver with a pool of pages that stay mapped; memory within reach of the device \
             (`swiotlb=` off).",
    source: "Documentation/core-api/swiotlb.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Offload, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    let part = |full: &load::Full<'_>| full.share_of_rows(|row| is_for_the_device(&row.symbol));
    let heavy = load::heavy(case, part, load::unusual(LEAST), WORK).into_iter();
    heavy.map(|(_, found)| found.remedy(REMEDY)).collect()
}

fn is_for_the_device(symbol: &str) -> bool {
    SYMBOLS.iter().any(|known| symbol.contains(known))
}

/// Of `arch/*/mm/dma-*.c` and `kernel/dma/swiotlb.c`.
const SYMBOLS: [&str; 5] = ["sync_dma_for", "dcache_", "dma_cache_", "swiotlb_", "_dma_inv_range"];
const REMEDY: &str = "use a newer driver (page pool), and look why the device needs bounce \
                      buffers (dmesg | grep -i swiotlb)";
/// What the CPU does, as the finding says it.
const WORK: &str = "maintains caches for DMA";
/// Share of the busy time. To be calibrated.
const LEAST: f64 = 0.05;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| crate::test_record::full_in(record, "arch_sync_dma_for_cpu", 12))
    .silent(|record| crate::test_record::full_in(record, "arch_sync_dma_for_cpu", 1));
