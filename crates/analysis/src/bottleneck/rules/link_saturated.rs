//! `link-saturated`: the link carries what it can.

use measurement::{BitRate, TestRecord};

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::accounts::Flow;
use crate::bottleneck::case::Device;
use crate::framing;
use crate::words::{counted, percent};

const PAGE: Page = Page {
    id: RuleId::LinkSaturated,
    title: "Link saturated",
    what: "What arrived is at least 97 % of what the slowest interface can carry, headers and \
           what is between frames taken off; or its counters say that others filled the rest.",
    why: "The link is full. At an MTU of 1,500 bytes TCP with time stamps gets 94.1 % of the \
          speed, and UDP 95.7 %.",
    evidence: "Goodput, speed and MTU; bytes and packets of the interface.",
    remedy: "Nothing is wrong. A faster link, or larger frames at both ends and on the way.",
    source: "IEEE 802.3 clause 3, RFC 7323",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Link, check);

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
    let part = framing::payload_share(record, slowest.interface.mtu)?;
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

const REMEDY: &str = "nothing is wrong: only a faster link, or a larger MTU on the whole path, \
                      gives more";
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
