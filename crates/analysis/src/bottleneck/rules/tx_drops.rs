//! `tx-drops`: an interface does not send what it got.

use super::{Case, Class, Found, Page, Rule, RuleId, UsualEffect};
use crate::bottleneck::case::Device;
use crate::evidence::Flowing;
use crate::words::{count, percent};
use measurement::host::{EachCounter, counter};

const PAGE: Page = Page {
    id: RuleId::TxDrops,
    title: "Interface drops packets on transmission",
    what: "The driver gave up packets that it was to send.",
    why: "Here the link does not drop but the device: its ring was full though the queue went on, \
          the carrier went away, or frames were too long.",
    evidence: "`tx_dropped`, `tx_errors`, `tx_fifo_errors`, `tx_carrier_errors` and \
               `tx_aborted_errors` against what is missing.",
    remedy: "`ethtool -S IF` names it in the driver's words; look into the kernel's log, and try \
             another kernel or driver.",
    source: "Documentation/networking/statistics.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Queue, check).with_effect(UsualEffect::Loss);

fn check(case: &Case<'_>) -> Vec<Found> {
    case.hardware().filter_map(|device| finding(case, &device)).collect()
}

fn finding(case: &Case<'_>, device: &Device<'_, '_>) -> Option<Found> {
    let counters = COUNTERS.map(|each| (each.field(), device.growth(each)));
    let unsent = counters.iter().map(|(_, grown)| *grown).max()?;
    let blame = case.blame(device.host, Flowing::Out, unsent)?;
    let name = device.name();
    let found = Found::new(blame.certainty, format!("{name} drops packets on transmission"));
    let found = found.at(device.host.role()).explaining(blame.share);
    let shown = counters.iter().filter(|(_, grown)| *grown > 0);
    let found = shown.fold(found, |found, (field, grown)| {
        found.seen(format!("{field} of {name} grew by {}", count(*grown)))
    });
    let found = found.seen(format!("{} of the loss", percent(blame.share)));
    Some(found.remedy(format!(
        "see the driver's counters (ethtool -S {}) and the kernel log (dmesg)",
        device.interface.name
    )))
}

/// Sums and their parts: the largest counts all.
const COUNTERS: [EachCounter<'static>; 5] = [
    counter::INTERFACE_TX_DROPPED,
    counter::INTERFACE_TX_ERRORS,
    counter::INTERFACE_TX_FIFO_ERRORS,
    counter::INTERFACE_TX_CARRIER_ERRORS,
    counter::INTERFACE_TX_ABORTED_ERRORS,
];

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::udp)
    .fires(|record| {
        crate::test_record::lose(record, 5_000);
        let host = crate::test_record::host(record, &measurement::Role::Here);
        crate::test_record::grow(host, counter::INTERFACE_TX_FIFO_ERRORS.on("eth0"), 5_000);
    })
    .silent(|record| {
        crate::test_record::lose(record, 5_000);
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::INTERFACE_TX_FIFO_ERRORS.on("eth0"), 5_000);
    });
