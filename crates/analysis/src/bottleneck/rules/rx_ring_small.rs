//! `rx-ring-small`: the ring of an interface is too short for bursts.

use super::{Case, Class, Found, Page, Rule, RuleId, rx_ring_overrun};
use crate::bottleneck::case::{Device, cpu};
use crate::evidence::Flowing;
use crate::facts::missed_frames;
use crate::words::{count, percent};

const PAGE: Page = Page {
    id: RuleId::RxRingSmall,
    title: "RX ring too small for bursts",
    what: "The device dropped frames though no core was full, and its ring can be larger.",
    why: "A ring holds what comes until softirq fetches it. 256 descriptors are 3 ms of full \
          frames at 1 Gbit/s, and 0.2 ms of small ones.",
    evidence: "Drops of the device (`rx-ring-overrun`); the ring as it is and at most; no CPU \
               whose irq and softirq time reach 85 %.",
    remedy: "`ethtool -G IF rx N`, in steps: a ring that does not fit the cache makes small cores \
             slower.",
    source: "ethtool(8)",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Overrun, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    case.hardware().filter_map(|device| finding(case, &device)).collect()
}

fn finding(case: &Case<'_>, device: &Device<'_, '_>) -> Option<Found> {
    let ring = device.interface.rings.get("rx")?;
    let most = ring.most.filter(|most| ring.current < *most)?;
    let drops = missed_frames::missed(device.host, &device.interface.name)?;
    if cpu::taken_by_interrupts(device.host).is_some() {
        return None;
    }
    let blame = case.blame(device.host, Flowing::In, drops.frames)?;
    let interface = device.name();
    let text = format!("the RX ring of {interface} is too small for bursts");
    Some(
        Found::new(blame.certainty, text)
            .at(device.host.role())
            .explaining(blame.share)
            .seen(format!("{} descriptors of {} possible", count(ring.current), count(most)))
            .seen(format!(
                "{} grew by {}, {} of the loss, and no core was full",
                drops.name,
                count(drops.frames),
                percent(blame.share)
            ))
            .remedy("enlarge the RX ring, then test again")
            .change_from(
                rx_ring_overrun::ring(device, rx_ring_overrun::larger(ring.current, most)),
                Some(ring.current),
            ),
    )
}

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::udp)
    .fires(|record| (super::rx_ring_overrun::FIXTURE.fires)(&mut *ring(record, 256)))
    .silent(|record| (super::rx_ring_overrun::FIXTURE.fires)(&mut *ring(record, 4_096)));

#[cfg(test)]
fn ring(record: &mut measurement::TestRecord, current: u64) -> &mut measurement::TestRecord {
    let interface = crate::test_record::interface_of(record, &measurement::Role::Peer);
    let ring = measurement::host::Measure { current, most: Some(4_096) };
    interface.rings.insert("rx".to_owned(), ring);
    record
}
