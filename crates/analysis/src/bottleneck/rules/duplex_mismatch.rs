//! `duplex-mismatch`: an interface cannot send and receive at once.

use measurement::remedy::{Setting, Switch};

use super::{Case, Class, Found, Page, Rule, RuleId, UsualEffect};
use crate::bottleneck::case::Device;
use crate::words::{count, percent, share};
use measurement::host::counter;

const PAGE: Page = Page {
    id: RuleId::DuplexMismatch,
    title: "Half duplex, or duplex mismatch",
    what: "An interface negotiated half duplex or was forced to it, or its speed was forced to 10 \
           or 100 Mbit/s.",
    why: "Only one end may send at a time. Mostly the other end runs at full duplex, as it was \
          forced there: then each takes the frames of the other for collisions or for damaged, \
          and the more is sent the less arrives.",
    evidence: "Duplex and auto-negotiation as `ethtool IF` shows them; `collisions` and packets \
    of the interface.",
    remedy: "Let both ends negotiate: `ethtool -s IF autoneg on`, and the same at the switch.",
    source: "ethtool(8), IEEE 802.3 clause 28",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Link, check).with_effect(UsualEffect::Loss);

fn check(case: &Case<'_>) -> Vec<Found> {
    if !case.is_open() {
        return Vec::new();
    }
    let hardware = case.hardware();
    hardware.filter_map(|device| half(&device).or_else(|| mismatch(&device))).collect()
}

/// The other end may have taken half duplex, since this one told it nothing.
fn mismatch(device: &Device<'_, '_>) -> Option<Found> {
    let speed = device.interface.speed_mbps.filter(|speed| *speed <= MOST_FORCED)?;
    (device.interface.negotiated == Some(false)).then(|| {
        let name = device.name();
        let text = format!("{name} was forced to {speed} Mbit/s: possible duplex mismatch");
        let found = Found::candidate(text).at(device.host.role());
        let found = found.seen(format!("{name}: auto-negotiation off, {speed} Mbit/s"));
        negotiate(found, device)
    })
}

fn half(device: &Device<'_, '_>) -> Option<Found> {
    if device.interface.duplex.as_deref() != Some("half") {
        return None;
    }
    let name = device.name();
    let collisions = device.growth(counter::INTERFACE_COLLISIONS);
    let part = share(collisions, device.growth(counter::INTERFACE_TX_PACKETS));
    let text = format!("{name} runs at half duplex");
    let found =
        if part >= MANY { Found::limit(text).explaining(1.0) } else { Found::candidate(text) };
    let found = found.at(device.host.role()).seen(format!("{name}: duplex half"));
    let found = if collisions > 0 {
        found.seen(format!("{} collisions, {} of what it sent", count(collisions), percent(part)))
    } else {
        found
    };
    Some(negotiate(found, device))
}

fn negotiate(found: Found, device: &Device<'_, '_>) -> Found {
    let interface = device.interface.name.clone();
    let setting = Setting::Autonegotiation { interface, state: Switch::On };
    found.remedy("let both ends negotiate; do the same at the switch").change(setting)
}

/// In Mbit/s: 1000BASE-T always negotiates (IEEE 802.3, 40.5.1).
const MOST_FORCED: u64 = 100;

/// Collisions for each packet sent. To be calibrated.
const MANY: f64 = 0.01;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        let here = measurement::Role::Here;
        crate::test_record::interface_of(record, &here).duplex = Some("half".to_owned());
        crate::test_record::grow(
            crate::test_record::host(record, &here),
            counter::INTERFACE_TX_PACKETS.on("eth0"),
            80_000,
        );
        crate::test_record::grow(
            crate::test_record::host(record, &here),
            counter::INTERFACE_COLLISIONS.on("eth0"),
            9_000,
        );
    })
    .silent(|record| {
        let here = measurement::Role::Here;
        crate::test_record::interface_of(record, &here).duplex = Some("full".to_owned());
    });
