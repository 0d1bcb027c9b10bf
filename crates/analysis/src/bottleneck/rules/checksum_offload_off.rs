//! `checksum-offload-off`: CPUs compute checksums.

use measurement::Work;

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::case::{Device, Offload};
use crate::bottleneck::load;
use crate::words::percent;

const PAGE: Page = Page {
    id: RuleId::ChecksumOffloadOff,
    title: "Checksum offload off",
    what: "An interface does not compute checksums of what it sends or receives.",
    why: "Each byte is read once more by a CPU. Without it there is no segmentation offload \
          either.",
    evidence: "`tx-checksum-*` and `rx-checksum` (`ethtool -k IF`); with a profile the share of \
               CPU time that went there.",
    remedy: "`ethtool -K IF tx on rx on`; where it is `off [fixed]` the device has none, and a \
             copy that sums at once is the best there is.",
    source: "Documentation/networking/checksum-offloads.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Offload, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if !case.is_open() {
        return Vec::new();
    }
    let senders = case.carriers().filter(|_| !case.is_udp());
    let devices: Vec<_> = case.hardware().chain(senders).collect();
    let mut reported = Vec::new();
    let is_new = |device: &&Device<'_, '_>| {
        let name = device.name();
        let is_new = !reported.contains(&name);
        reported.push(name);
        is_new
    };
    devices.iter().filter(is_new).filter_map(|device| finding(case, device)).collect()
}

fn finding(case: &Case<'_>, device: &Device<'_, '_>) -> Option<Found> {
    let sent = SENT.map(|name| device.offload(name));
    let no_sent = sent.iter().all(|one| *one != Offload::On)
        && sent.iter().any(|one| *one != Offload::Unknown);
    let received = device.offload("rx-checksum");
    let no_received = matches!(received, Offload::Off | Offload::Missing);
    let what = match (no_sent, no_received) {
        (true, true) => "TX and RX",
        (true, false) => "TX",
        (false, true) => "RX",
        (false, false) => return None,
    };
    let interface = device.name();
    let text = format!("checksum offload is off on {interface} ({what})");
    let can_be = [
        (no_sent && sent.contains(&Offload::Off)).then_some("tx"),
        (received == Offload::Off).then_some("rx"),
    ];
    let can_be: Vec<_> = can_be.into_iter().flatten().collect();
    let cost = case.attribution(device.host.role()).and_then(|all| all.work.get(&Work::Checksum));
    let full = load::full(case).into_iter().find(|full| case.is_of(&full.role, device.host));
    // Who cannot have sums computed cannot have segments cut either.
    let cuts = case.is_tcp() && no_sent && !can_be.is_empty();
    let found = match (cost, full) {
        (_, Some(full)) if cuts => Found::limit(text).explaining(0.5).seen(full.in_words()),
        (Some(cost), _) if cost.share >= MUCH => Found::candidate(text)
            .explaining(cost.share)
            .seen(format!("checksums took {} of the busy time", percent(cost.share))),
        (None, _) if !can_be.is_empty() => Found::candidate(text),
        _ => Found::note(text),
    };
    let found = found.at(device.host.role()).seen(shown(device));
    let found = if no_sent { found.seen(COST) } else { found };
    Some(if can_be.is_empty() {
        found.remedy("the device has no checksum offload: only fewer bytes or a faster CPU help")
    } else {
        let found = found.remedy("turn checksum offload on");
        can_be.iter().fold(found, |found, side| {
            found.change_from(super::switch_on(device, side), Some("off"))
        })
    })
}

fn shown(device: &Device<'_, '_>) -> String {
    let names = SENT.iter().chain(&["rx-checksum"]);
    let reported =
        names.filter_map(|name| Some(format!("{name} {}", device.interface.offloads.get(*name)?)));
    reported.collect::<Vec<_>>().join(", ")
}

const COST: &str = "a CPU computes the checksums, and TSO needs TX checksum offload";
const SENT: [&str; 3] = ["tx-checksum-ip-generic", "tx-checksum-ipv4", "tx-checksum-ipv6"];
/// Of the busy time. To be calibrated.
const MUCH: f64 = 0.05;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| super::switch(record, &HERE, SENT[0], "off"))
    .silent(|record| super::switch(record, &HERE, SENT[0], "on [fixed]"));

#[cfg(test)]
const HERE: measurement::Role = measurement::Role::Here;
