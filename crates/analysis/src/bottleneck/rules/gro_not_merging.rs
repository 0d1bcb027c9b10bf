//! `gro-not-merging`: each segment climbs the receiver's stack alone.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::accounts::Flow;
use crate::bottleneck::case::{Device, Offload};
use crate::bottleneck::load;
use crate::evidence::senders;
use crate::words::{self, count};
use measurement::host::counter;

const PAGE: Page = Page {
    id: RuleId::GroNotMerging,
    title: "GRO not merging",
    what: "More than 20,000 segments a second arrived at TCP, each no larger than one and a half \
           of the segments that the sender makes: nothing was put together. It is the limit \
           where a CPU of the receiver was full.",
    why: "The stack costs as much for a segment of 500 bytes as for one of 64 KiB that GRO has \
          put together.",
    evidence: "`Tcp.InSegs` of the receiver, which counts what GRO has put together as one, \
    against \
               the bytes that arrived and the sender's segment size.",
    remedy: "GRO on (`ethtool -K eth0 gro on`), a larger MTU.",
    source: "Documentation/networking/snmp_counter.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Costly, check).seen_from_the_other_end();

fn check(case: &Case<'_>) -> Vec<Found> {
    let flows = case.wanting().filter(|_| case.is_tcp());
    flows.filter_map(|flow| finding(case, flow)).collect()
}

/// Payload bytes of a segment: as the sender tells, else as this end agreed with it.
fn segment(case: &Case<'_>, flow: &Flow<'_>) -> Option<u32> {
    let record = case.test?.record;
    let senders = senders(record, flow.outcome.direction).into_iter();
    let told = senders.filter_map(|(one, _)| Some(one.tcp?.segment)).max().filter(|size| *size > 0);
    told.or_else(|| record.streams.iter().find_map(|stream| stream.mss))
}

fn finding(case: &Case<'_>, flow: &Flow<'_>) -> Option<Found> {
    let receiver = flow.receiver();
    let host = case.host(&receiver)?;
    // Acknowledgements of the other direction are segments too.
    let segments = host.growth(counter::TCP_IN_SEGS).filter(|_| case.flows().len() == 1)?;
    let size = segment(case, flow)?;
    let arrived = flow.arrived()?;
    let rate = arrived.bytes as f64 / arrived.span.as_secs_f64().max(f64::MIN_POSITIVE);
    let got = rate * host.span().as_secs_f64() / segments.max(1) as f64;
    let each_second = segments as f64 / host.span().as_secs_f64().max(f64::MIN_POSITIVE);
    if each_second < MANY || size > LARGE || got > 1.5 * f64::from(size) {
        return None;
    }
    let is_full = load::full(case).iter().any(|full| {
        full.role == receiver || case.host(&full.role).is_some_and(|one| one.is_same_kernel(host))
    });
    let text =
        format!("{} handles each segment separately (GRO not merging)", words::host(&receiver));
    // Where it is on, it finds nothing to merge: that is how the segments come.
    let is_on = |device: Device<'_, '_>| device.offload("rx-gro") == Offload::On;
    let mut receivers = case.receivers_of_segments();
    let is_on = receivers.any(|device| *device.host.role() == receiver && is_on(device));
    // A block that is smaller than a segment is sent alone.
    let block = case.test?.record.plan.options.block;
    let is_small = block.is_some_and(|block| block.bytes() < size.into());
    let found = if is_full && !is_on && !is_small { Found::limit(text) } else { Found::note(text) };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    let each_second = count(each_second as u64);
    let found = found
        .at(&receiver)
        .going(flow.outcome.direction)
        .explaining(PART)
        .seen(format!("{each_second} segments a second of {got:.0} bytes (segment size {size})"))
        .remedy("ethtool -K INTERFACE gro on, or a larger MTU at both ends");
    Some(found)
}

/// In bytes: beyond a jumbo frame nothing need be put together.
const LARGE: u32 = 16_384;
/// Segments in a second. To be calibrated.
const MANY: f64 = 20_000.0;

/// Assumed part of the shortfall: no counter measures it.
const PART: f64 = 0.5;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        crate::test_record::sent(record).segment = 460;
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::TCP_IN_SEGS, 272_000);
        crate::test_record::fill(host, 0.98);
    })
    .silent(|record| {
        crate::test_record::sent(record).segment = 460;
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::TCP_IN_SEGS, 12_000);
        crate::test_record::fill(host, 0.98);
    });
