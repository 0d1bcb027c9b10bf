//! `irq-and-app-on-one-cpu`: interrupts and the program share a core.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::case::{Device, Load};
use crate::words::percent;
#[cfg(test)]
use measurement::host::counter;

const PAGE: Page = Page {
    id: RuleId::IrqAndAppOnOneCpu,
    title: "IRQs and the application share a CPU",
    what: "The CPU to which an interface's interrupts come was full, with at least 40 % of its \
           time in interrupts and as much in programs, while another was idle for half of its \
           time.",
    why: "Each takes from the other what it needs. With the program on a core of its own both \
          have one.",
    evidence: "Times of each CPU (`/proc/stat`), and where interrupts came.",
    remedy: "Pin the program to another CPU (`--affinity`, taskset(1)), or move the interrupt.",
    source: "Documentation/networking/scaling.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Placement, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if case.wanting().next().is_none() {
        return Vec::new();
    }
    case.hardware().filter_map(|device| finding(case, &device)).collect()
}

fn finding(case: &Case<'_>, device: &Device<'_, '_>) -> Option<Found> {
    let cpu = case.arrivals(device).only_cpu()?;
    let loads = Load::each(device.host);
    let shared = loads.iter().find(|load| load.cpu == cpu && is_shared(load))?;
    let idle = loads.iter().find(|load| load.busy() <= 0.5)?;
    let name = device.name();
    Some(
        Found::limit(format!("CPU {cpu} is full: IRQs of {name} and the program share it"))
            .at(device.host.role())
            .explaining(shared.interrupted())
            .seen(format!(
                "CPU {cpu} was busy for {}: {} interrupts and softirq, {} programs",
                percent(shared.busy()),
                percent(shared.interrupted()),
                percent(shared.programs())
            ))
            .seen(format!("CPU {} was idle for {}", idle.cpu, percent(1.0 - idle.busy())))
            .remedy(format!("run the program on another CPU, as taskset -c {} does", idle.cpu)),
    )
}

fn is_shared(load: &Load) -> bool {
    load.busy() >= FULL && load.interrupted() >= MUCH && load.programs() >= MUCH
}

/// To be calibrated.
const FULL: f64 = 0.97;
const MUCH: f64 = 0.4;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| share(record, 100_000_000))
    .silent(|record| share(record, 2_000_000_000));

#[cfg(test)]
fn share(record: &mut measurement::TestRecord, idle: u64) {
    crate::test_record::interrupt(record, &measurement::Role::Peer, 0, 200_000);
    let host = crate::test_record::host(record, &measurement::Role::Peer);
    crate::test_record::grow(host, counter::CPU_IDLE.on(0), idle);
    crate::test_record::grow(host, counter::CPU_USER.on(0), 500_000_000);
    crate::test_record::grow(host, counter::CPU_SYSTEM.on(0), 4_000_000_000);
    crate::test_record::grow(host, counter::CPU_SOFTIRQ.on(0), 5_000_000_000);
}
