//! `run-delay`: the test waits for a CPU that others have.

use super::{Case, Class, Found, Rule, tso_off};
use crate::accounts::{Flow, Test};
use crate::bottleneck::{bound, transfer};
use crate::evidence::HostView;
use crate::facts::others_cpu;
use crate::facts::run_delay::{self, Cause};
use crate::words::{self, percent};
#[cfg(test)]
use measurement::host::counter;
use measurement::remedy::{CpuMask, Setting};
use measurement::{Certainty, Role};

pub(super) const RULE: Rule = Rule::new(&run_delay::PAGE, Class::Waiting, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if case.wanting().next().is_none() {
        return Vec::new();
    }
    let Some(test) = case.test else { return Vec::new() };
    test.ends().filter_map(|host| finding(case, host)).collect()
}

fn finding(case: &Case<'_>, host: &HostView<'_>) -> Option<Found> {
    let test = case.test?;
    let share = run_delay::share(test, host)?;
    let severity = run_delay::THRESHOLDS.grade(share)?;
    let name = words::host(host.role());
    let (fact, remedy) = match run_delay::cause(test, host) {
        Cause::OtherEnd => return None,
        Cause::HeldBack => {
            (format!("linerate on {name} is held back although CPUs are idle"), run_delay::RELEASE)
        }
        Cause::Others => (format!("linerate waits for a CPU on {name} (run delay)"), FREE),
    };
    let found = Found::new(severity.into(), fact)
        .at(host.role())
        .explaining(share)
        .seen(format!("a thread was runnable, but not running, for {} of the time", percent(share)))
        .remedy(remedy);
    let found = match other_cpus(test, host) {
        Some(cpus) if remedy == FREE => found.change(Setting::Cpus(cpus)),
        _ => found,
    };
    let found = match bound::of_passed(case, host.role(), None) {
        Some(passed) if remedy == run_delay::RELEASE => found.allowing(passed),
        _ => found,
    };
    let others =
        others_cpu::taken(test, host).filter(|taken| *taken > others_cpu::THRESHOLDS.noticeable);
    let Some(others) = others else { return Some(found) };
    let found = found.seen(format!("other processes used {}", words::cpus(others)));
    let found = if others >= others_cpu::THRESHOLDS.limiting {
        for_late_batches(case, host, for_late_answers(case, host, found))
    } else {
        found
    };
    let is_late = others >= others_cpu::THRESHOLDS.limiting
        && share >= LATE
        && bound::overflows_at(case, host.role());
    let certainty = match found.certainty {
        _ if is_late => Certainty::Limit,
        Certainty::Limit if share < HALVED && tso_off::limits(case) => Certainty::Candidate,
        as_found => as_found,
    };
    Some(Found { certainty, ..found })
}

/// The CPUs of this host that the test was told not to use; none: it was not, or no other is there.
fn other_cpus(test: &Test<'_>, host: &HostView<'_>) -> Option<CpuMask> {
    let told = test.record.tags.get(PLACED).filter(|_| *host.role() == Role::Here)?;
    let told: Vec<u32> = told.split(',').filter_map(|cpu| cpu.parse().ok()).collect();
    let there = host.evidence.inventory.cpus.iter().filter(|cpu| !cpu.offline);
    let mut others = there.map(|cpu| cpu.number).filter(|cpu| !told.contains(cpu)).peekable();
    if told.is_empty() {
        return None;
    }
    others.peek()?;
    Some(others.collect())
}

/// A receiver that waits for a CPU while it reads holds its socket: its acknowledgements come late,
/// and a sender that takes them for lost slows down, however little CPU time the receiver wants.
fn for_late_answers(case: &Case<'_>, host: &HostView<'_>, found: Found) -> Found {
    let seconds = case.result_span().map_or(f64::MAX, |span| span.as_secs_f64());
    let transfers = transfer::wanting(case);
    let late = transfers.iter().find(|transfer| {
        let again = transfer.account.retransmitted_segments as f64;
        let is_it = transfer.receiver() == *host.role() && transfer.spurious() >= NEARLY_ALL;
        // A path that changes the order shows in each packet, sent again or not.
        let is_path = transfer.account.reorderings > transfer.account.retransmitted_segments;
        is_it && !is_path && again >= OFTEN * seconds && transfer.may_wait_for_the_path()
    });
    let Some(late) = late else { return found };
    let direction = late.flow.outcome.direction;
    let found = Found { certainty: Certainty::Limit, ..found };
    let found = found.going(direction).seen(format!(
        "acknowledgements came late: {} of the {} were spurious",
        percent(late.spurious()),
        words::counted(late.account.retransmitted_segments, "retransmission"),
    ));
    match bound::of_passed(case, host.role(), Some(direction)) {
        Some(passed) => found.allowing(passed),
        None => found,
    }
}

/// A paced sender that waits for a CPU sends its batches late, and what it did not send meanwhile is
/// not caught up: that is what is missing of its rate.
fn for_late_batches(case: &Case<'_>, host: &HostView<'_>, found: Found) -> Found {
    let sent = case.wanting().filter(|flow| !case.is_tcp() && flow.sender() == *host.role());
    let late =
        sent.filter_map(|flow| Some((flow.outcome.direction, missed_by_stalls(case, flow)?)));
    let Some((direction, stalled)) = late.last() else { return found };
    let found = Found { certainty: Certainty::Limit, ..found };
    let found = found
        .going(direction)
        .seen(format!("batches of the sender were late for {} of the time", percent(stalled)));
    match bound::of_passed(case, host.role(), Some(direction)) {
        Some(passed) => found.allowing(passed),
        None => found,
    }
}

