//! `mtu-small`: an interface has a small MTU.

use measurement::remedy::Setting;

use super::{Case, Found, Page, Rule, RuleId};
use crate::bottleneck::case::Device;
use crate::bottleneck::case::frames::{frames_per_second, payload_of_link, payload_share};
use crate::words::{count, rounded};

const PAGE: Page = Page {
    id: RuleId::MtuSmall,
    title: "Small MTU",
    what: "The MTU of an interface is below 1,280 bytes; without a test also if it is below the \
           1,500 of Ethernet.",
    why: "Each packet has its headers and its cost: with 576 bytes there are two and a half times \
          as many packets as with 1,500. Below 1,280 bytes an interface has no IPv6 (RFC 8200, \
          section 5).",
    evidence: "The MTU of the interface. The bound is the share of a full frame that is payload of \
               TCP, of the speed of the link.",
    remedy: "`ip link set dev IF mtu 1500`, unless a link of the path takes less: a tunnel, PPPoE.",
    source: "RFC 894, RFC 8200, ip-link(8)",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(case: &Case<'_>) -> Vec<Found> {
    case.carriers().filter_map(|device| finding(case, &device)).collect()
}

fn finding(case: &Case<'_>, device: &Device<'_, '_>) -> Option<Found> {
    let mtu = device.interface.mtu;
    let least = if case.test.is_some() { LEAST_OF_IPV6 } else { OF_ETHERNET };
    if mtu == 0 || mtu >= least {
        return None;
    }
    let (name, bytes) = (device.name(), count(mtu.into()));
    let found = if mtu < LEAST_OF_IPV6 {
        Found::candidate(format!("the MTU of {name} is {bytes} bytes: too small for IPv6"))
    } else {
        Found::note(format!("the MTU of {name} is {bytes} bytes, below the 1,500 of Ethernet"))
    };
    let found = match device.speed() {
        Some(speed) => found.allowing(payload_of_link(speed, mtu)),
        None => found,
    };
    let setting = Setting::Mtu { interface: device.interface.name.clone(), bytes: OF_ETHERNET };
    let found = found.at(device.host.role()).seen(cost(device));
    Some(
        found
            .remedy("raise it, unless a link of the path takes less (a tunnel, PPPoE)")
            .change_from(setting, Some(mtu)),
    )
}

fn cost(device: &Device<'_, '_>) -> String {
    let (mtu, speed) = (device.interface.mtu, device.reference_speed());
    let shown = |mtu| (100.0 * payload_share(mtu), rounded(frames_per_second(speed, mtu)));
    let ((share, frames), (usual, fewer)) = (shown(mtu), shown(OF_ETHERNET));
    format!(
        "{share:.1} % of a full link is payload, with 1,500 bytes {usual:.1} %; {speed} is {frames} \
         packets per second, with 1,500 bytes {fewer}"
    )
}

/// The least MTU of IPv6 (RFC 8200, section 5).
const LEAST_OF_IPV6: u32 = 1_280;
/// The MTU of Ethernet (RFC 894).
const OF_ETHERNET: u32 = 1_500;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| set(record, 576))
    .silent(|record| set(record, 1_400));

#[cfg(test)]
fn set(record: &mut measurement::TestRecord, mtu: u32) {
    crate::test_record::interface_of(record, &measurement::Role::Here).mtu = mtu;
}
