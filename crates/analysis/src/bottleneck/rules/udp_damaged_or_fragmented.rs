//! `udp-damaged-or-fragmented`: datagrams arrived damaged, or in fragments of which one was lost.

use measurement::ByteSize;
use measurement::judgement::Place;
use measurement::remedy::Setting;

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::accounts::Flow;
use crate::words::{self, counted, percent, share};

const PAGE: Page = Page {
    id: RuleId::UdpDamagedOrFragmented,
    title: "UDP checksum errors or IP fragmentation",
    what: "Some were dropped by the receiver's network layer, or some are missing and each \
           travelled in fragments.",
    why: "One lost fragment loses the whole datagram, so that a datagram of six fragments is lost \
          six times as often; it also needs memory and time to be put together. A wrong checksum \
          is a cable, a memory or a driver.",
    evidence: "The length of datagrams against the MTU of the interfaces on the way; the \
               receiver's `InCsumErrors`, `ReasmFails` and `InDiscards`.",
    remedy: "Datagrams that fit (`-l 1472` with an MTU of 1500, 1452 over IPv6); a new cable where \
             checksums are wrong.",
    source: "RFC 8085 (3.2), RFC 8900",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Overrun, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if !case.is_udp() {
        return Vec::new();
    }
    let all = case.flows().iter();
    all.flat_map(|flow| [fragments(case, flow), damaged(flow)]).flatten().collect()
}

fn fragments(case: &Case<'_>, flow: &Flow<'_>) -> Option<Found> {
    let ledger = flow.account.ledger.as_ref()?;
    let elsewhere = ledger.drops.iter().filter(|drop| drop.place != Place::ReceiverStack);
    let elsewhere: u64 = elsewhere.map(|drop| drop.datagrams).sum();
    let lost = ledger.lost().saturating_sub(elsewhere);
    let (block, mtu) = sizes(case)?;
    let pieces = block.saturating_add(UDP_HEADER).div_ceil(mtu.saturating_sub(IP_HEADER).max(1));
    (pieces > 1 && share(lost, ledger.sent) > TOLERATED).then(|| {
        Found::limit(format!(
            "IP fragmentation: each datagram is {pieces} fragments, and one lost fragment loses all"
        ))
        .going(flow.outcome.direction)
        .explaining(share(lost, ledger.lost()) * (1.0 - 1.0 / pieces as f64))
        .seen(format!("datagrams of {block} bytes, an MTU of {mtu}"))
        .seen(format!(
            "{} missing, {} of those sent",
            counted(lost, "datagram"),
            percent(share(lost, ledger.sent))
        ))
        .remedy("use datagrams that fit")
        .change_from(
            Setting::Length(ByteSize::from_bytes(mtu - IP_HEADER - UDP_HEADER)),
            Some(block),
        )
    })
}

/// Length of the datagrams, and the least MTU of interfaces on the way.
fn sizes(case: &Case<'_>) -> Option<(u64, u64)> {
    let block = case.test?.record.streams.first()?.block.bytes();
    let own = case.hosts.iter().flat_map(|host| {
        host.interfaces().iter().filter_map(|name| Some(u64::from(host.interface(name)?.mtu)))
    });
    let mtu = own.filter(|mtu| *mtu > IP_HEADER + UDP_HEADER).min()?;
    Some((block, mtu))
}

fn damaged(flow: &Flow<'_>) -> Option<Found> {
    let ledger = flow.account.ledger.as_ref()?;
    let drops: Vec<_> =
        ledger.drops.iter().filter(|drop| drop.place == Place::ReceiverStack).collect();
    let dropped: u64 = drops.iter().map(|drop| drop.datagrams).sum();
    let receiver = flow.receiver();
    (share(dropped, ledger.sent) > TOLERATED).then(|| {
        let text = format!("the IP layer of {} drops datagrams", words::host(&receiver));
        let found = Found::limit(text)
            .at(&receiver)
            .going(flow.outcome.direction)
            .explaining(share(dropped, ledger.lost()))
            .remedy("use datagrams that fit the MTU (-l 1472), and look at the cable");
        drops.iter().fold(found, |found, drop| {
            found.seen(format!("{} ({})", counted(drop.datagrams, "datagram"), drop.counter))
        })
    })
}

/// Of all datagrams. To be calibrated.
const TOLERATED: f64 = 0.000_1;
/// Of IPv4; IPv6's are twice as long.
const IP_HEADER: u64 = 20;
const UDP_HEADER: u64 = 8;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::udp)
    .fires(|record| {
        crate::test_record::lose(record, 5_000);
        record.streams[0].block = measurement::ByteSize::from_bytes(8_000);
    })
    .silent(|record| record.streams[0].block = measurement::ByteSize::from_bytes(8_000));
