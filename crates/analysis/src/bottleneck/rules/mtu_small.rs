//! `mtu-small`: an interface has a small MTU.

use measurement::Certainty;
use measurement::remedy::Setting;

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::case::Device;
use crate::bottleneck::case::frames::{frames_per_second, payload_of_link, payload_share};
use crate::bottleneck::load;
use crate::bottleneck::transfer::{self, Transfer};
use crate::words::{count, rounded};

const PAGE: Page = Page {
    id: RuleId::MtuSmall,
    title: "Small MTU",
    what: "The MTU of an interface is below 1,280 bytes; without a test also if it is below the \
           1,500 of Ethernet. Or TCP agreed on segments less than half as large as the MTUs of \
           both ends allow, and nobody asked for that.",
    why: "Each packet has its headers and its cost: with 576 bytes there are two and a half times \
          as many packets as with 1,500. Below 1,280 bytes an interface has no IPv6 (RFC 8200, \
          section 5).",
    evidence: "The MTU of the interface, and the segment size of the sender (`tcpi_snd_mss`). The bound is the share of a full frame that is payload of \
               TCP, of the speed of the link.",
    remedy: "`ip link set dev IF mtu 1500`, unless a link of the path takes less: a tunnel, PPPoE. Small \
             segments come from `advmss` of a route (`ip route`), or from a router that changes the \
             option (`TCPMSS` of iptables).",
    source: "RFC 894, RFC 8200, RFC 9293 (3.7.1), ip-link(8), ip-route(8)",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Offload, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    let mut found: Vec<_> = case.carriers().filter_map(|device| finding(case, &device)).collect();
    for transfer in &transfer::wanting(case) {
        found.extend(segments(case, transfer));
    }
    found
}

/// Segments that are much smaller than the MTUs of the ends make them.
fn segments(case: &Case<'_>, transfer: &Transfer<'_>) -> Option<Found> {
    let is_asked = case.test?.record.plan.options.mss.is_some();
    let segment = transfer.segment().filter(|_| !is_asked)?;
    let mtus = case.carriers().map(|device| device.interface.mtu).filter(|mtu| *mtu > 0);
    let mtu = mtus.min()?;
    if segment.saturating_add(HEADERS).saturating_mul(2) > mtu {
        return None;
    }
    let is_full = !load::full(case).is_empty();
    let certainty = if is_full { Certainty::Limit } else { Certainty::Candidate };
    let text = format!("TCP sends segments of {segment} bytes, where the MTU is {mtu} bytes");
    let found = Found::new(certainty, text).at(&transfer.sender());
    let needless = 1.0 - f64::from(segment.saturating_add(HEADERS)) / f64::from(mtu);
    let found = found.going(transfer.flow.outcome.direction).explaining(needless);
    Some(found.remedy(
        "find what makes them small: advmss of a route (ip route show), or an MSS clamp of a firewall",
    ))
}

fn finding(case: &Case<'_>, device: &Device<'_, '_>) -> Option<Found> {
    let mtu = device.interface.mtu;
    let least = if case.test.is_some() { LEAST_OF_IPV6 } else { OF_ETHERNET };
    if mtu == 0 || mtu >= least {
        return None;
    }
    let (name, bytes) = (device.name(), count(mtu.into()));
    let found = if mtu < LEAST_OF_IPV6 {
        Found::candidate(format!("the MTU of {name} is {bytes} bytes: too small for IPv6"))
    } else {
        Found::note(format!("the MTU of {name} is {bytes} bytes, below the 1,500 of Ethernet"))
    };
    let found = match device.speed() {
        Some(speed) => found.allowing(payload_of_link(speed, mtu)),
        None => found,
    };
    let setting = Setting::Mtu { interface: device.interface.name.clone(), bytes: OF_ETHERNET };
    let found = found.at(device.host.role()).seen(cost(device));
    Some(
        found
            .remedy("raise it, unless a link of the path takes less (a tunnel, PPPoE)")
            .change_from(setting, Some(mtu)),
    )
}

fn cost(device: &Device<'_, '_>) -> String {
    let (mtu, speed) = (device.interface.mtu, device.reference_speed());
    let shown = |mtu| (100.0 * payload_share(mtu), rounded(frames_per_second(speed, mtu)));
    let ((share, frames), (usual, fewer)) = (shown(mtu), shown(OF_ETHERNET));
    format!(
        "{share:.1} % of a full link is payload, with 1,500 bytes {usual:.1} %; {speed} is {frames} \
         packets per second, with 1,500 bytes {fewer}"
    )
}

/// Bytes of IP and TCP in front of a segment, at most.
const HEADERS: u32 = 100;
/// The least MTU of IPv6 (RFC 8200, section 5).
const LEAST_OF_IPV6: u32 = 1_280;
/// The MTU of Ethernet (RFC 894).
const OF_ETHERNET: u32 = 1_500;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| set(record, 576))
    .silent(|record| set(record, 1_400));

#[cfg(test)]
fn set(record: &mut measurement::TestRecord, mtu: u32) {
    crate::test_record::interface_of(record, &measurement::Role::Here).mtu = mtu;
}

#[cfg(test)]
mod tests {
    use measurement::{Role, TestRecord};

    use super::*;
    use crate::accounts::Test;
    use crate::test_record;

    fn found(record: &TestRecord) -> Vec<(Certainty, String)> {
        let test = Test::from_record(record);
        let found = check(&Case::of_test(&test, &[])).into_iter();
        found.map(|one| (one.certainty, one.text)).collect()
    }

    #[test]
    fn segments_far_below_the_mtu_are_told_unless_somebody_asked_for_them() {
        let mut record = test_record::tcp();
        test_record::sent(&mut record).segment = 524;
        let text = "TCP sends segments of 524 bytes, where the MTU is 1500 bytes".to_owned();
        assert_eq!(found(&record), [(Certainty::Candidate, text.clone())]);
        test_record::fill(test_record::host(&mut record, &Role::Here), 0.99);
        test_record::occupy(&mut record, &Role::Here, 0.99);
        assert_eq!(found(&record), [(Certainty::Limit, text)]);
        record.plan = test_record::plan_with(&record.plan, |draft| draft.options.mss = Some(524));
        assert_eq!(found(&record), []);
        record.plan = test_record::tcp().plan;
        test_record::sent(&mut record).segment = 1_200;
        assert_eq!(found(&record), [], "a tunnel or two");
    }
}
