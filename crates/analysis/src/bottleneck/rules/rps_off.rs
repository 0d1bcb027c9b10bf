//! `rps-off`: one queue, and RPS is off.

use measurement::remedy::Setting;

use super::{Case, Class, Found, Page, Rule, RuleId, UsualEffect};
use crate::bottleneck::case::{Device, cpu};
use crate::words::percent;

const PAGE: Page = Page {
    id: RuleId::RpsOff,
    title: "RPS off with a single RX queue",
    what: "An interface has one receive queue, its host several CPUs, and nothing spreads the \
           work; with a test only where a core was full of interrupts.",
    why: "Then one core works on all packets of that interface. RPS lets it hand them to others \
          as soon as they are fetched.",
    evidence: "Receive queues and `rps_cpus` of the interface; irq and softirq time of each CPU.",
    remedy: "The mask of the other fast CPUs to `/sys/class/net/IF/queues/rx-0/rps_cpus`. The CPU \
             of the interrupt is left out, also where irq-on-slow-core is to move the interrupt \
             first: RPS to that CPU alone only queues each packet a second time.",
    source: "Documentation/networking/scaling.rst",
};

pub(super) const RULE: Rule =
    Rule::new(&PAGE, Class::Overrun, check).with_effect(UsualEffect::CpuTime);

fn check(case: &Case<'_>) -> Vec<Found> {
    if !case.is_open() {
        return Vec::new();
    }
    case.hardware().filter_map(|device| finding(case, &device)).collect()
}

fn finding(case: &Case<'_>, device: &Device<'_, '_>) -> Option<Found> {
    let inventory = &device.host.evidence.inventory;
    let cpus: Vec<u32> = cpu::online(inventory).map(|cpu| cpu.number).collect();
    let own = device.interface.steering.iter().find(|one| one.queue == "rx-0")?;
    let is_alone = device.interface.receive_queues == 1 && own.cpus.is_empty() && cpus.len() > 1;
    let taken = cpu::taken_by_interrupts(device.host);
    if !is_alone || (case.test.is_some() && taken.is_none()) {
        return None;
    }
    let name = device.name();
    let text = format!("one CPU receives for {name}: it has one RX queue, and RPS is off");
    let found = match taken {
        Some(load) => Found::candidate(text).seen(format!(
            "{} of CPU {} went to interrupts and softirq",
            percent(load.interrupted()),
            load.cpu
        )),
        None => Found::note(text),
    };
    let busy = case.place_of(device).or_else(|| taken.map(|load| load.cpu));
    let busy = busy.or_else(|| case.arrivals(device).only_cpu());
    let others = helpers(inventory, &cpus, busy);
    let interface = &device.interface.name;
    Some(
        found
            .at(device.host.role())
            .seen(format!("rps_cpus of {interface} is 0, {} CPUs are online", cpus.len()))
            .remedy(advice(&others, busy))
            .change_from(
                Setting::RpsCpus {
                    interface: interface.clone(),
                    queue: 0,
                    cpus: others.into_iter().collect(),
                },
                Some(0),
            ),
    )
}

/// `let RPS use CPU 5, and leave CPU 4 to the interrupt`.
fn advice(others: &[u32], busy: Option<u32>) -> String {
    let use_them = format!("let RPS use {}", cpu::named(others));
    busy.map(|cpu| format!("{use_them}, and leave CPU {cpu} to the interrupt")).unwrap_or(use_them)
}

/// The fast CPUs beside the one that fetches; all others where there is no fast one.
fn helpers(inventory: &measurement::Inventory, cpus: &[u32], busy: Option<u32>) -> Vec<u32> {
    let fast = cpu::fastest(inventory);
    let others = |all: &[u32]| -> Vec<u32> {
        all.iter().copied().filter(|cpu| Some(*cpu) != busy).collect()
    };
    let (fast, all) = (others(&fast), others(cpus));
    if fast.is_empty() { all } else { fast }
}

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        crate::test_record::fill_with_interrupts(record, &measurement::Role::Peer);
        steer(record, Vec::new());
    })
    .silent(|record| {
        crate::test_record::fill_with_interrupts(record, &measurement::Role::Peer);
        steer(record, vec![1]);
    });

#[cfg(test)]
fn steer(record: &mut measurement::TestRecord, cpus: Vec<u32>) {
    let host = crate::test_record::host(record, &measurement::Role::Peer);
    let cpu = |number| measurement::host::Cpu { number, ..Default::default() };
    host.inventory.cpus = vec![cpu(0), cpu(1)];
    let interface = &mut host.inventory.interfaces[0];
    interface.receive_queues = 1;
    let queue = "rx-0".to_owned();
    interface.steering = vec![measurement::host::Steering { queue, cpus, flows: None }];
}
