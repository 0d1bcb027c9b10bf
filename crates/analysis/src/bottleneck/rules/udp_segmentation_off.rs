//! `udp-segmentation-off`: the device could cut UDP, and is not asked to.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::case::{Device, Offload};

const PAGE: Page = Page {
    id: RuleId::UdpSegmentationOff,
    title: "No UDP segmentation offload",
    what: "`tx-udp-segmentation` is off at an interface that sends UDP, and the device has it.",
    why: "A program may hand over many datagrams at once (`UDP_SEGMENT`). A device that cuts \
          them saves the driver's work for each.",
    evidence: "`tx-udp-segmentation` (`ethtool -k IF`).",
    remedy: "`ethtool -K IF tx-udp-segmentation on`, and the same test again.",
    source: "udp(7), Documentation/networking/segmentation-offloads.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Offload, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if case.is_tcp() {
        return Vec::new();
    }
    case.senders().filter_map(|device| finding(&device)).collect()
}

fn finding(device: &Device<'_, '_>) -> Option<Found> {
    let is_off = device.offload("tx-udp-segmentation") == Offload::Off;
    is_off.then(|| {
        Found::note(format!("no UDP segmentation offload on {}", device.name()))
            .at(device.host.role())
            .seen("tx-udp-segmentation off")
            .remedy("turn it on")
            .change_from(super::switch_on(device, "tx-udp-segmentation"), Some("off"))
    })
}

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, || {
    let mut record = crate::test_record::udp();
    crate::test_record::lose(&mut record, 5_000);
    record
})
.fires(|record| super::switch(record, &measurement::Role::Here, "tx-udp-segmentation", "off"))
.silent(|record| {
    super::switch(record, &measurement::Role::Here, "tx-udp-segmentation", "off [fixed]");
});
