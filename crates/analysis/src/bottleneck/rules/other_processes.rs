//! T7: other processes take the CPU that the test needs.

use super::{Case, Found, Rule};
use crate::evidence::{Host, run_delay};
use crate::trust::others_cpu::{PAGE, taken};
use crate::words::{self, percent};
#[cfg(test)]
use measurement::host::Family;
use measurement::host::counter;

pub(super) const RULE: Rule = Rule { page: &PAGE, check, symptoms: super::LATE };

fn check(case: &Case<'_>) -> Vec<Found> {
    let test = case.test.filter(|_| case.wanting().next().is_some());
    test.map_or_else(Vec::new, |test| test.kernels().filter_map(|host| of(case, host)).collect())
}

fn of(case: &Case<'_>, host: &Host<'_>) -> Option<Found> {
    let test = case.test?;
    let others = taken(test, host)?;
    let span = (host.span().as_nanos() as f64).max(1.0);
    let waited = host.growth(counter::PRESSURE_CPU.some)? as f64 * 1e3 / span;
    if others < NOTICED || waited < NOTICED {
        return None;
    }
    let fact = format!("other processes take CPU time of {}", words::host(host.role()));
    // Who tells how long its own threads waited is judged by that.
    let is_known = run_delay(test, host).is_some();
    let is_much = !is_known && others >= MUCH && waited >= MUCH;
    let found = if is_much { Found::limit(fact) } else { Found::candidate(fact) };
    let found = found
        .at(host.role())
        .explaining(waited.min(others))
        .seen(format!("they took {} of a CPU", percent(others)))
        .seen(format!("some task waited for a CPU {} of the time", percent(waited)))
        .remedy("stop them, or choose CPUs that are free (--cpus)");
    Some(found)
}

/// Of one CPU, and of the time. To be calibrated.
const NOTICED: f64 = 0.10;
/// To be calibrated.
const MUCH: f64 = 0.30;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture {
    rule: &RULE,
    scene: crate::scene::tcp,
    fires: |record| {
        let host = crate::scene::host(record, &measurement::Role::Peer);
        crate::scene::grow(host, counter::CPU_USER.on(1), 8_000_000_000);
        crate::scene::grow(host, counter::PRESSURE_CPU.some, 5_000_000);
        host.series.remove(Family::TASK);
    },
    silent: |record| {
        let host = crate::scene::host(record, &measurement::Role::Peer);
        crate::scene::grow(host, counter::CPU_USER.on(1), 8_000_000_000);
    },
};
