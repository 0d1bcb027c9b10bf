//! `irq-on-remote-node`: packets are worked on far from the memory that they are in.

use measurement::Order;

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::case::{Device, cpu};

const PAGE: Page = Page {
    id: RuleId::IrqOnRemoteNode,
    title: "IRQs on a remote NUMA node",
    what: "An interface is next to one NUMA node, and its interrupts go to CPUs of another.",
    why: "Each packet crosses the link between the nodes, and its data is in the wrong cache. It \
          counts from some ten Gbit/s on.",
    evidence: "`numa_node` of the device, node of each CPU, where interrupts go.",
    remedy: "Interrupts and the program to CPUs of the device's node: `smp_affinity_list`, \
             `numactl --cpunodebind`.",
    source: "Documentation/networking/scaling.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Placement, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if !case.is_open() {
        return Vec::new();
    }
    case.hardware().filter_map(|device| finding(case, &device)).collect()
}

fn finding(case: &Case<'_>, device: &Device<'_, '_>) -> Option<Found> {
    let node = device.interface.node?;
    let inventory = &device.host.evidence.inventory;
    let all = || cpu::online(inventory);
    let own: Vec<u32> = all().filter(|cpu| cpu.node == Some(node)).map(|cpu| cpu.number).collect();
    let mut far: Vec<u32> = device
        .irqs()
        .filter_map(|irq| case.arrivals_of(device, irq).only_cpu())
        .filter(|number| {
            all().any(|cpu| cpu.number == *number && cpu.node.is_some_and(|other| other != node))
        })
        .collect();
    far.order();
    far.dedup();
    if far.is_empty() || own.is_empty() {
        return None;
    }
    let name = device.name();
    let text = format!("IRQs of {name} go to a remote NUMA node");
    let is_fast = device.interface.speed_mbps.is_some_and(|speed| speed >= FAST);
    let found = if is_fast { Found::candidate(text) } else { Found::note(text) };
    let list: Vec<_> = own.iter().map(ToString::to_string).collect();
    Some(
        found
            .at(device.host.role())
            .seen(format!(
                "{name} is next to node {node}, its interrupts go to {}",
                cpu::named(&far)
            ))
            .remedy(format!(
                "move IRQs to CPUs {0} (/proc/irq/N/smp_affinity_list), programs by numactl \
                 --cpunodebind={node}",
                list.join(",")
            )),
    )
}

/// In Mbit/s: below it the link between nodes is not noticed. To be calibrated.
const FAST: u64 = 10_000;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| place(record, 1))
    .silent(|record| place(record, 0));

#[cfg(test)]
fn place(record: &mut measurement::TestRecord, cpu: u32) {
    crate::test_record::interrupt(record, &measurement::Role::Peer, cpu, 20_000);
    let host = crate::test_record::host(record, &measurement::Role::Peer);
    let cpu = |number| measurement::host::Cpu { number, node: Some(number), ..Default::default() };
    host.inventory.cpus = vec![cpu(0), cpu(1)];
    host.inventory.interfaces[0].node = Some(0);
}
