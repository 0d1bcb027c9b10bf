//! T4: a hypervisor takes the CPU away.

use super::{Case, Found, Rule};
use crate::evidence::Host;
use crate::trust::steal::PAGE;
use crate::words::{self, percent};
use measurement::host::counter;

pub(super) const RULE: Rule = Rule { page: &PAGE, check, symptoms: super::LATE };

fn check(case: &Case<'_>) -> Vec<Found> {
    let test = case.test.filter(|_| case.wanting().next().is_some());
    test.map_or_else(Vec::new, |test| test.kernels().filter_map(of).collect())
}

fn of(host: &Host<'_>) -> Option<Found> {
    let (cpu, nanos) = host.each(counter::CPU_STEAL).into_iter().max_by_key(|(_, nanos)| *nanos)?;
    let share = nanos as f64 / (host.span().as_nanos() as f64).max(1.0);
    let text = format!("a hypervisor takes CPU time of {} away", words::host(host.role()));
    let found = match share {
        _ if share < NOTICED => return None,
        _ if share < LONG => Found::candidate(text),
        _ => Found::limit(text),
    };
    let found = found
        .at(host.role())
        .explaining(share)
        .seen(format!("{} of the time of CPU {cpu} was stolen", percent(share)))
        .remedy("repeat it, or use a machine that is not shared");
    Some(found)
}

/// Share of the time of the CPU that lost most. To be calibrated.
const NOTICED: f64 = 0.03;
/// To be calibrated.
const LONG: f64 = 0.15;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture {
    rule: &RULE,
    scene: crate::scene::tcp,
    fires: |record| {
        let host = crate::scene::host(record, &measurement::Role::Here);
        crate::scene::grow(host, counter::CPU_STEAL.on(0), 2_500_000_000);
    },
    silent: |record| {
        let host = crate::scene::host(record, &measurement::Role::Here);
        crate::scene::grow(host, counter::CPU_STEAL.on(0), 100_000_000);
    },
};
