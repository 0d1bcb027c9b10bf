//! `hw-gro-off`: the device could join packets, and is not asked to.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::case::{Device, Offload, cpu};
use crate::words::percent;

const PAGE: Page = Page {
    id: RuleId::HwGroOff,
    title: "Hardware GRO or LRO off",
    what: "A core was full of interrupts and softirq while TCP was received, and hardware GRO or \
           LRO is off that the device has.",
    why: "What the device joins costs no CPU.",
    evidence: "`rx-gro-hw` and `rx-lro` (`ethtool -k IF`); irq and softirq time of each CPU.",
    remedy: "`ethtool -K IF rx-gro-hw on`, or `lro on` where nothing is forwarded: LRO spoils \
             packets for routers and bridges.",
    source: "Documentation/networking/netdev-features.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Offload, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if !case.is_tcp() {
        return Vec::new();
    }
    case.receivers().filter_map(|device| finding(&device)).collect()
}

fn finding(device: &Device<'_, '_>) -> Option<Found> {
    let load = cpu::taken_by_interrupts(device.host)?;
    let forwards = device.host.setting("net.ipv4.ip_forward") == Some(1);
    let is_off = |name: &str| device.offload(name) == Offload::Off;
    let name = match (is_off("rx-gro-hw"), is_off("rx-lro")) {
        (true, _) => "rx-gro-hw",
        (false, true) if !forwards => "rx-lro",
        _ => return None,
    };
    let found = Found::candidate(format!("hardware receive offload is off on {}", device.name()));
    Some(
        found
            .at(device.host.role())
            .seen(format!("{name} off"))
            .seen(format!("{} of CPU {} went to interrupts", percent(load.interrupted()), load.cpu))
            .remedy("turn it on, then test again")
            .change_from(super::switch_on(device, name), Some("off")),
    )
}

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        crate::test_record::fill_with_interrupts(record, &measurement::Role::Peer);
        super::switch(record, &measurement::Role::Peer, "rx-lro", "off");
    })
    .silent(|record| super::switch(record, &measurement::Role::Peer, "rx-lro", "off"));
