//! `cpufreq-governor`: a governor keeps a full CPU slow.

use measurement::remedy::Setting;

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::load::{self, Full};
use crate::words::{self, count};
use measurement::host::counter;

const PAGE: Page = Page {
    id: RuleId::CpufreqGovernor,
    title: "CPU frequency governor keeps a full CPU slow",
    what: "A full CPU ran at less than nine tenths of its highest frequency, and its governor is \
           not `performance`.",
    why: "A governor sees load late, and some never raise the frequency for work in softirqs.",
    evidence: "`scaling_governor`, `cpuinfo_max_freq` and the frequency during the result.",
    remedy: "`cpupower frequency-set -g performance` for the test, and back after it.",
    source: "Documentation/admin-guide/pm/cpufreq.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Costly, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    load::full(case).iter().filter_map(|full| finding(case, full)).collect()
}

fn finding(case: &Case<'_>, full: &Full<'_>) -> Option<Found> {
    let (host, number) = (case.host(&full.role)?, full.cpu?);
    let cpu = host.evidence.inventory.cpus.iter().find(|cpu| cpu.number == number)?;
    let governor = cpu.governor.as_deref().filter(|governor| *governor != "performance")?;
    let khz = host.gauge(counter::FREQUENCY_KHZ.on(number));
    let sum = khz.iter().map(|khz| (*khz).max(0).unsigned_abs()).fold(0, u64::saturating_add);
    let mean = sum / (khz.len() as u64).max(1);
    let most = cpu.max_khz.filter(|most| mean > 0 && mean < most / 10 * 9)?;
    let host = words::host(&full.role);
    let found = Found::candidate(format!(
        "CPU frequency governor {governor} keeps CPU {number} of {host} \
        slow"
    ))
    .at(&full.role)
    .explaining(1.0 - mean as f64 / most as f64)
    .seen(full.in_words())
    .seen(format!("{} of at most {} MHz", count(mean / 1_000), count(most / 1_000)))
    .remedy("choose the governor `performance` for the test")
    .change_from(Setting::CpuGovernor { governor: "performance".to_owned() }, Some(governor));
    Some(found)
}

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| governed(record, "powersave"))
    .silent(|record| governed(record, "performance"));

#[cfg(test)]
fn governed(record: &mut measurement::TestRecord, governor: &str) {
    let host = crate::test_record::host(record, &measurement::Role::Peer);
    crate::test_record::fill(host, 0.99);
    let (governor, max_khz) = (Some(governor.to_owned()), Some(3_000_000));
    host.inventory.cpus = vec![measurement::host::Cpu { governor, max_khz, ..Default::default() }];
}
