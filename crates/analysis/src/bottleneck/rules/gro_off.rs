//! `gro-off`: received packets are not joined.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::case::{Device, Offload};

const PAGE: Page = Page {
    id: RuleId::GroOff,
    title: "GRO off",
    what: "Generic receive offload is off at an interface that receives TCP; at a virtual one only if \
           the sender has no segmentation offload.",
    why: "GRO joins segments of a stream that come together, so that IP, TCP and the socket see \
          one packet in place of up to 45.",
    evidence: "`rx-gro` (`ethtool -k IF`).",
    remedy: "`ethtool -K IF gro on`.",
    source: "Documentation/networking/segmentation-offloads.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Offload, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if case.is_udp() {
        return Vec::new();
    }
    case.receivers().chain(case.receivers_of_segments()).filter_map(|one| finding(&one)).collect()
}

fn finding(device: &Device<'_, '_>) -> Option<Found> {
    let is_off = device.offload("rx-gro") == Offload::Off;
    is_off.then(|| {
        Found::candidate(format!("GRO is off on {}", device.name()))
            .at(device.host.role())
            .seen("rx-gro off")
            .remedy("switch GRO on")
            .change_from(super::switch_on(device, "gro"), Some("off"))
    })
}

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| super::switch(record, &measurement::Role::Peer, "rx-gro", "off"))
    .silent(|record| super::switch(record, &measurement::Role::Peer, "rx-gro", "on"));
