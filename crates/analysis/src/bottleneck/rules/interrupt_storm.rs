//! `interrupt-storm`: an interrupt for nearly each packet.

use measurement::remedy::{Coalescing, Setting, Switch};

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::case::Device;
use crate::words::count;
use measurement::host::counter;

const PAGE: Page = Page {
    id: RuleId::InterruptStorm,
    title: "Interrupt storm (an IRQ for nearly each packet)",
    what: "More than 20,000 interrupts in a second, each for fewer than four packets.",
    why: "Each interrupt costs as much as some packets. Held back for some microseconds it \
          fetches several at once, and GRO can join them.",
    evidence: "Interrupts and received packets of the interface in the same time.",
    remedy: "`ethtool -C IF adaptive-rx on`, or `rx-usecs 30`; it costs so much latency.",
    source: "ethtool(8)",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Placement, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if case.wanting().next().is_none() {
        return Vec::new();
    }
    case.hardware().filter_map(|device| finding(case, &device)).collect()
}

fn finding(case: &Case<'_>, device: &Device<'_, '_>) -> Option<Found> {
    let interrupts = case.arrivals(device).total();
    let packets = device.growth(counter::INTERFACE_RX_PACKETS);
    let rate = interrupts as f64 / device.host.span().as_secs_f64();
    let each = packets as f64 / interrupts.max(1) as f64;
    let is_storm = rate > MANY && each < FEW && packets > 0;
    is_storm.then(|| {
        let interface = device.interface.name.clone();
        let parameter = Coalescing::AdaptiveRx(Switch::On);
        Found::candidate(format!(
            "interrupt storm on {}: an interrupt for nearly each packet",
            device.name()
        ))
        .at(device.host.role())
        .seen(format!("{rate:.0} interrupts/s, each for {each:.1} received packets"))
        .seen(format!("{} packets received", count(packets)))
        .remedy("let the driver adapt its interrupt coalescing (where it cannot: rx-usecs 30)")
        .change(Setting::Coalescing { interface, parameter })
    })
}

/// Interrupts in a second. To be calibrated.
const MANY: f64 = 20_000.0;
/// Packets for each.
const FEW: f64 = 4.0;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| receive(record, 600_000))
    .silent(|record| receive(record, 6_000_000));

#[cfg(test)]
fn receive(record: &mut measurement::TestRecord, packets: u64) {
    crate::test_record::interrupt(record, &measurement::Role::Peer, 0, 400_000);
    let host = crate::test_record::host(record, &measurement::Role::Peer);
    crate::test_record::grow(host, counter::INTERFACE_RX_PACKETS.on("eth0"), packets);
}
