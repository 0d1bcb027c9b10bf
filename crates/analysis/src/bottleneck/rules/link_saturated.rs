//! `link-saturated`: the link carries what it can.

use measurement::{BitRate, TestRecord, Transport};

use super::{Case, Found, Page, Rule, RuleId};
use crate::accounts::Flow;
use crate::bottleneck::case::Device;
use crate::words::{counted, percent};

const PAGE: Page = Page {
    id: RuleId::LinkSaturated,
    title: "Link saturated",
    what: "What arrived is at least 97 % of what the slowest interface can carry, headers and \
           what is between frames taken off; or its counters say that others filled the rest.",
    why: "More does not go. At an MTU of 1,500 bytes TCP with time stamps gets 94.1 % of the \
          speed, and UDP 95.7 %.",
    evidence: "Goodput, speed and MTU; bytes and packets of the interface.",
    remedy: "Nothing is wrong. A faster link, or larger frames at both ends and on the way.",
    source: "IEEE 802.3 clause 3, RFC 7323",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(case: &Case<'_>) -> Vec<Found> {
    let Some(test) = case.test else { return Vec::new() };
    let full = case.wanting().filter_map(|flow| by_goodput(case, test.record, flow));
    let full: Vec<_> = full.collect();
    if !full.is_empty() || case.wanting().next().is_none() {
        return full;
    }
    case.hardware().filter_map(|device| by_counters(&device)).collect()
}

fn by_goodput(case: &Case<'_>, record: &TestRecord, flow: &Flow<'_>) -> Option<Found> {
    let speed = |device: &Device<'_, '_>| device.interface.speed_mbps.filter(|speed| *speed > 0);
    let slowest = case.hardware().filter(|device| speed(device).is_some());
    let slowest = slowest.min_by_key(|device| speed(device))?;
    let megabits = speed(&slowest)?;
    let part = payload_share(record, slowest.interface.mtu)?;
    let possible = megabits as f64 * 1e6 * part;
    let goodput = flow.outcome.delivered?.rate;
    let filled = goodput.bits_per_second() as f64 / possible;
    (filled >= FULL).then(|| {
        Found::limit(format!("the link of {} is full", slowest.name()))
            .at(slowest.host.role())
            .going(flow.outcome.direction)
            .explaining(1.0)
            .seen(format!("{goodput} of payload arrived, {} of what fits", percent(filled)))
            .seen(format!(
                "{} at an MTU of {} leave {} for payload",
                BitRate::from_bits_per_second(megabits.saturating_mul(1_000_000)),
                counted(slowest.interface.mtu.into(), "byte"),
                percent(part)
            ))
            .remedy(REMEDY)
    })
}

fn by_counters(device: &Device<'_, '_>) -> Option<Found> {
    let filled = device.filled().filter(|filled| *filled >= FULL)?;
    let speed =
        BitRate::from_bits_per_second(device.interface.speed_mbps?.saturating_mul(1_000_000));
    let name = device.name();
    Some(
        Found::limit(format!("the link of {name} is full, partly with other traffic"))
            .at(device.host.role())
            .explaining(1.0)
            .seen(format!("{name} carried {} of {speed}", percent(filled)))
            .remedy("stop what else uses the link, or use a faster one"),
    )
}

/// Share of a full link that is payload of the test.
fn payload_share(record: &TestRecord, mtu: u32) -> Option<f64> {
    let stream = record.streams.first()?;
    let address = if stream.peer.is_some_and(|peer| peer.is_ipv6()) { 40 } else { 20 };
    let (payload, packets) = match record.plan.transport {
        Transport::Tcp => {
            let segment = f64::from(stream.mss.unwrap_or_else(|| mtu.saturating_sub(address + 32)));
            (segment, vec![segment + f64::from(address + 32)])
        }
        // No datagram is longer (RFC 768).
        Transport::Udp => {
            let block = stream.block.bytes().min(u16::MAX.into());
            (block as f64, fragments(block, mtu, address))
        }
    };
    let wire: f64 = packets.iter().map(|packet| (packet + ETHERNET).max(SHORTEST)).sum();
    (payload > 0.0).then_some(payload / wire)
}

/// Sizes of the packets of one datagram (RFC 791: fragments hold a multiple of 8 bytes).
fn fragments(block: u64, mtu: u32, address: u32) -> Vec<f64> {
    let mut left = block + 8;
    let most = u64::from(mtu.saturating_sub(address)) / 8 * 8;
    let mut packets = Vec::new();
    while left > most && most > 0 {
        packets.push((most + u64::from(address)) as f64);
        left -= most;
    }
    packets.push((left + u64::from(address)) as f64);
    packets
}

const REMEDY: &str = "nothing is wrong: use a faster link, or larger frames on the whole way";
/// Beside the packet: header 14, check sequence 4, preamble 8 and gap 12 bytes.
const ETHERNET: f64 = 38.0;
/// A frame of 64 bytes with preamble and gap.
const SHORTEST: f64 = 84.0;
/// The rest is what clocks and acknowledgements take. To be calibrated.
const FULL: f64 = 0.97;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        crate::test_record::interface_of(record, &measurement::Role::Peer).speed_mbps = Some(107);
    })
    .silent(|record| {
        crate::test_record::interface_of(record, &measurement::Role::Peer).speed_mbps = Some(120);
    });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_record;

    #[test]
    fn headers_leave_less_for_payload() {
        let tcp = payload_share(&test_record::tcp(), 1_500).expect("a stream");
        assert!((tcp - 0.9415).abs() < 0.0001, "{tcp}");
        let mut record = test_record::udp();
        record.streams[0].block = measurement::ByteSize::from_bytes(1_472);
        let udp = payload_share(&record, 1_500).expect("a stream");
        assert!((udp - 0.9571).abs() < 0.0001, "{udp}");
    }

    #[test]
    fn a_datagram_above_the_mtu_is_in_fragments() {
        assert_eq!(fragments(8_192, 1_500, 20).len(), 6);
        assert_eq!(fragments(1_472, 1_500, 20), [1_500.0]);
    }
}
