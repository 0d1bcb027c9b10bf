//! `irq-affinity-not-honoured`: an interrupt does not go where it was sent.

use measurement::remedy::Setting;

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::case::{Device, cpu};

const PAGE: Page = Page {
    id: RuleId::IrqAffinityNotHonoured,
    title: "IRQ affinity not honoured",
    what: "None of the CPUs that an interrupt goes to is among those that it was allowed.",
    why: "Some interrupt controllers cannot move an interrupt, or only when it comes next: what \
          was written to `smp_affinity` has no effect.",
    evidence: "`smp_affinity_list` and `effective_affinity_list` of the interrupt.",
    remedy: "Move the work in place of the interrupt: RPS (`rps_cpus`), or threaded NAPI \
             (`/sys/class/net/IF/threaded`).",
    source: "Documentation/core-api/irq/irq-affinity.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Placement, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if !case.is_open() {
        return Vec::new();
    }
    case.hardware().flat_map(|device| finding(&device)).collect()
}

fn finding(device: &Device<'_, '_>) -> Vec<Found> {
    let stuck = device.irqs().filter(|irq| {
        !irq.allowed.is_empty()
            && !irq.effective.is_empty()
            && irq.effective.iter().all(|cpu| !irq.allowed.contains(cpu))
    });
    let found = stuck.map(|irq| {
        let text =
            format!("IRQ affinity not honoured: interrupt {} of {}", irq.number, device.name());
        let (allowed, effective) = (cpu::named(&irq.allowed), cpu::named(&irq.effective));
        Found::note(text)
            .at(device.host.role())
            .seen(format!("affinity {allowed}, delivered to {effective}"))
            .remedy("move the work instead, by RPS")
            .change(Setting::RpsCpus {
                interface: device.interface.name.clone(),
                queue: 0,
                cpus: irq.allowed.iter().copied().collect(),
            })
    });
    found.collect()
}

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| allow(record, vec![1]))
    .silent(|record| allow(record, vec![0, 1]));

#[cfg(test)]
fn allow(record: &mut measurement::TestRecord, cpus: Vec<u32>) {
    crate::test_record::interrupt(record, &measurement::Role::Peer, 0, 2_000);
    crate::test_record::host(record, &measurement::Role::Peer).inventory.irqs[0].allowed = cpus;
}
