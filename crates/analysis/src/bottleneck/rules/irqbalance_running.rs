//! `irqbalance-running`: a program moves the interrupts.

use measurement::remedy::Setting;

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::case::Device;
use crate::words;

const PAGE: Page = Page {
    id: RuleId::IrqbalanceRunning,
    title: "irqbalance moves IRQs",
    what: "irqbalance runs on a host whose interface has interrupts that can be moved.",
    why: "It moves interrupts while a test runs, so that two tests differ, and undoes what is set \
          by hand. It spreads the load of servers with many queues; a box with few cores of \
          different speed is better off without.",
    evidence: "Its socket in `/run/irqbalance`; interrupts of the interface.",
    remedy: "Stop it while you compare (`systemctl stop irqbalance`), or have it leave these \
             interrupts alone (`--banirq=N`); start it again afterwards.",
    source: "irqbalance(1)",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Placement, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if !case.is_open() {
        return Vec::new();
    }
    case.hardware().filter_map(|device| finding(&device)).collect()
}

fn finding(device: &Device<'_, '_>) -> Option<Found> {
    let inventory = &device.host.evidence.inventory;
    let runs = inventory.services.iter().any(|service| service == SERVICE);
    let irqs: Vec<_> = device.irqs().map(|irq| irq.number.to_string()).collect();
    // With one CPU there is nowhere to move them to.
    let is_reported = runs && !irqs.is_empty() && inventory.cpus.len() > 1;
    is_reported.then(|| {
        let host = words::host(device.host.role());
        Found::note(format!("{SERVICE} moves the IRQs of {}", device.name()))
            .at(device.host.role())
            .seen(format!("{SERVICE} runs on {host}; interrupts {}", irqs.join(", ")))
            .remedy("stop it before you set IRQ affinities or compare results")
            .change(Setting::StoppedService { service: SERVICE.to_owned() })
    })
}

const SERVICE: &str = "irqbalance";

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| balance(record, 2))
    .silent(|record| balance(record, 1));

#[cfg(test)]
fn balance(record: &mut measurement::TestRecord, cpus: u32) {
    let role = measurement::Role::Peer;
    crate::test_record::interrupt(record, &role, 0, 2_000);
    let inventory = &mut crate::test_record::host(record, &role).inventory;
    inventory.services = vec![SERVICE.to_owned()];
    let cpu = |number| measurement::host::Cpu { number, ..Default::default() };
    inventory.cpus = (0..cpus).map(cpu).collect();
}
