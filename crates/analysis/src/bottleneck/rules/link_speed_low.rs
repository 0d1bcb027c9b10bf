//! `link-speed-low`: a link runs slower than both of its ends can.

use measurement::remedy::{Setting, Switch};

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::case::Device;
use crate::bottleneck::case::frames::payload_of_link;
use crate::words::{count, percent};

const PAGE: Page = Page {
    id: RuleId::LinkSpeedLow,
    title: "Link speed below what both ends support",
    what: "An interface runs at less than the fastest speed that it can and that the other end \
           offers.",
    why: "1000BASE-T needs all four pairs; with one broken both ends agree on 100 Mbit/s and say \
          nothing. A speed that somebody forced on one end does the same.",
    evidence: "Speed, fastest speed and the other end's offer, as `ethtool IF` shows them; with a \
               test also how full the link was.",
    remedy: "Another cable or port; `ethtool -s IF autoneg on` at both ends. Never force a speed \
             at one end alone.",
    source: "ethtool(8), IEEE 802.3 clause 28",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Link, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if !case.is_open() {
        return Vec::new();
    }
    case.hardware().filter_map(|device| finding(case, &device)).collect()
}

fn finding(case: &Case<'_>, device: &Device<'_, '_>) -> Option<Found> {
    let interface = device.interface;
    let (speed, most) = (interface.speed_mbps.filter(|speed| *speed > 0)?, interface.most_mbps?);
    let possible = interface.peer_mbps.map_or(most, |peer| peer.min(most));
    if speed >= possible {
        return None;
    }
    let filled = device.filled().filter(|_| case.test.is_some());
    let name = device.name();
    let text =
        format!("low link speed: {name} runs at {} of {} Mbit/s", count(speed), count(possible));
    let found = match (filled, interface.peer_mbps) {
        (Some(filled), _) if filled >= FULL => Found::limit(text).explaining(1.0),
        // Who can more may have nobody at the other end who can.
        (Some(_), _) | (None, None) => Found::note(text),
        (None, Some(_)) => Found::candidate(text),
    };
    let found = match device.speed().filter(|_| case.test.is_none()) {
        Some(speed) => found.allowing(payload_of_link(speed, interface.mtu)),
        None => found,
    };
    let found = found.at(device.host.role()).seen(format!(
        "{name}: {} Mbit/s negotiated, {} at most, the other end offers {}",
        count(speed),
        count(most),
        interface.peer_mbps.map_or_else(|| "an unknown speed".to_owned(), count)
    ));
    let found = match filled {
        Some(filled) => found.seen(format!("the link was filled to {}", percent(filled))),
        None => found,
    };
    Some(with_remedy(found, device, most))
}

fn with_remedy(found: Found, device: &Device<'_, '_>, most: u64) -> Found {
    let is_forbidden = device.interface.advertised_mbps.is_some_and(|offered| offered < most);
    if is_forbidden || device.interface.negotiated == Some(false) {
        let interface = device.interface.name.clone();
        let setting = Setting::Autonegotiation { interface, state: Switch::On };
        return found.remedy("let it negotiate all its speeds").change(setting);
    }
    found.remedy("try another cable and another port of the switch")
}

/// From so much on a link is full. To be calibrated.
const FULL: f64 = 0.9;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        let interface = crate::test_record::interface_of(record, &measurement::Role::Here);
        interface.speed_mbps = Some(100);
        (interface.most_mbps, interface.peer_mbps) = (Some(1_000), Some(1_000));
    })
    .silent(|record| {
        let interface = crate::test_record::interface_of(record, &measurement::Role::Here);
        interface.speed_mbps = Some(100);
        (interface.most_mbps, interface.peer_mbps) = (Some(1_000), Some(100));
    });
