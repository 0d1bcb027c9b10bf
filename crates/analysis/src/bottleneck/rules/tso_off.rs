//! `tso-off`: CPUs cut TCP into segments.

use measurement::remedy::Setting;
use measurement::{Certainty, Work};

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::case::{Device, Offload, frames};
use crate::bottleneck::load;
use crate::words::{count, rounded};

const PAGE: Page = Page {
    id: RuleId::TsoOff,
    title: "TSO off",
    what: "Segmentation offload (TSO) is off at an interface that sends TCP, or it takes only small \
           packets. It is the limit where it could be on and a CPU of the sender was full.",
    why: "With it the stack sends up to 64 KiB at once and the device cuts them. Without it the \
          driver and all below the stack run once for each segment, 45 times as often.",
    evidence: "`tx-tcp-segmentation` and `tx-tcp6-segmentation` (`ethtool -k IF`); `gso_max_size` \
               (`ip -d link`).",
    remedy: "`ethtool -K IF tso on`, where scatter-gather is off `ethtool -K IF sg on` before; where \
             it is `off [fixed]`, `gso on` saves a part. `ip link set dev IF gso_max_size 65536 \
             gro_max_size 65536`.",
    source: "Documentation/networking/segmentation-offloads.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Offload, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if case.is_udp() {
        return Vec::new();
    }
    case.carriers()
        .filter_map(|device| finding(case, &device).or_else(|| short(case, &device)))
        .collect()
}

fn finding(case: &Case<'_>, device: &Device<'_, '_>) -> Option<Found> {
    let names = NAMES.into_iter().filter(|name| matters(case, name));
    let off: Vec<_> = names
        .map(|name| (name, device.offload(name)))
        .filter(|(_, state)| matches!(state, Offload::Off | Offload::Missing))
        .collect();
    let (first, _) = off.first()?;
    let version = if *first == NAMES[1] { " over IPv6" } else { "" };
    let what = match device.offload(GSO) {
        Offload::Off => format!("TSO{version} and GSO are"),
        _ => format!("TSO{version} is"),
    };
    let text = format!("{what} off on {}", device.name());
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
    let found = found.at(device.host.role()).seen(shown.join(", ")).seen(cost(device));
    Some(with_remedy(found, device, if could { Offload::Off } else { Offload::Missing }))
}

/// Segmentation offload of packets that are small already.
fn short(case: &Case<'_>, device: &Device<'_, '_>) -> Option<Found> {
    let most = device.interface.gso_max_bytes.filter(|most| *most < LEGACY.into())?;
    case.test?;
    let text = format!("TSO takes packets of {} bytes at most on {}", count(most), device.name());
    let setting = Setting::BigTcp { interface: device.interface.name.clone(), bytes: LEGACY };
    Some(
        Found::candidate(text)
            .at(device.host.role())
            .seen(format!("gso_max_size {}", count(most)))
            .remedy("let it take more")
            .change_from(setting, Some(most)),
    )
}

/// Whether a CPU without time left makes the segments of the test one by one.
pub(super) fn limits(case: &Case<'_>) -> bool {
    check(case).iter().any(|found| found.certainty == Certainty::Limit)
}

fn with_remedy(found: Found, device: &Device<'_, '_>, tso: Offload) -> Found {
    let on = |found: Found, name| found.change_from(super::switch_on(device, name), Some("off"));
    match (tso, device.offload(GSO)) {
        // Neither is in effect without it.
        (Offload::Off, gso) if device.offload(SCATTER_GATHER) == Offload::Off => {
            let found = found.remedy("turn scatter-gather on, and TSO with it");
            let found = on(on(found, "sg"), "tso");
            if gso == Offload::Off { on(found, "gso") } else { found }
        }
        (Offload::Off, Offload::Off) => on(on(found.remedy("turn TSO and GSO on"), "tso"), "gso"),
        (Offload::Off, _) => on(found.remedy("turn TSO on"), "tso"),
        (_, Offload::Off) => on(found.remedy("the device has no TSO; turn GSO on"), "gso"),
        _ => found.remedy("the device has no TSO: larger frames save as much (ip link set mtu)"),
    }
}

/// How many packets pass the stack at the speed of the link.
fn cost(device: &Device<'_, '_>) -> String {
    let speed = device.reference_speed();
    let segments = frames::frames_per_second(speed, device.interface.mtu);
    let joined = frames::packets_per_second(speed, WITH_TSO);
    format!(
        "at {speed} the driver sends {} segments per second, with TSO {} packets of 64 KiB",
        rounded(segments),
        rounded(joined)
    )
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

/// The largest packet that TSO takes (`GSO_LEGACY_MAX_SIZE`, linux/netdevice.h).
const LEGACY: u32 = 65_536;
const WITH_TSO: f64 = LEGACY as f64;
const GSO: &str = "tx-generic-segmentation";
const SCATTER_GATHER: &str = "tx-scatter-gather";
const NAMES: [&str; 2] = ["tx-tcp-segmentation", "tx-tcp6-segmentation"];

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| super::switch(record, &measurement::Role::Here, "tx-tcp-segmentation", "off"))
    .silent(|record| {
        super::switch(record, &measurement::Role::Here, "tx-tcp6-segmentation", "off");
    });
