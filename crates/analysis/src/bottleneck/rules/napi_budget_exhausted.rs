//! `napi-budget-exhausted`: softirq stops before it has fetched everything.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::case::cpu;
use crate::evidence::{Flowing, HostView};
use crate::words::{self, count};
use measurement::host::counter;

const PAGE: Page = Page {
    id: RuleId::NapiBudgetExhausted,
    title: "NAPI budget exhausted (time_squeeze)",
    what: "The budget of receiving ran out more than ten times in a second though no core was \
           full of interrupts, and packets are missing.",
    why: "What stays in the ring waits for the next turn behind other work, and the ring may be \
          full before. Where the core is full this is only a symptom.",
    evidence: "`time_squeeze` of `/proc/net/softnet_stat`, irq and softirq time of each CPU.",
    remedy: "`sysctl -w net.core.netdev_budget=600 net.core.netdev_budget_usecs=4000`.",
    source: "Documentation/admin-guide/sysctl/net.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Overrun, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    let hosts = case.hosts.iter();
    let hosts = hosts
        .filter(|host| case.blame(host, Flowing::In, 1).is_some_and(|blame| blame.share > 0.0));
    hosts.filter_map(finding).collect()
}

fn finding(host: &HostView<'_>) -> Option<Found> {
    let times = host.sum(counter::SOFTNET_TIME_SQUEEZE)?;
    let rate = times as f64 / host.span().as_secs_f64();
    let is_often = rate > OFTEN && cpu::taken_by_interrupts(host).is_none();
    is_often.then(|| {
        let name = words::host(host.role());
        let setting = |name: &str, unset: u64| host.setting(name).unwrap_or(unset);
        let budget = setting(BUDGET, 300);
        let micros = setting(MICROS, 2_000);
        Found::candidate(format!("the NAPI budget runs out on {name} (time_squeeze)"))
            .at(host.role())
            .seen(format!("the budget ran out {} times, {rate:.0}/s", count(times)))
            .seen(format!("the budget is {} packets or {} us", count(budget), count(micros)))
            .remedy("raise the NAPI budget")
            .change_from(super::sysctl(BUDGET, budget.saturating_mul(2)), Some(budget))
            .change_from(super::sysctl(MICROS, micros.saturating_mul(2)), Some(micros))
    })
}

const BUDGET: &str = "net.core.netdev_budget";
const MICROS: &str = "net.core.netdev_budget_usecs";
/// In a second. To be calibrated.
const OFTEN: f64 = 10.0;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::udp)
    .fires(|record| {
        crate::test_record::lose(record, 500);
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::SOFTNET_TIME_SQUEEZE.on(0), 4_000);
    })
    .silent(|record| {
        crate::test_record::lose(record, 500);
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::SOFTNET_TIME_SQUEEZE.on(0), 40);
    });
