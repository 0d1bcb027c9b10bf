//! T6: a CPU that carries the test was slowed down.

use super::{Case, Found, Rule};
use crate::bottleneck::load;
use crate::evidence::Host;
use crate::trust::clock_speed::PAGE;
use crate::words::{self, count, counted, percent};
use measurement::host::counter;

pub(super) const RULE: Rule = Rule { page: &PAGE, check, symptoms: &["T1", "T2", "K13", "K14"] };

fn check(case: &Case<'_>) -> Vec<Found> {
    let full = load::full(case);
    full.iter().filter_map(|full| of(case.host(&full.role)?, full.cpu?)).collect()
}

fn of(host: &Host<'_>, cpu: u32) -> Option<Found> {
    let khz = host.gauge(counter::FREQUENCY_KHZ.on(cpu));
    let (least, most) = (*khz.iter().min()?, *khz.iter().max()?);
    let kept = least.max(0) as f64 / most.max(1) as f64;
    let throttled = host.sum(counter::THROTTLE_CORE).unwrap_or(0);
    if kept >= STEADY && throttled == 0 {
        return None;
    }
    let text =
        format!("CPU {cpu} of {} was slowed down while it was full", words::host(host.role()));
    let found = if throttled > 0 { Found::limit(text) } else { Found::candidate(text) };
    let megahertz = |khz: i64| count(khz.max(0).unsigned_abs() / 1_000);
    let found = found
        .at(host.role())
        .explaining(1.0 - kept)
        .seen(format!(
            "from {} to {} MHz ({}), throttled {}",
            megahertz(most),
            megahertz(least),
            percent(kept),
            counted(throttled, "time")
        ))
        .remedy("cool it, and fix its frequency (cpupower frequency-set -g performance)");
    Some(found)
}

/// Share of the largest frequency of the run. To be calibrated.
const STEADY: f64 = 0.90;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture {
    rule: &RULE,
    scene: crate::scene::tcp,
    fires: |record| slow(record, &[1_800_000, 1_800_000, 1_000_000]),
    silent: |record| slow(record, &[1_800_000, 1_790_000, 1_800_000]),
};

#[cfg(test)]
fn slow(record: &mut measurement::TestRecord, khz: &[i64]) {
    let host = crate::scene::host(record, &measurement::Role::Peer);
    crate::scene::fill(host, 0.99);
    host.series.put_gauge(counter::FREQUENCY_KHZ.on(0), khz.to_vec());
}
