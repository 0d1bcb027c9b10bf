//! The one measurement that would tell what limits, where the evidence does not.

use measurement::host::Family;
use measurement::verdict::Finding;
use measurement::{Certainty, Role, RuleId, TestRecord};

use super::{Case, load};
use crate::words;

/// What to measure next: what is missing of the most telling evidence.
pub(super) fn measurement(case: &Case<'_>, findings: &[Finding]) -> String {
    let first = findings.iter().find(|one| one.certainty == Certainty::Candidate);
    if let Some(flow) = case.flows().iter().find(|flow| flow.arrived().is_none()) {
        let receiver = words::host(&flow.receiver());
        return format!("what arrived: find out why {receiver} did not answer at the end");
    }
    if let Some(role) = silent_end(case) {
        return format!(
            "run linerate on {} too: its counters, sockets and CPUs are not known",
            words::host(&role)
        );
    }
    if let Some(role) = busy_without_profile(case) {
        return format!(
            "a profile of the CPUs of {}: run linerate there as root, or with sysctl \
             kernel.perf_event_paranoid=1",
            words::host(&role)
        );
    }
    match first.map(|one| one.rule) {
        Some(RuleId::CwndGrowing) => "the same test for longer: -t 60".to_owned(),
        Some(
            RuleId::ReceiveWindowLimited | RuleId::SendBufferLimited | RuleId::SocketBufferBelowBdp,
        ) if case.is_tcp() => window(case),
        Some(
            RuleId::UdpPathLoss
            | RuleId::TcpPathLoss
            | RuleId::PacketReordering
            | RuleId::StandingQueue,
        ) => "what a router or switch on the way counts meanwhile: --observe HOST".to_owned(),
        _ if case.is_tcp() && is_short(case.test.map(|test| test.record)) => {
            "the same test for longer: -t 30".to_owned()
        }
        _ if case.is_tcp() => datagrams(case),
        _ => "the same test to another host, which separates the path from this one".to_owned(),
    }
}

/// An end that says nothing of itself, the server first.
fn silent_end(case: &Case<'_>) -> Option<Role> {
    let reports = |role: &Role| case.host(role).is_some_and(|host| host.reports(Family::CPU));
    [Role::Peer, Role::Here].into_iter().find(|role| !reports(role))
}

/// The end with the busiest CPU, if that had little time left and nobody looked at what it did.
fn busy_without_profile(case: &Case<'_>) -> Option<Role> {
    let ends = [Role::Here, Role::Peer].into_iter().filter_map(|role| {
        let busy = load::busiest(case, case.host(&role)?)?;
        Some((role, busy))
    });
    let (role, busy) = ends.max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    (busy >= BUSY && case.attribution(&role).is_none()).then_some(role)
}

/// A window of four times what is under way, which shows whether a larger one helps.
fn window(case: &Case<'_>) -> String {
    let transfers = super::transfer::wanting(case);
    let on_the_way = transfers.iter().filter_map(super::transfer::Transfer::on_the_way);
    let bytes = on_the_way.fold(LEAST_WINDOW, |most, bytes| most.max(4.0 * bytes));
    format!("the same test with another window: -w {bytes:.0}")
}

/// The same rate without TCP's control.
fn datagrams(case: &Case<'_>) -> String {
    let rate = case.wanting().filter_map(|flow| flow.outcome.headline()).map(|one| one.rate).max();
    let rate = rate.map_or(0, |rate| rate.bits_per_second() / 1_000_000).max(1);
    format!(
        "UDP, without congestion control, at a rate a little above this one: -u -b {}M",
        rate + rate / 5
    )
}

fn is_short(record: Option<&TestRecord>) -> bool {
    let span = record.and_then(|record| {
        let (base, last) = record.samples.get(record.base).zip(record.samples.last())?;
        Some(last.at.since(base.at).as_secs_f64())
    });
    span.is_some_and(|seconds| seconds < SHORT_SECONDS)
}

/// Of a CPU's time. To be calibrated.
const BUSY: f64 = 0.60;
const LEAST_WINDOW: f64 = 4_194_304.0;
const SHORT_SECONDS: f64 = 3.0;
