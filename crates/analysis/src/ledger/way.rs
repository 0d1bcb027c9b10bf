//! What hosts on the way that were observed may have dropped.

use measurement::Role;
use measurement::judgement::Place;

use super::Case;
use super::allotment::Candidate;
use super::counters::{DropCounter, Spot, backlog, missed, queue, refused, unsent};
use crate::evidence::{Flowing, Host};
use crate::words;

/// The explanations that they offer.
pub(super) fn candidates(case: &Case<'_>) -> Vec<Candidate> {
    let observed = case.hosts.iter().filter(|host| matches!(host.role(), Role::Observed(_)));
    observed.flat_map(|host| of_one(case, host)).collect()
}

fn of_one(case: &Case<'_>, host: &Host<'_>) -> Vec<Candidate> {
    let (queues, devices) = (Place::ObservedQueue, Place::ObservedInterface);
    let (out, into) = (Flowing::Out, Flowing::In);
    let mut found: Vec<(DropCounter, Spot<'_>)> = Vec::new();
    for interface in interfaces(host) {
        let spot = |place, flowing| Spot { place, interface, flowing };
        found.push((queue(host, interface), spot(queues, out)));
        found.push((unsent(host, interface), spot(devices, out)));
        found.push((missed(host, interface), spot(devices, into)));
        found.push((refused(host, interface), spot(devices, into)));
    }
    if has_backlog_of_its_own(case, host) {
        let interface = interfaces(host).first().copied().unwrap_or_default();
        found.push((backlog(host), Spot { place: devices, interface, flowing: into }));
    }
    let named = |(counter, spot): (DropCounter, _)| {
        let name = format!("{} on {}", counter.name, words::host(host.role()));
        DropCounter { name, ..counter }.explains(case, host, spot)
    };
    found.into_iter().map(named).collect()
}

/// Namespaces of one kernel share its backlogs: they are the receiver's, or of the first.
fn has_backlog_of_its_own(case: &Case<'_>, host: &Host<'_>) -> bool {
    let others = case.hosts.iter().take_while(|other| !std::ptr::eq(*other, host));
    let observed = others.filter(|other| matches!(other.role(), Role::Observed(_)));
    !observed.chain(case.receiver).any(|other| other.is_same_kernel(host))
}

/// Those that carried the test; of a host that does not say which, all but its loopback.
fn interfaces<'a>(host: &Host<'a>) -> Vec<&'a str> {
    if host.interfaces().is_empty() {
        let all = host.evidence.inventory.interfaces.iter();
        let real = all.filter(|one| one.kind.as_deref() != Some("loopback"));
        return real.map(|one| one.name.as_str()).collect();
    }
    host.interfaces().iter().map(String::as_str).collect()
}
