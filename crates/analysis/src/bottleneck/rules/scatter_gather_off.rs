//! `scatter-gather-off`: an interface cannot send what lies in several pieces.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::case::{Device, Offload};

const PAGE: Page = Page {
    id: RuleId::ScatterGatherOff,
    title: "Scatter-gather off",
    what: "Scatter and gather is off at an interface that sends.",
    why: "Each packet is copied into one piece before it is sent: there is no segmentation \
          offload, and a send without a copy (`MSG_ZEROCOPY`, sendfile(2)) is copied late.",
    evidence: "`tx-scatter-gather` (`ethtool -k IF`).",
    remedy: "`ethtool -K IF sg on`; where it is `off [fixed]` do not ask for zero-copy.",
    source: "ethtool(8), Documentation/networking/msg_zerocopy.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Offload, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    let is_of_interest = |device: &Device<'_, '_>| case.test.is_none() || device.is_hardware();
    case.carriers().filter(is_of_interest).filter_map(|device| finding(&device)).collect()
}

fn finding(device: &Device<'_, '_>) -> Option<Found> {
    let text = format!(
        "scatter-gather is off on {}: packets are copied before they are sent",
        device.name()
    );
    let (found, remedy) = match device.offload("tx-scatter-gather") {
        Offload::Off => {
            let found = Found::candidate(text).at(device.host.role());
            let found = found.seen("tx-scatter-gather off").seen(COST).remedy("switch it on");
            return Some(found.change_from(super::switch_on(device, "sg"), Some("off")));
        }
        Offload::Missing => (
            Found::note(text).seen("tx-scatter-gather off [fixed]"),
            "the device has no scatter-gather: zero-copy only costs here",
        ),
        Offload::On | Offload::Unknown => return None,
    };
    Some(found.at(device.host.role()).remedy(remedy))
}

const COST: &str = "TSO and GSO need scatter-gather";

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| super::switch(record, &measurement::Role::Here, "tx-scatter-gather", "off"))
    .silent(|record| super::switch(record, &measurement::Role::Peer, "tx-scatter-gather", "off"));
