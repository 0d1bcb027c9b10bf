//! The one measurement that would tell what limits, where the evidence does not.

use measurement::host::Family;
use measurement::record::Source;
use measurement::verdict::Finding;
use measurement::{Certainty, Role, RuleId, TestRecord};

use super::{Case, load};
use crate::words;

/// What to measure next, as far as one record tells: what is missing of the most telling evidence.
/// A short measurement that decides stands in [`crate::deciding`].
pub(super) fn measurement(case: &Case<'_>, findings: &[Finding]) -> String {
    let first = findings.iter().find(|one| one.certainty == Certainty::Candidate);
    let first = first.map(|one| one.rule);
    if let Some(missing) = missing_evidence(case) {
        return match first {
            // The server or the path: either tells.
            None | Some(RuleId::UdpPathLoss | RuleId::TcpPathLoss | RuleId::CpuSaturated)
                if is_of_an_end(case) =>
            {
                format!("{missing}, or --observe a router on the path")
            }
            _ => missing,
        };
    }
    match first {
        Some(RuleId::CwndGrowing) => "a longer test: -t 60".to_owned(),
        Some(
            RuleId::UdpPathLoss
            | RuleId::TcpPathLoss
            | RuleId::PacketReordering
            | RuleId::StandingQueue,
        ) => "counters of a router on the path: run linerate serve --observe there, add --observe \
              ROUTER here"
            .to_owned(),
        _ if case.is_tcp() && is_short(case.test.map(|test| test.record)) => {
            "a longer test: -t 30".to_owned()
        }
        _ => ANOTHER_HOST.to_owned(),
    }
}

/// What an end does not tell, and how it does.
pub(super) fn missing_evidence(case: &Case<'_>) -> Option<String> {
    if let Some(flow) = case.flows().iter().find(|flow| flow.arrived().is_none()) {
        let receiver = words::host(&flow.receiver());
        let source = case.test.map(|test| &test.record.origin.source);
        return Some(if matches!(source, Some(Source::Imported(_))) {
            format!("what arrived: import what {receiver} printed, too")
        } else {
            format!("what arrived: find out why {receiver} sent no results")
        });
    }
    if let Some(role) = silent_end(case) {
        return Some(format!(
            "run linerate on {} too, to know its counters and CPU times",
            words::host(&role)
        ));
    }
    let role = busy_without_profile(case)?;
    Some(format!(
        "a CPU profile of {}: run linerate there as root, or sysctl -w \
         kernel.perf_event_paranoid=1",
        words::host(&role)
    ))
}

/// Whether what is missing is what an end would tell of itself.
fn is_of_an_end(case: &Case<'_>) -> bool {
    silent_end(case).is_some() && case.flows().iter().all(|flow| flow.arrived().is_some())
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

fn is_short(record: Option<&TestRecord>) -> bool {
    let span = record.and_then(|record| {
        let (base, last) = record.samples.get(record.base).zip(record.samples.last())?;
        Some(last.at.since(base.at).as_secs_f64())
    });
    span.is_some_and(|seconds| seconds < SHORT_SECONDS)
}

/// What decides where nothing closer does.
pub(crate) const ANOTHER_HOST: &str = "a test to another server: it tells the path from this host";
/// Of a CPU's time. To be calibrated.
const BUSY: f64 = 0.60;
const SHORT_SECONDS: f64 = 3.0;
