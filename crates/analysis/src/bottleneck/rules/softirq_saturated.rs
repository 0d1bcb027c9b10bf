//! `softirq-saturated`: softirq takes a whole core.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::case::cpu;
use crate::evidence::HostView;
use crate::words::{self, count, percent};
use measurement::host::{EachCounter, counter};

const PAGE: Page = Page {
    id: RuleId::SoftirqSaturated,
    title: "Softirq saturates a CPU",
    what: "A CPU spent at least 85 % of its time in interrupts and softirq, those of the network \
           more often than others.",
    why: "That core works on packets and on nothing else; more packets than it can work on are \
          dropped before it, or wait.",
    evidence: "irq and softirq time of each CPU (`/proc/stat`), kinds of softirq \
               (`/proc/softirqs`).",
    remedy: "Fewer, larger packets (GRO, a larger MTU), more queues or RPS, threaded NAPI \
             (`echo 1 > /sys/class/net/IF/threaded`), so that the scheduler can move it.",
    source: "Documentation/networking/napi.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Placement, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if case.wanting().next().is_none() {
        return Vec::new();
    }
    case.hosts.iter().filter_map(finding).collect()
}

fn finding(host: &HostView<'_>) -> Option<Found> {
    let load = cpu::taken_by_interrupts(host)?;
    let ran = |kind: EachCounter<'_>| host.growth(kind.on(load.cpu)).unwrap_or(0);
    let network = ran(counter::SOFTIRQS_NET_RX).saturating_add(ran(counter::SOFTIRQS_NET_TX));
    let is_network = OTHERS.iter().all(|kind| ran(*kind) <= network);
    is_network.then(|| {
        let name = words::host(host.role());
        Found::limit(format!("softirq saturates CPU {} of {name}", load.cpu))
            .at(host.role())
            .explaining(load.interrupted())
            .seen(format!(
                "{} of its time went to interrupts and softirq",
                percent(load.interrupted())
            ))
            .seen(format!("softirqs of the network ran there {} times", count(network)))
            .remedy(
                "use more CPUs (queues, RPS), larger packets, or threaded NAPI \
                 (/sys/class/net/IF/threaded)",
            )
    })
}

/// `TIMER` and `RCU` run at each tick and cost little.
const OTHERS: [EachCounter<'static>; 3] =
    [counter::SOFTIRQS_BLOCK, counter::SOFTIRQS_TASKLET, counter::SOFTIRQS_HI];

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        crate::test_record::fill_with_interrupts(record, &measurement::Role::Peer);
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        // Whose interrupts they are is not known.
        host.inventory.irqs.clear();
        crate::test_record::grow(host, counter::SOFTIRQS_NET_RX.on(0), 90_000);
    })
    .silent(|record| {
        crate::test_record::fill_with_interrupts(record, &measurement::Role::Peer);
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::SOFTIRQS_NET_RX.on(0), 90_000);
        crate::test_record::grow(host, counter::SOFTIRQS_BLOCK.on(0), 190_000);
    });
