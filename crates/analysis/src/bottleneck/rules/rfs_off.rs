//! `rfs-off`: RPS is on, and does not know where the program runs.

use measurement::remedy::Setting;

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::case::Device;

const PAGE: Page = Page {
    id: RuleId::RfsOff,
    title: "RFS off: RPS does not follow the application",
    what: "RPS is on for an interface and the tables of RFS are empty.",
    why: "RPS spreads flows by a hash. RFS sends each to the CPU where its program reads, so that \
          the data is in that CPU's cache.",
    evidence: "`rps_cpus` and `rps_flow_cnt` of each queue, `net.core.rps_sock_flow_entries`.",
    remedy: "`sysctl -w net.core.rps_sock_flow_entries=32768` and 32768 shared by the queues' \
             `rps_flow_cnt`.",
    source: "Documentation/networking/scaling.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Placement, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if !case.is_open() {
        return Vec::new();
    }
    case.hardware().filter_map(|device| finding(&device)).collect()
}

fn finding(device: &Device<'_, '_>) -> Option<Found> {
    let steering = device.interface.steering.iter();
    let on: Vec<_> =
        steering.filter(|one| one.queue.starts_with("rx-") && !one.cpus.is_empty()).collect();
    let entries = device.host.setting(ENTRIES)?;
    let is_off = entries == 0 || on.iter().all(|one| one.flows == Some(0));
    // A router hands packets on, and no program reads them.
    let forwards = device.host.setting("net.ipv4.ip_forward") == Some(1);
    (!on.is_empty() && is_off && !forwards).then(|| {
        let each = TABLE / on.len() as u64;
        let found = Found::note(format!(
            "RFS is off on {}: RPS does not follow the program",
            device.name()
        ))
        .at(device.host.role())
        .seen(format!("RPS is on for {} queues, rps_sock_flow_entries is {entries}", on.len()))
        .remedy("configure the flow tables of RFS")
        .change_from(super::sysctl(ENTRIES, TABLE), Some(entries));
        on.iter().fold(found, |found, one| {
            let queue = one.queue.strip_prefix("rx-").and_then(|number| number.parse().ok());
            let Some(queue) = queue else { return found };
            let interface = device.interface.name.clone();
            found.change_from(Setting::RpsFlows { interface, queue, entries: each }, one.flows)
        })
    })
}

const ENTRIES: &str = "net.core.rps_sock_flow_entries";
/// What scaling.rst suggests for a host with some load.
const TABLE: u64 = 32_768;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| steer(record, vec![1]))
    .silent(|record| steer(record, Vec::new()));

#[cfg(test)]
fn steer(record: &mut measurement::TestRecord, cpus: Vec<u32>) {
    let host = crate::test_record::host(record, &measurement::Role::Peer);
    let steering = measurement::host::Steering { queue: "rx-0".to_owned(), cpus, flows: Some(0) };
    host.inventory.interfaces[0].steering = vec![steering];
    host.inventory.settings.insert("net.core.rps_sock_flow_entries".to_owned(), "0".to_owned());
}
