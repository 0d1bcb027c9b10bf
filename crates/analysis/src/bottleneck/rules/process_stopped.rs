//! `process-stopped`: the program of an end stood still.

#[cfg(test)]
use measurement::host::counter;
use std::time::Duration;

use measurement::judgement::Place;
use measurement::units::show_time;
use measurement::{Ledger, Role};

use super::{Case, Class, Found, Rule, other_processes};
use crate::accounts::Flow;
use crate::bottleneck::load;
use crate::evidence::HostView;
use crate::facts::{pauses, stopped};
use crate::words::{self, counted, percent};

pub(super) const RULE: Rule = Rule::new(&stopped::PAGE, Class::Late, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if case.wanting().next().is_none() {
        return Vec::new();
    }
    case.hosts.iter().filter_map(|host| finding(case, host)).chain(of_silent_peer(case)).collect()
}

/// A peer that tells nothing. Others that keep this host busy run beside a peer that is on it, too:
/// then they are named.
fn of_silent_peer(case: &Case<'_>) -> Option<Found> {
    let test = case.test.filter(|_| load::is_untold(case, &Role::Peer))?;
    let stood = pauses::standstills(test).filter(|_| !other_processes::are_beside(case))?;
    let name = words::host(&Role::Peer);
    let found = Found::limit(format!("the program on {name} stood still repeatedly"));
    let found = found.at(&Role::Peer).explaining(stood.share).seen(format!(
        "{} of about {}, {} of the time, without loss",
        counted(stood.times, "pause"),
        show_time(whole_millis(stood.each)),
        percent(stood.share)
    ));
    Some(found.remedy(
        "look there for SIGSTOP or a debugger (state T in ps), a frozen cgroup, or a process that \
         has its CPU (top)",
    ))
}

fn finding(case: &Case<'_>, host: &HostView<'_>) -> Option<Found> {
    let (stood, share) = (stopped::time(case.test?, host)?, stopped::share(case.test?, host)?);
    (share >= LIMITS).then(|| {
        let text = format!("linerate on {} was stopped repeatedly", words::host(host.role()));
        let is_harmed = case.wanting().any(|flow| is_harmed(flow, host, share));
        let found = if is_harmed { Found::limit(text) } else { Found::note(text) };
        found
            .at(host.role())
            .explaining(waited(case, host).map_or(share, |waited| waited.min(share)))
            .seen(format!(
                "for {} ({}) it was to work or to wake, and neither ran nor waited for a CPU",
                show_time(whole_millis(stood)),
                percent(share)
            ))
            .remedy(
                "look for SIGSTOP or a debugger (state T in ps), a frozen cgroup, or swapping \
                 (vmstat 1)",
            )
    })
}

/// Whether what is missing in a direction can come of an end that stood still for a share of the
/// time: the kernel goes on without it, until a socket is full or empty.
fn is_harmed(flow: &Flow<'_>, host: &HostView<'_>, stood: f64) -> bool {
    let (sends, receives) = (flow.sender() == *host.role(), flow.receiver() == *host.role());
    if let Some(ledger) = &flow.account.ledger {
        return (sends && kept_back(flow) >= words::share(ledger.lost(), ledger.sent))
            || (receives && is_lost_in_socket(ledger));
    }
    let shares = flow.account.tcp.as_ref().and_then(|account| account.shares);
    // A receiver that reads late also keeps its window small, which no time tells.
    receives || shares.is_none_or(|shares| sends && shares.application >= FELT * stood)
}

/// Share of the time for which senders waited for a host that receives; none: they do not tell.
fn waited(case: &Case<'_>, host: &HostView<'_>) -> Option<f64> {
    let flows = case.wanting().filter(|flow| flow.receiver() == *host.role());
    let shares = flows.filter_map(|flow| flow.account.tcp.as_ref()?.shares);
    shares.map(|shares| shares.receive_window + shares.send_buffer).reduce(f64::max)
}

/// Share of the rate asked that was not sent; all of it where as much as goes was asked.
fn kept_back(flow: &Flow<'_>) -> f64 {
    let rates = flow.outcome.asked.zip(flow.outcome.offered);
    rates.map_or(1.0, |(asked, offered)| {
        1.0 - words::share(offered.rate.bits_per_second(), asked.bits_per_second())
    })
}

/// Whether a good part of the loss is in the socket of the receiver, as far as it tells.
fn is_lost_in_socket(ledger: &Ledger) -> bool {
    let drops = ledger.drops.iter().filter(|drop| drop.place == Place::ReceiverSocket);
    let in_socket: u64 = drops.map(|drop| drop.datagrams).sum();
    !ledger.receiver_told || words::share(in_socket, ledger.lost()) > SOME
}

/// Share of the time, where something is missing. A stop for a tenth of each second shows as a
/// little less.
const LIMITS: f64 = 0.08;
/// Share of a sender's stop for which TCP had nothing to send, from which on the stop did harm. To
/// be calibrated.
const FELT: f64 = 0.5;
/// Share of the loss in a socket from which on a late reader may be its cause.
const SOME: f64 = 0.10;

fn whole_millis(time: Duration) -> Duration {
    Duration::from_millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        let runtime = record.reported.runtime.as_mut().expect("reported");
        runtime.mpus[0].run_seconds = 8.0;
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::TASK_RUN.on(77), 3_000_000_000);
    })
    .silent(|record| {
        let runtime = record.reported.runtime.as_mut().expect("reported");
        runtime.mpus[0].run_seconds = 8.0;
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::TASK_RUN.on(77), 5_000_000_000);
        crate::test_record::grow(host, counter::TASK_WAIT.on(77), 2_500_000_000);
    });

#[cfg(test)]
mod tests {
    use measurement::Role;

    use super::*;
    use crate::accounts::Test;
    use crate::test_record;

    #[test]
    fn one_that_is_stopped_in_its_sleep_stands_still_and_one_whose_cpu_is_taken_does_not() {
        let mut record = test_record::tcp();
        let found = |record: &measurement::TestRecord| {
            let test = Test::from_record(record);
            check(&Case::of_test(&test, &[])).len()
        };
        test_record::host(&mut record, &Role::Peer).still_seconds = 3.0;
        assert_eq!(found(&record), 1);
        test_record::grow(
            test_record::host(&mut record, &Role::Peer),
            counter::CPU_STEAL.on(0),
            2_900_000_000,
        );
        assert_eq!(found(&record), 0);
    }
}
