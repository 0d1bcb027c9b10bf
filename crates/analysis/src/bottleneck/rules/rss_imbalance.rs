//! `rss-imbalance`: one of an interface's queues gets most of the packets.

use std::collections::BTreeMap;

use measurement::IntoMap;
use measurement::remedy::Setting;

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::case::{Device, cpu};
use crate::evidence::Flowing;
use crate::words::{count, counted, percent};

const PAGE: Page = Page {
    id: RuleId::RssImbalance,
    title: "RSS imbalance between RX queues",
    what: "With four streams or more the fullest receive queue got more than twice the mean, and \
           a core was full of interrupts.",
    why: "The device chooses a queue by a hash of addresses and ports (RSS). With few streams \
          several meet in one queue, and their core is full while others rest.",
    evidence: "Packets of each queue as the driver counts them (`ethtool -S IF`).",
    remedy: "More streams, or other ports; `ethtool -X IF equal N`; for UDP ports in the hash: \
             `ethtool -N IF rx-flow-hash udp4 sdfn`.",
    source: "Documentation/networking/scaling.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Placement, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    let streams = case.test.map_or(0, |test| test.record.streams.len());
    if streams < ENOUGH_STREAMS {
        return Vec::new();
    }
    case.hardware().filter_map(|device| finding(case, &device, streams)).collect()
}

fn finding(case: &Case<'_>, device: &Device<'_, '_>, streams: usize) -> Option<Found> {
    case.through(device.host.role(), Flowing::In).next()?;
    let load = cpu::taken_by_interrupts(device.host)?;
    let queues = queues(device);
    let (fullest, most) = queues.iter().max_by_key(|(_, packets)| **packets)?;
    let total: u64 = queues.values().sum();
    let mean = total as f64 / queues.len() as f64;
    let is_uneven = queues.len() > 1 && *most as f64 > mean * UNEVEN;
    is_uneven.then(|| {
        let name = device.name();
        Found::candidate(format!("RSS imbalance: one RX queue of {name} gets most of the packets"))
            .at(device.host.role())
            .explaining(1.0 - mean / *most as f64)
            .seen(format!(
                "queue {fullest} got {} of {} packets in {} with {streams} streams",
                count(*most),
                count(total),
                counted(queues.len() as u64, "queue")
            ))
            .seen(format!("{} of CPU {} went to interrupts", percent(load.interrupted()), load.cpu))
            .remedy(format!(
                "use more streams (-P), or spread flows evenly (UDP: ethtool -N {} rx-flow-hash \
                 udp4 sdfn)",
                device.interface.name
            ))
            .change(Setting::RssQueues {
                interface: device.interface.name.clone(),
                queues: queues.len() as u64,
            })
    })
}

/// Packets of each receive queue. Drivers write `rx_queue_3_packets`, `rx3_packets`,
/// `rx-3.packets` and more: what has `rx`, `packets` and one number.
fn queues(device: &Device<'_, '_>) -> BTreeMap<u32, u64> {
    let mut queues =
        device.host.interface(&device.interface.name).map_or(0, |one| one.receive_queues);
    let counted = device.driver_growth(|name| queue(name).is_some()).into_iter();
    let counted = counted.filter_map(|(name, packets)| Some((queue(name)?, packets)));
    let mut all: BTreeMap<u32, u64> = counted.into_map();
    queues = queues.min(MOST_QUEUES);
    // A queue that got nothing did not grow.
    for number in (0..queues).filter(|_| !all.is_empty()).collect::<Vec<_>>() {
        all.entry(number).or_default();
    }
    all
}

fn queue(name: &str) -> Option<u32> {
    let numbers = name.split(|letter: char| !letter.is_ascii_digit());
    let mut numbers = numbers.filter(|digits| !digits.is_empty());
    let (first, more) = (numbers.next()?, numbers.next());
    let is_packets = name.starts_with("rx") && name.ends_with("packets") && more.is_none();
    is_packets.then(|| first.parse().ok()).flatten()
}

/// To be calibrated.
const UNEVEN: f64 = 2.0;
const ENOUGH_STREAMS: usize = 4;
/// No device has more.
const MOST_QUEUES: u32 = 4_096;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| spread(record, [100_000, 1_000, 1_000, 0]))
    .silent(|record| spread(record, [30_000, 25_000, 25_000, 20_000]));

#[cfg(test)]
fn spread(record: &mut measurement::TestRecord, packets: [u64; 4]) {
    crate::test_record::fill_with_interrupts(record, &measurement::Role::Peer);
    let stream = record.streams[0].clone();
    record.streams =
        (1..=4).map(|id| measurement::record::StreamRecord { id, ..stream.clone() }).collect();
    crate::test_record::interface_of(record, &measurement::Role::Peer).receive_queues = 4;
    let host = crate::test_record::host(record, &measurement::Role::Peer);
    for (queue, packets) in packets.into_iter().enumerate() {
        let name = format!("rx_queue_{queue}_packets");
        crate::test_record::grow(
            host,
            measurement::host::counter::driver("eth0").on(&name),
            packets,
        );
    }
}
