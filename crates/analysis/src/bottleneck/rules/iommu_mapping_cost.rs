//! `iommu-mapping-cost`: addresses are mapped for the device, packet by packet.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::load;

const PAGE: Page = Page {
    id: RuleId::IommuMappingCost,
    title: "CPU time for IOMMU mappings",
    what: "A host's CPU was full, and at least a tenth of its busy time went to mapping and \
           unmapping memory in the IOMMU.",
    why: "An IOMMU that translates keeps a device out of memory that it was not given. In strict \
          mode each packet that is done costs a wait until the device has forgotten its address.",
    evidence: "Samples of `iommu_map`, `iommu_dma_unmap_page`, `alloc_iova`, `arm_smmu_…`, \
               `qi_submit_sync`; the mode, `iommu_group/type` of the device.",
    remedy: "Lazy mode (`iommu.strict=0` at the kernel's start), or none for the host's own \
             devices (`iommu.passthrough=1`), where nobody plugs in devices that are not trusted.",
    source: "Documentation/admin-guide/kernel-parameters.txt, \
             Documentation/ABI/testing/sysfs-kernel-iommu_groups",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Offload, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    let part = |full: &load::Full<'_>| full.share_of_rows(|row| maps_addresses(&row.symbol));
    let heavy = load::heavy(case, part, load::unusual(LEAST), WORK).into_iter();
    let reported = heavy.map(|(full, found)| match mode(case, &full) {
        Some(mode) => found.seen(mode),
        None => found,
    });
    reported.map(|found| found.remedy(REMEDY)).collect()
}

/// `the IOMMU translates for eth0 in strict mode`.
fn mode(case: &Case<'_>, full: &load::Full<'_>) -> Option<String> {
    let own = case.hardware().find(|device| *device.host.role() == full.role)?;
    let mode = match own.interface.bus.as_ref()?.iommu.as_deref()? {
        "DMA" => "in strict mode",
        "DMA-FQ" => "in lazy mode",
        "identity" => "one to one",
        other => other,
    };
    Some(format!("the IOMMU translates for {} {mode}", own.interface.name))
}

fn maps_addresses(symbol: &str) -> bool {
    SYMBOLS.iter().any(|known| symbol.contains(known))
}

/// Of `drivers/iommu`.
const SYMBOLS: [&str; 6] =
    ["iommu_", "iova", "arm_smmu_", "qi_submit_sync", "io_pgtable", "arm_lpae_"];
const REMEDY: &str = "boot with iommu.strict=0, or with iommu.passthrough=1 if all devices are \
                      trusted";
/// What the CPU does, as the finding says it.
const WORK: &str = "maps memory in the IOMMU";
/// Share of the busy time. To be calibrated.
const LEAST: f64 = 0.1;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| crate::test_record::full_in(record, "__iommu_dma_unmap", 15))
    .silent(|record| crate::test_record::full_in(record, "__iommu_dma_unmap", 5));
