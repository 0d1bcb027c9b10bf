//! `rx-frame-errors`: frames arrive damaged.

use super::{Case, Class, Found, Page, Rule, RuleId, UsualEffect};
use crate::bottleneck::case::Device;
use crate::evidence::Flowing;
use crate::words::{count, percent, share};
use measurement::host::{EachCounter, counter};

const PAGE: Page = Page {
    id: RuleId::RxFrameErrors,
    title: "Damaged frames (CRC errors)",
    what: "An interface received frames whose check sequence or length is wrong.",
    why: "They are thrown away. TCP takes that for a full queue and slows down, and no setting of \
          a host helps.",
    evidence: "`rx_crc_errors`, `rx_frame_errors` and `rx_length_errors` of the interface against \
               what is missing.",
    remedy: "Another cable, another port, another transceiver; away from what radiates.",
    source: "Documentation/networking/statistics.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Link, check).with_effect(UsualEffect::Loss);

fn check(case: &Case<'_>) -> Vec<Found> {
    case.hardware().filter_map(|device| finding(case, &device)).collect()
}

fn finding(case: &Case<'_>, device: &Device<'_, '_>) -> Option<Found> {
    let counters = COUNTERS.map(|each| (each.field(), device.growth(each)));
    let damaged = counters.iter().map(|(_, grown)| *grown).max()?;
    let blame = case.blame(device.host, Flowing::In, damaged)?;
    let text = format!("{} receives damaged frames (CRC errors)", device.name());
    let found = Found::new(blame.certainty, text).at(device.host.role()).explaining(blame.share);
    let shown = counters.iter().filter(|(_, grown)| *grown > 0);
    let found = shown.fold(found, |found, (field, grown)| {
        found.seen(format!("{field} of {} grew by {}", device.interface.name, count(*grown)))
    });
    let part = share(damaged, damaged.saturating_add(device.growth(counter::INTERFACE_RX_PACKETS)));
    let found = found.seen(format!("{} of the received frames", percent(part)));
    Some(found.remedy("replace the cable or the transceiver; no setting helps"))
}

/// Drivers count one damaged frame in one or in several of these.
const COUNTERS: [EachCounter<'static>; 3] = [
    counter::INTERFACE_RX_CRC_ERRORS,
    counter::INTERFACE_RX_FRAME_ERRORS,
    counter::INTERFACE_RX_LENGTH_ERRORS,
];

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::udp)
    .fires(|record| {
        crate::test_record::lose(record, 500);
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::INTERFACE_RX_PACKETS.on("eth0"), 99_500);
        crate::test_record::grow(host, counter::INTERFACE_RX_CRC_ERRORS.on("eth0"), 500);
    })
    .silent(|record| crate::test_record::lose(record, 500));
