//! `eee-active`: a link that sleeps between frames, and loses some.

use measurement::remedy::{Setting, Switch};

use super::{Case, Class, Found, Page, Rule, RuleId, UsualEffect};
use crate::bottleneck::case::Device;
use crate::words::{counted, percent, share};

const PAGE: Page = Page {
    id: RuleId::EeeActive,
    title: "Energy-Efficient Ethernet (EEE) is active",
    what: "Energy-Efficient Ethernet is active on an interface of a test that lost packets.",
    why: "The link wakes for each frame after a rest, which takes microseconds; some pairs of \
          devices wake too late, and lose frames or the link itself.",
    evidence: "`ethtool --show-eee IF`; datagrams that are missing, or segments sent again.",
    remedy: "`ethtool --set-eee IF eee off`, and the same test again.",
    source: "IEEE 802.3az, ethtool(8)",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Link, check).with_effect(UsualEffect::Delay);

fn check(case: &Case<'_>) -> Vec<Found> {
    let lost: u64 = case.wanting().map(|flow| crate::bottleneck::case::missing(flow)).sum();
    let sent: u64 = case.wanting().map(|flow| crate::bottleneck::case::sent(flow)).sum();
    if share(lost, sent) < TOLERATED {
        return Vec::new();
    }
    case.hardware().filter_map(|device| finding(&device, lost, sent)).collect()
}

fn finding(device: &Device<'_, '_>, lost: u64, sent: u64) -> Option<Found> {
    let is_active = device.interface.eee.as_deref() == Some("active");
    let interface = &device.interface.name;
    is_active.then(|| {
        Found::candidate(format!("Energy-Efficient Ethernet (EEE) is active on {}", device.name()))
            .at(device.host.role())
            .seen(format!("Energy-Efficient Ethernet (EEE) is active on {interface}"))
            .seen(format!("{} missing, {}", counted(lost, "packet"), percent(share(lost, sent))))
            .remedy("test without EEE")
            .change_from(
                Setting::Eee { interface: interface.clone(), state: Switch::Off },
                Some("on"),
            )
    })
}

/// Of what was sent. To be calibrated.
const TOLERATED: f64 = 0.000_1;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::udp)
    .fires(|record| {
        crate::test_record::lose(record, 500);
        let interface = crate::test_record::interface_of(record, &measurement::Role::Peer);
        interface.eee = Some("active".to_owned());
    })
    .silent(|record| {
        let interface = crate::test_record::interface_of(record, &measurement::Role::Peer);
        interface.eee = Some("active".to_owned());
    });
