//! `tso-off`: CPUs cut TCP into segments.

use measurement::Work;

use super::{Case, Found, Page, Rule, RuleId};
use crate::bottleneck::case::{Device, Offload};
use crate::bottleneck::load;

const PAGE: Page = Page {
    id: RuleId::TsoOff,
    title: "TSO off",
    what: "Segmentation offload (TSO) is off at an interface that sends TCP. It is the limit where \
           it could be on and a CPU of the sender was full.",
    why: "With it the stack sends up to 64 KiB at once and the device cuts them. Without it the \
          driver and all below the stack run once for each segment, 45 times as often.",
    evidence: "`tx-tcp-segmentation` and `tx-tcp6-segmentation` (`ethtool -k IF`).",
    remedy: "`ethtool -K IF tso on`; where it is `off [fixed]`, `gso on` saves a part.",
    source: "Documentation/networking/segmentation-offloads.rst",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(case: &Case<'_>) -> Vec<Found> {
    if case.is_udp() {
        return Vec::new();
    }
    case.carriers().filter_map(|device| finding(case, &device)).collect()
}

fn finding(case: &Case<'_>, device: &Device<'_, '_>) -> Option<Found> {
    let names = NAMES.into_iter().filter(|name| matters(case, name));
    let off: Vec<_> = names
        .map(|name| (name, device.offload(name)))
        .filter(|(_, state)| matches!(state, Offload::Off | Offload::Missing))
        .collect();
    let (first, _) = off.first()?;
    let version = if *first == NAMES[1] { " over IPv6" } else { "" };
    let text = format!("TSO{version} is off on {}", device.name());
    let could = off.iter().any(|(_, state)| *state == Offload::Off);
    let full = load::full(case).into_iter().find(|full| case.is_of(&full.role, device.host));
    let found = match &full {
        Some(full) if could => {
            Found::limit(text).explaining(full.share(is_for_each_segment)).seen(full.in_words())
        }
        _ if could => Found::candidate(text),
        _ => Found::note(text),
    };
    let shown: Vec<_> = off
        .iter()
        .filter_map(|(name, _)| Some(format!("{name} {}", device.interface.offloads.get(*name)?)))
        .collect();
    let is_without_gso = device.offload("tx-generic-segmentation") == Offload::Off;
    let found = found.at(device.host.role()).seen(shown.join(", "));
    Some(if could {
        found.remedy("turn TSO on").change_from(super::switch_on(device, "tso"), Some("off"))
    } else if is_without_gso {
        found
            .remedy("the device has no TSO; turn GSO on")
            .change_from(super::switch_on(device, "gso"), Some("off"))
    } else {
        found.remedy("the device has no TSO: larger frames save as much (ip link set mtu)")
    })
}

/// What costs as much for a short segment as for a long one.
const fn is_for_each_segment(work: Work) -> bool {
    use Work::{Allocation, Driver, Receive, Transmit};
    matches!(work, Allocation | Driver | Receive | Transmit)
}

/// Whether the test, if there is one, is of that version of IP.
fn matters(case: &Case<'_>, name: &str) -> bool {
    let peer = case.test.and_then(|test| test.record.peer.as_ref()).map(|peer| peer.address);
    peer.is_none_or(|peer| peer.is_ipv6() == (name == NAMES[1]))
}

const NAMES: [&str; 2] = ["tx-tcp-segmentation", "tx-tcp6-segmentation"];

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| super::switch(record, &measurement::Role::Here, "tx-tcp-segmentation", "off"))
    .silent(|record| {
        super::switch(record, &measurement::Role::Here, "tx-tcp6-segmentation", "off");
    });
