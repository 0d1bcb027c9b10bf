//! `rps-redundant`: RPS moves packets that a queue of their own had placed already.

use measurement::remedy::{CpuMask, Setting};

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::case::{Device, cpu};
use crate::words::{count, counted};

const PAGE: Page = Page {
    id: RuleId::RpsRedundant,
    title: "RPS repeats what RSS has done",
    what: "An interface has a receive queue for each CPU and RPS is on.",
    why: "The device spreads what comes over the cores; RPS then spreads it again, with an \
          interrupt between cores for each batch.",
    evidence: "Receive queues, CPUs that are online, `rps_cpus` of each queue.",
    remedy: "Switch RPS off: `echo 0` to each `rps_cpus`.",
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
    let queues = device.interface.receive_queues as usize;
    let cpus = cpu::online(&device.host.evidence.inventory).count();
    let steering = device.interface.steering.iter();
    let on = steering.filter(|one| !one.cpus.is_empty());
    let on: Vec<(u32, CpuMask)> = on
        .filter_map(|one| {
            let queue = one.queue.strip_prefix("rx-")?.parse().ok()?;
            Some((queue, one.cpus.iter().copied().collect()))
        })
        .collect();
    let is_needless = queues > 1 && cpus > 1 && queues >= cpus && !on.is_empty();
    is_needless.then(|| {
        let found = Found::note(format!("RPS of {} repeats what RSS has done", device.name()))
            .at(device.host.role())
            .seen(format!(
                "{} for {} CPUs, RPS is on for {}",
                counted(queues as u64, "queue"),
                count(cpus as u64),
                count(on.len() as u64)
            ))
            .remedy("switch RPS off for each queue");
        on.iter().fold(found, |found, (queue, cpus)| {
            let interface = device.interface.name.clone();
            let setting = Setting::RpsCpus { interface, queue: *queue, cpus: CpuMask::default() };
            found.change_from(setting, Some(cpus))
        })
    })
}

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| steer(record, 2))
    .silent(|record| steer(record, 1));

#[cfg(test)]
fn steer(record: &mut measurement::TestRecord, queues: u32) {
    let host = crate::test_record::host(record, &measurement::Role::Peer);
    let cpu = |number| measurement::host::Cpu { number, ..Default::default() };
    host.inventory.cpus = vec![cpu(0), cpu(1)];
    let interface = &mut host.inventory.interfaces[0];
    interface.receive_queues = queues;
    let steering = |queue| measurement::host::Steering {
        queue: format!("rx-{queue}"),
        cpus: vec![1],
        flows: None,
    };
    interface.steering = (0..queues).map(steering).collect();
}
