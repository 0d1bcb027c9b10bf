//! `irq-on-slow-core`: interrupts of an interface go to a slow core while fast ones are there.

use measurement::host::Inventory;
use measurement::remedy::{CpuMask, Setting};

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::case::{Load, Misplaced, cpu};
use crate::evidence::HostView;
use crate::words::{self, count, percent};

const PAGE: Page = Page {
    id: RuleId::IrqOnSlowCore,
    title: "IRQs on a slow core",
    what: "An interrupt of an interface arrives at a core that is slower than the fastest of its \
           host. It is certain to limit where that core was full during a test.",
    why: "Where cores differ (big.LITTLE, P and E cores) the first CPU is often a slow one, and \
          the kernel gives it all interrupts; what receives packets then runs there.",
    evidence: "`cpu_capacity`, or the highest frequency, of each core; `effective_affinity` and \
               counts of each interrupt; with a test the load of that core.",
    remedy: "A fast core for each: the mask of the core to `/proc/irq/N/smp_affinity`. Programs \
             and RPS go to the others.",
    source: "Documentation/core-api/irq/irq-affinity.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Placement, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if !case.is_open() {
        return Vec::new();
    }
    case.hosts.iter().filter_map(|host| finding(case, host)).collect()
}

fn finding(case: &Case<'_>, host: &HostView<'_>) -> Option<Found> {
    let inventory = &host.evidence.inventory;
    let misplaced = case.misplaced(host);
    let first = misplaced.first()?;
    let most = cpu::highest_speed(inventory)?;
    let name = words::host(host.role());
    let text = format!("network IRQs go to slow cores on {name}");
    let loads = Load::each(host);
    let load = loads.iter().find(|load| load.cpu == first.cpu);
    let found = match load {
        Some(load) if load.is_taken_by_interrupts() => {
            Found::limit(text).explaining(load.interrupted()).seen(busy(load))
        }
        Some(load) if load.busy() < HARDLY_BUSY => Found::note(text).seen(busy(load)),
        _ => Found::candidate(text),
    };
    let found = misplaced.iter().fold(found.at(host.role()), |found, one| {
        found.seen(format!(
            "interrupt {} of {} goes to {}; the fastest core has {}",
            one.irq.number,
            one.interface,
            described(inventory, one.cpu),
            count(most)
        ))
    });
    Some(moved(found, &misplaced))
}

fn moved(found: Found, misplaced: &[Misplaced<'_>]) -> Found {
    misplaced.iter().fold(found.remedy("move each to a fast core"), |found, one| {
        let (irq, cpus) = (one.irq.number, [one.to].into_iter().collect());
        let now: CpuMask = one.irq.allowed.iter().copied().collect();
        found.change_from(Setting::IrqAffinity { irq, cpus }, Some(now))
    })
}

fn busy(load: &Load) -> String {
    format!(
        "CPU {} was busy for {}, {} of its time in interrupts and softirq",
        load.cpu,
        percent(load.busy()),
        percent(load.interrupted())
    )
}

/// A core in words: `CPU 0, a Cortex-A53 of capacity 485`.
fn described(inventory: &Inventory, number: u32) -> String {
    let Some(one) = inventory.cpus.iter().find(|one| one.number == number) else {
        return format!("CPU {number}");
    };
    let model = one.model.as_deref().unwrap_or("core");
    match (one.capacity, one.max_khz) {
        (Some(capacity), _) => format!("CPU {number}, a {model} of capacity {capacity}"),
        (None, Some(khz)) => format!("CPU {number}, a {model} of {} kHz", count(khz)),
        (None, None) => format!("CPU {number}, a {model}"),
    }
}

/// A core below that has time for more. To be calibrated.
const HARDLY_BUSY: f64 = 0.5;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        cores(record, 400);
        crate::test_record::fill_with_interrupts(record, &measurement::Role::Peer);
    })
    .silent(|record| {
        cores(record, 1_000);
        crate::test_record::fill_with_interrupts(record, &measurement::Role::Peer);
    });

#[cfg(test)]
fn cores(record: &mut measurement::TestRecord, first: u32) {
    let cpu = |number, capacity| measurement::host::Cpu {
        number,
        capacity: Some(capacity),
        ..measurement::host::Cpu::default()
    };
    crate::test_record::host(record, &measurement::Role::Peer).inventory.cpus =
        vec![cpu(0, first), cpu(1, 1_024)];
}
