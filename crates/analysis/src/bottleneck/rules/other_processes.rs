//! `other-processes`: other processes take the CPU that the test needs.

use super::run_delay::LATE;
use super::{Case, Class, Found, Rule, UsualEffect};
use crate::bottleneck::{bound, load};
use crate::evidence::HostView;
use crate::facts::{Severity, others_cpu, pauses, run_delay};
use crate::words::{self, percent};
use measurement::Role;
#[cfg(test)]
use measurement::host::Family;
#[cfg(test)]
use measurement::host::counter;

pub(super) const RULE: Rule =
    Rule::new(&others_cpu::PAGE, Class::Late, check).with_effect(UsualEffect::Waiting);

fn check(case: &Case<'_>) -> Vec<Found> {
    let test = case.test.filter(|_| case.wanting().next().is_some());
    test.map_or_else(Vec::new, |test| {
        let told = test.kernels().filter_map(|host| finding(case, host));
        told.chain(of_silent_peer(case)).collect()
    })
}

fn finding(case: &Case<'_>, host: &HostView<'_>) -> Option<Found> {
    let test = case.test?;
    let crowd = others_cpu::crowd(test, host)?;
    let severity = crowd.severity()?;
    let fact = format!("other processes use the CPUs of {}", words::host(host.role()));
    // A host that reports how long its own threads waited is judged by that.
    let is_known = run_delay::share(test, host).is_some();
    let severity = if is_known { Severity::Noticeable } else { severity };
    // Nobody reads a socket while others run.
    let is_late = crowd.taken >= others_cpu::THRESHOLDS.limiting
        && crowd.waited >= LATE
        && bound::overflows_at(case, host.role());
    let found =
        if is_late && !is_known { Found::limit(fact) } else { Found::new(severity.into(), fact) };
    let found = found
        .at(host.role())
        .explaining(crowd.waited.min(crowd.taken))
        .seen(format!("they used {}", words::cpus(crowd.taken)))
        .seen(format!("some task waited for a CPU {} of the time", percent(crowd.waited)))
        .remedy("stop them, or pin linerate to idle CPUs (--cpus)");
    Some(found)
}

/// Whether others that run here keep a peer that tells nothing from running.
pub(super) fn are_beside(case: &Case<'_>) -> bool {
    of_silent_peer(case).is_some()
}

/// A peer that tells nothing, stands still and loses nothing, while tasks wait here nearly all the
/// time, though those of this end do not: it shares the CPUs, as over a virtual link.
fn of_silent_peer(case: &Case<'_>) -> Option<Found> {
    let test = case.test.filter(|_| load::is_untold(case, &Role::Peer))?;
    let stood = pauses::standstills(test)?;
    let here = test.kernels().find(|host| *host.role() == Role::Here)?;
    let crowd = others_cpu::crowd(test, here)?;
    let is_it = crowd.taken.min(crowd.waited) >= NEARLY_ALL * stood.share;
    let name = words::host(&Role::Peer);
    let found = || {
        Found::limit(format!("other processes use the CPUs of {name}, which are this host's"))
            .at(&Role::Peer)
            .explaining(stood.share)
            .seen(format!("they used {} here", words::cpus(crowd.taken)))
            .seen(format!("{name} stood still for {} of the time", percent(stood.share)))
            .remedy("stop them")
    };
    is_it.then(found)
}

/// Share of the standstills for which others ran and some task waited.
const NEARLY_ALL: f64 = 0.8;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::CPU_USER.on(1), 8_000_000_000);
        crate::test_record::grow(host, counter::PRESSURE_CPU.some, 5_000_000);
        host.series.remove(Family::TASK);
    })
    .silent(|record| {
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::CPU_USER.on(1), 8_000_000_000);
    });

#[cfg(test)]
mod tests {
    use measurement::{Certainty, Role};

    use super::*;
    use crate::accounts::Test;
    use crate::test_record;

    #[test]
    fn a_socket_that_overflows_while_others_run_was_not_read() {
        let certainty = |drops| {
            let mut record = test_record::udp();
            test_record::lose(&mut record, 20_000);
            test_record::drop_in_sockets(&mut record, drops);
            let host = test_record::host(&mut record, &Role::Peer);
            test_record::grow(host, counter::CPU_USER.on(1), 8_600_000_000);
            test_record::grow(host, counter::PRESSURE_CPU.some, 1_200_000);
            host.series.remove(Family::TASK);
            let test = Test::from_record(&record);
            check(&Case::of_test(&test, &[]))[0].certainty
        };
        assert_eq!(certainty(20_000), Certainty::Limit);
        assert_eq!(certainty(0), Certainty::Candidate);
    }
}
