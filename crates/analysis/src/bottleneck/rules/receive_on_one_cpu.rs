//! `receive-on-one-cpu`: one core does all the work of receiving.

use std::collections::BTreeMap;

use measurement::remedy::{Change, Channels, Remedy, Setting};

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::case::{Device, cpu};
use crate::evidence::HostView;
use crate::words::{self, count, percent};
#[cfg(test)]
use measurement::host::counter;

const PAGE: Page = Page {
    id: RuleId::ReceiveOnOneCpu,
    title: "One CPU does all receive processing",
    what: "At least 90 % of an interface's interrupts come to one CPU, and at least 85 % of that \
           CPU's time went to them and to what follows them. Without a test: several interrupts \
           come to the same CPU, and to no other.",
    why: "Packets are worked on where their interrupt arrives. When that core is full the device \
          drops what comes, whatever the other cores do.",
    evidence: "Counts of `/proc/interrupts`; irq and softirq times of each CPU (`/proc/stat`).",
    remedy: "Several queues (`ethtool -L IF combined N`), each interrupt on a CPU of its own \
             (`/proc/irq/N/smp_affinity`); with one queue RPS (`rps_cpus`).",
    source: "Documentation/networking/scaling.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Placement, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if case.test.is_some() {
        return case.devices().filter_map(|device| full(case, &device)).collect();
    }
    case.hosts.iter().flat_map(|host| shared(case, host)).collect()
}

fn full(case: &Case<'_>, device: &Device<'_, '_>) -> Option<Found> {
    case.wanting().next()?;
    let load = cpu::taken_by_interrupts(device.host)?;
    let arrivals = case.arrivals(device);
    arrivals.only_cpu().filter(|cpu| *cpu == load.cpu)?;
    let name = device.name();
    let share = load.interrupted();
    Some(
        Found::limit(format!("CPU {} does all receive processing for {name}", load.cpu))
            .at(device.host.role())
            .explaining(share)
            .seen(format!("{} of CPU {} went to interrupts and softirq", percent(share), load.cpu))
            .seen(format!("it got {} interrupts of {name}, nearly all", count(arrivals.total())))
            .remedy(remedy(device, load.cpu)),
    )
}

fn remedy(device: &Device<'_, '_>, full: u32) -> Remedy {
    let interface = device.interface.name.clone();
    let cpus = cpu::online(&device.host.evidence.inventory);
    let others: Vec<u32> = cpus.map(|cpu| cpu.number).filter(|cpu| *cpu != full).collect();
    let channels = device.interface.channels.get("combined");
    let more = channels.and_then(|all| Some((all.current, all.most?)));
    let (sentence, setting) = match more.filter(|(current, most)| current < most) {
        Some((_, most)) => {
            let count = most.min(others.len() as u64 + 1);
            let kind = Channels::Combined;
            ("use more of its channels", Setting::Channels { interface, kind, count })
        }
        None if others.is_empty() => {
            return "spread packets over other CPUs with RPS: /sys/class/net/*/queues/rx-*/rps_cpus"
                .into();
        }
        None => {
            let cpus = others.into_iter().collect();
            ("spread packets over other CPUs (RPS)", Setting::RpsCpus { interface, queue: 0, cpus })
        }
    };
    Remedy::from(sentence).with(Change::new(device.host.role(), setting))
}

/// Several interrupts that all come to one CPU, on a host that has others.
fn shared(case: &Case<'_>, host: &HostView<'_>) -> Vec<Found> {
    let inventory = &host.evidence.inventory;
    if cpu::online(inventory).nth(1).is_none() {
        return Vec::new();
    }
    let mut of_cpu = BTreeMap::<u32, Vec<(u32, &str)>>::new();
    for device in case.hardware().filter(|device| device.host.role() == host.role()) {
        for irq in device.irqs() {
            let named = (irq.number, irq.name.as_str());
            match case.arrivals_of(&device, irq).only_cpu() {
                Some(cpu) if irq.effective.is_empty() || irq.effective.contains(&cpu) => {
                    let all = of_cpu.entry(cpu).or_default();
                    if !all.contains(&named) {
                        all.push(named);
                    }
                }
                _ => {}
            }
        }
    }
    // Slow cores are found by `irq-on-slow-core`.
    let fast = cpu::fastest(inventory);
    let is_slow = |cpu: &u32| !fast.is_empty() && !fast.contains(cpu);
    let shared = of_cpu.into_iter().filter(|(cpu, irqs)| irqs.len() > 1 && !is_slow(cpu));
    shared.map(|(cpu, irqs)| crowded(host, cpu, &irqs)).collect()
}

fn crowded(host: &HostView<'_>, cpu: u32, irqs: &[(u32, &str)]) -> Found {
    let name = words::host(host.role());
    let named: Vec<_> = irqs.iter().map(|(number, name)| format!("{number} ({name})")).collect();
    let other = cpu::online(&host.evidence.inventory).map(|one| one.number).find(|one| *one != cpu);
    let last = irqs.last().map_or(0, |(number, _)| *number);
    Found::candidate(format!("CPU {cpu} of {name} gets all network interrupts"))
        .at(host.role())
        .seen(format!("interrupts {} come to CPU {cpu}, and to hardly any other", named.join(", ")))
        .remedy("give each a CPU of its own")
        .change(Setting::IrqAffinity {
            irq: last,
            cpus: [other.unwrap_or(cpu)].into_iter().collect(),
        })
}

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| crate::test_record::fill_with_interrupts(record, &measurement::Role::Peer))
    .silent(|record| {
        crate::test_record::fill_with_interrupts(record, &measurement::Role::Peer);
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::interrupts(30).on(1), 100_000);
    });
