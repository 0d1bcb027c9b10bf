//! `foreign-traffic`: traffic of others takes the link.

use super::{Case, Class, Found, Rule};
use crate::accounts::Flow;
use crate::bottleneck::silent::{self, Arrivals};
use crate::evidence::{Flowing, HostView};
use crate::facts::{Severity, foreign_traffic, send_blocked};
use crate::words::{self, percent};
#[cfg(test)]
use measurement::host::counter;
use measurement::{ByteSize, Certainty};

pub(super) const RULE: Rule = Rule::new(&foreign_traffic::PAGE, Class::Link, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if case.wanting().next().is_none() {
        return Vec::new();
    }
    let all = case
        .hosts
        .iter()
        .flat_map(|host| host.interfaces().iter().filter_map(|name| finding(case, host, name)));
    // Both ends see the same.
    all.max_by(|one, other| one.share.total_cmp(&other.share)).into_iter().collect()
}

fn finding(case: &Case<'_>, host: &HostView<'_>, name: &str) -> Option<Found> {
    let (flowing, foreign) = foreign_traffic::most(case.test?, host, name)?;
    let part = foreign_traffic::part(&foreign);
    let severity = foreign_traffic::THRESHOLDS.grade(part)?;
    let way = match flowing {
        Flowing::In => "received",
        Flowing::Out => "sent",
    };
    let text = format!("cross traffic on {name} of {}", words::host(host.role()));
    // It may have filled the queue before the handshake, so that no round trip is shorter.
    let crowds_out = part >= NEARLY_ALL && !silent::wanting(case).is_empty();
    let is_limit = severity == Severity::Limiting && (crowds_out || is_path_the_limit(case));
    let found = if is_limit { Found::limit(text) } else { Found::candidate(text) };
    let found = found
        .at(host.role())
        .explaining(part)
        .seen(format!(
            "at least {} of {} that it {way} were not the test's ({})",
            ByteSize::from_bytes(foreign.least),
            ByteSize::from_bytes(foreign.total),
            percent(part)
        ))
        .remedy(format!("stop the other traffic on {name}, or test again when it is idle"));
    Some(found)
}

/// Whether cross traffic is what the test lacks.
pub(super) fn limits(case: &Case<'_>) -> bool {
    check(case).iter().any(|found| found.certainty == Certainty::Limit)
}

/// Whether the sender waited for the path, or the path lost datagrams: then what others send
/// is what the test lacks.
fn is_path_the_limit(case: &Case<'_>) -> bool {
    // What a sender that tells nothing waits for shows in what arrives from it.
    let waits = |one: &Arrivals<'_>| {
        one.standing_queue().is_some() || one.lost().is_some_and(|lost| lost >= MUCH)
    };
    silent::wanting(case).iter().any(waits) || case.wanting().any(|flow| waits_or_loses(case, flow))
}

/// Whether a sender that reports waited for the path, or datagrams were lost.
fn waits_or_loses(case: &Case<'_>, flow: &Flow<'_>) -> bool {
    let account = &flow.account;
    if let Some(shares) = account.tcp.as_ref().and_then(|tcp| tcp.shares) {
        let for_buffers = shares.receive_window + shares.send_buffer;
        return shares.congestion_window >= 0.5 && for_buffers < SOME;
    }
    let loses = account.ledger.as_ref().is_some_and(|ledger| ledger.lost() > 0);
    let direction = flow.outcome.direction;
    loses || case.test.is_some_and(|test| send_blocked::share(test, direction) > BLOCKED)
}

/// Share of the time that a sender waits for buffers, from which on these limit it, too.
const SOME: f64 = 0.4;
/// Share of what an interface carries that leaves hardly anything to the test.
const NEARLY_ALL: f64 = 0.90;
/// Least share of segments sent again at which a sender that tells nothing waits for the path.
const MUCH: f64 = 0.001;
/// Share of the time in which the sender's sockets had no room. To be calibrated.
const BLOCKED: f64 = 0.10;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::INTERFACE_RX_BYTES.on("eth0"), 260_000_000);
    })
    .silent(|record| {
        let host = crate::test_record::host(record, &measurement::Role::Peer);
        crate::test_record::grow(host, counter::INTERFACE_RX_BYTES.on("eth0"), 134_000_000);
    });