/// Share of the time in which batches of a paced sender were late, if that is most of what is
/// missing of its rate; none: it is not, or next to nothing is missing.
fn missed_by_stalls(case: &Case<'_>, flow: &Flow<'_>) -> Option<f64> {
    let pacing = flow.outcome.pacing.as_ref()?;
    let asked = flow.outcome.asked.or_else(|| case.test?.record.plan.asked())?;
    let offered = flow.outcome.offered?.rate.bits_per_second();
    let missing = 1.0 - words::share(offered, asked.bits_per_second());
    let sending = pacing.sending.as_secs_f64().max(f64::MIN_POSITIVE);
    let stalled = pacing.stalled.as_secs_f64() / sending;
    (missing >= MISSING && stalled >= missing / 2.0).then_some(stalled)
}

/// Share of the rate that is missing, from which on its cause is asked for.
const MISSING: f64 = 0.10;
/// Share of the time that a receiver waits while others run, from which on its socket overflows
/// since nobody reads it.
pub(super) const LATE: f64 = 0.05;
/// Least share of spurious ones among retransmissions that late acknowledgements cause.
const NEARLY_ALL: f64 = 0.80;
/// Retransmitted segments in a second. With a loop on the CPU of the receiver it was 450 to 550.
const OFTEN: f64 = 20.0;

/// Share of the time that a thread waits for a loop as important as it is. Alone it had twice the
/// CPU: making each segment apart costs more.
const HALVED: f64 = 0.60;

/// Label of a record for the CPUs of the workers of this host: `0,2`, or `any`.
const PLACED: &str = "cpus";
const FREE: &str = "stop other processes there, or pin linerate to idle CPUs (--cpus)";

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::TASK_WAIT.on(77), 4_500_000_000);
        crate::test_record::grow(host, counter::TASK_RUN.on(77), 4_000_000_000);
        crate::test_record::grow(host, counter::CPU_USER.on(0), 5_000_000_000);
    })
    .silent(|record| {
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::TASK_WAIT.on(77), 100_000_000);
        crate::test_record::grow(host, counter::CPU_USER.on(1), 9_000_000_000);
    });

#[cfg(test)]
mod tests {
    use measurement::Role;

    use super::*;
    use crate::accounts::Test;
    use crate::test_record;

    #[test]
    fn who_waits_while_cpus_are_idle_and_nobody_else_runs_is_held_back() {
        let mut record = test_record::tcp();
        let host = test_record::host(&mut record, &Role::Peer);
        test_record::grow(host, counter::TASK_WAIT.on(77), 6_000_000_000);
        let test = Test::from_record(&record);
        let found = check(&Case::of_test(&test, &[]));
        assert_eq!(found[0].text, "linerate on the server is held back although CPUs are idle");
        assert!(found[0].remedy.sentence.contains("CPU limit"), "{}", found[0].remedy.sentence);
        assert!(found[0].effect.bound().is_some(), "it allows what passed");
    }

    #[test]
    fn a_paced_sender_whose_batches_are_late_for_what_is_missing_limits() {
        let mut record = test_record::udp();
        let host = test_record::host(&mut record, &Role::Here);
        test_record::grow(host, counter::TASK_WAIT.on(77), 1_100_000_000);
        test_record::grow(host, counter::TASK_RUN.on(77), 2_000_000_000);
        test_record::grow(host, counter::CPU_USER.on(0), 7_000_000_000);
        let offered = record.outcome.directions[0].offered.expect("reported").bytes;
        test_record::offer(&mut record, offered / 100 * 81, offered / 100 * 81);
        let found = |record: &measurement::TestRecord| {
            let test = Test::from_record(record);
            check(&Case::of_test(&test, &[])).remove(0)
        };
        assert_ne!(found(&record).certainty, Certainty::Limit);
        let pacing = record.outcome.directions[0].pacing.as_mut().expect("paced");
        pacing.stalled = pacing.sending.mul_f64(0.19);
        assert_eq!(found(&record).certainty, Certainty::Limit);
    }

    #[test]
    fn a_receiver_that_answers_late_limits_however_little_time_it_wants() {
        let mut record = test_record::tcp();
        let host = test_record::host(&mut record, &Role::Peer);
        test_record::grow(host, counter::TASK_WAIT.on(77), 550_000_000);
        test_record::grow(host, counter::TASK_RUN.on(77), 2_000_000_000);
        test_record::grow(host, counter::CPU_USER.on(0), 8_000_000_000);
        let found = |record: &measurement::TestRecord| {
            let test = Test::from_record(record);
            check(&Case::of_test(&test, &[])).remove(0)
        };
        assert_ne!(found(&record).certainty, Certainty::Limit);
        test_record::send_again(&mut record, 5_000, 4_900);
        let found = found(&record);
        assert_eq!(found.certainty, Certainty::Limit);
        assert!(found.effect.bound().is_some(), "it allows what passed");
    }
}
