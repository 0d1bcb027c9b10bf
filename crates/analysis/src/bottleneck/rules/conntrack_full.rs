//! `conntrack-full`: the table of connections is full.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::evidence::HostView;
use crate::words::{self, count, percent, share};
use measurement::host::counter;

const PAGE: Page = Page {
    id: RuleId::ConntrackFull,
    title: "Connection tracking table full",
    what: "The kernel tracks nearly as many connections as it may, or dropped packets as it could \
           not track more.",
    why: "Packets of a connection that finds no place are dropped, also in the middle of a test \
          of many streams.",
    evidence: "`nf_conntrack_count` against `nf_conntrack_max`; `drop`, `early_drop` and \
               `insert_failed` of the tracking.",
    remedy: "`sysctl -w net.netfilter.nf_conntrack_max=N`, or no tracking for the test \
             (`notrack`).",
    source: "Documentation/networking/nf_conntrack-sysctl.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Filter, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if !case.is_open() {
        return Vec::new();
    }
    case.hosts.iter().filter_map(finding).collect()
}

fn finding(host: &HostView<'_>) -> Option<Found> {
    let most = host.setting(MOST).filter(|most| *most > 0)?;
    let known = host.gauge(counter::CONNTRACK_COUNT).iter().copied().max().unwrap_or(0);
    let known = u64::try_from(known).unwrap_or(0);
    let dropped = [counter::CONNTRACK_DROP, counter::CONNTRACK_EARLY_DROP]
        .map(|each| host.sum(each).unwrap_or(0));
    let dropped = dropped.into_iter().fold(0, u64::saturating_add);
    let filled = share(known, most);
    if filled < NEARLY_FULL {
        return None;
    }
    let text = format!("the connection tracking table is full on {}", words::host(host.role()));
    let found =
        if dropped > 0 { Found::limit(text).explaining(filled) } else { Found::candidate(text) };
    let found = found.at(host.role()).seen(format!(
        "{} connections of {} at most, {}",
        count(known),
        count(most),
        percent(filled)
    ));
    let found = if dropped > 0 {
        found.seen(format!("{} dropped as the table was full", count(dropped)))
    } else {
        found
    };
    let larger = super::sysctl(MOST, most.saturating_mul(2));
    Some(
        found
            .remedy("enlarge the table, or exempt the test from tracking (notrack)")
            .change_from(larger, Some(most)),
    )
}

const MOST: &str = "net.netfilter.nf_conntrack_max";
/// From so much on new connections push others out. To be calibrated.
const NEARLY_FULL: f64 = 0.95;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| track(record, 65_536))
    .silent(|record| track(record, 9_000));

#[cfg(test)]
fn track(record: &mut measurement::TestRecord, known: i64) {
    let host = crate::test_record::host(record, &measurement::Role::Peer);
    let name = "net.netfilter.nf_conntrack_max".to_owned();
    host.inventory.settings.insert(name, "65536".to_owned());
    host.series.put_gauge(counter::CONNTRACK_COUNT, vec![known]);
    crate::test_record::grow(host, counter::CONNTRACK_DROP.on(0), 800);
    host.series.note_read(measurement::host::Family::CONNTRACK);
}
