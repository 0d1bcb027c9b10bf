//! `rx-ring-overrun`: an interface has no room for frames.

use measurement::remedy::{Ring, Setting};

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::case::Device;
use crate::evidence::Flowing;
use crate::facts::missed_frames;
use crate::words::{count, percent};
#[cfg(test)]
use measurement::host::counter;

const PAGE: Page = Page {
    id: RuleId::RxRingOverrun,
    title: "RX ring overrun",
    what: "Frames came and the device had no free buffer for them.",
    why: "The host fetches too slowly, in the mean (one core does all of it) or for a moment (the \
          ring is short). No socket sees these frames: to a tool they are lost on the network.",
    evidence: "`rx_missed_errors`, `rx_fifo_errors`, `rx_over_errors`, and what drivers call \
               `no_buf`, `out_of_buffer` or `discard`, against what is missing.",
    remedy: "Where a core is full spread the work first (`receive-on-one-cpu`, \
             `irq-on-slow-core`); then larger rings: `ethtool -g IF`, `ethtool -G IF rx N`.",
    source: "Documentation/networking/statistics.rst, ethtool(8)",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Overrun, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    case.hardware().filter_map(|device| finding(case, &device)).collect()
}

fn finding(case: &Case<'_>, device: &Device<'_, '_>) -> Option<Found> {
    let missed = missed_frames::missed(device.host, &device.interface.name)?;
    let blame = case.blame(device.host, Flowing::In, missed.frames)?;
    let interface = device.name();
    let found = Found::new(blame.certainty, format!("RX ring overrun on {interface}"));
    let found = found.at(device.host.role()).explaining(blame.share).seen(format!(
        "{} of {interface} grew by {}, {} of the loss",
        missed.name,
        count(missed.frames),
        percent(blame.share)
    ));
    Some(match device.interface.rings.get("rx").and_then(|ring| Some((ring.current, ring.most?))) {
        Some((current, most)) if current < most => found
            .remedy("enlarge the RX ring, which helps against bursts")
            .change_from(ring(device, larger(current, most)), Some(current)),
        _ => found.remedy(
            "spread receive processing over more or faster cores, or send less at \
        once",
        ),
    })
}

/// The setting of the entries of a device's RX ring.
pub(super) fn ring(device: &Device<'_, '_>, entries: u64) -> Setting {
    Setting::Ring { interface: device.interface.name.clone(), ring: Ring::Rx, entries }
}

/// The next step: the double, for large rings cost cache.
pub(super) const fn larger(current: u64, most: u64) -> u64 {
    let double = current.saturating_mul(2);
    if double < most { double } else { most }
}

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::udp)
    .fires(|record| {
        crate::test_record::lose(record, 5_000);
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::INTERFACE_RX_MISSED_ERRORS.on("eth0"), 5_000);
    })
    .silent(|record| crate::test_record::lose(record, 5_000));
