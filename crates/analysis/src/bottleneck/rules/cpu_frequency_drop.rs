//! `cpu-frequency-drop`: a CPU that carries the test was slowed down.

use measurement::remedy::Setting;

use super::{Case, Class, Found, Rule};
use crate::bottleneck::load;
use crate::evidence::HostView;
use crate::facts::clock_speed;
use crate::words::{self, count, counted, percent};
#[cfg(test)]
use measurement::host::counter;

pub(super) const RULE: Rule = Rule::new(&clock_speed::PAGE, Class::Costly, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    let full = load::full(case);
    full.iter().filter_map(|full| finding(case.host(&full.role)?, full.cpu?)).collect()
}

fn finding(host: &HostView<'_>, cpu: u32) -> Option<Found> {
    let speed = clock_speed::speed(host, cpu)?;
    let throttled = clock_speed::throttled(host);
    if !speed.fell() && throttled == 0 {
        return None;
    }
    let text =
        format!("frequency of CPU {cpu} of {} dropped while it was full", words::host(host.role()));
    let found = if throttled > 0 { Found::limit(text) } else { Found::candidate(text) };
    let megahertz = |khz: u64| count(khz / 1_000);
    let found = found
        .at(host.role())
        .explaining(1.0 - speed.kept())
        .seen(format!(
            "from {} to {} MHz ({}), throttled {}",
            megahertz(speed.most_khz),
            megahertz(speed.least_khz),
            percent(speed.kept()),
            counted(throttled, "time")
        ))
        .remedy("improve its cooling, or fix its frequency (cpupower frequency-set)")
        .change(Setting::CpuGovernor { governor: "performance".to_owned() });
    Some(found)
}

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| slow(record, &[1_800_000, 1_800_000, 1_000_000]))
    .silent(|record| slow(record, &[1_800_000, 1_790_000, 1_800_000]));

#[cfg(test)]
fn slow(record: &mut measurement::TestRecord, khz: &[i64]) {
    let host = crate::test_record::host(record, &measurement::Role::Peer);
    crate::test_record::fill(host, 0.99);
    host.series.put_gauge(counter::FREQUENCY_KHZ.on(0), khz.to_vec());
}
