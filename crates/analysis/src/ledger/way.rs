//! What hosts on the way that were observed may have dropped.

use measurement::Role;
use measurement::judgement::Place;

use super::DirectionEvidence;
use super::allotment::Candidate;
use super::counters::{DropCounter, Spot, at_ingress, backlog, missed, queue, refused, unsent};
use crate::evidence::{Flowing, HostView};
use crate::facts::{ingress, ip_layer};
use crate::words;

/// The explanations that they offer.
pub(super) fn candidates(ends: &DirectionEvidence<'_>) -> Vec<Candidate> {
    let observed = ends.hosts.iter().filter(|host| matches!(host.role(), Role::Observed(_)));
    observed.flat_map(|host| of_one(ends, host)).collect()
}

fn of_one(ends: &DirectionEvidence<'_>, host: &HostView<'_>) -> Vec<Candidate> {
    let (queues, devices) = (Place::ObservedQueue, Place::ObservedInterface);
    let (out, into) = (Flowing::Out, Flowing::In);
    let mut found: Vec<(DropCounter, Spot<'_>)> = Vec::new();
    for interface in host.carriers() {
        let spot = |place, flowing| Spot { place, interface, flowing };
        found.push((queue(host, interface), spot(queues, out)));
        found.push((unsent(host, interface), spot(devices, out)));
        found.push((missed(host, interface), spot(devices, into)));
        found.push((refused(host, interface), spot(devices, into)));
    }
    let first = host.carriers().first().copied().unwrap_or_default();
    if let Some(ingress) = ingress::dropped(ends.record, host) {
        let spot =
            Spot { place: Place::ObservedIngress, interface: ingress.interface, flowing: into };
        found.push((at_ingress(&ingress), spot));
    }
    let forward = Spot { place: Place::ObservedForward, interface: first, flowing: into };
    found.push((not_forwarded(host), forward));
    if has_backlog_of_its_own(ends, host) {
        found.push((backlog(host), Spot { place: devices, interface: first, flowing: into }));
    }
    let named = |(counter, spot): (DropCounter, _)| {
        let name = format!("{} on {}", counter.name, words::host(host.role()));
        DropCounter { name, ..counter }.explains(ends, host, spot)
    };
    found.into_iter().map(named).collect()
}

/// What came into the IP layer and did not go on: filtered, or larger than the next link takes.
fn not_forwarded(host: &HostView<'_>) -> DropCounter {
    let (filtered, unfit) = (ip_layer::not_forwarded(host), ip_layer::too_big(host));
    let name = "InReceives of IP less what it forwarded".to_owned();
    DropCounter::difference(name, filtered.plus(unfit))
}

/// Namespaces of one kernel share its backlogs: they are the receiver's, or of the first.
fn has_backlog_of_its_own(ends: &DirectionEvidence<'_>, host: &HostView<'_>) -> bool {
    let others = ends.hosts.iter().take_while(|other| !std::ptr::eq(*other, host));
    let observed = others.filter(|other| matches!(other.role(), Role::Observed(_)));
    !observed.chain(ends.receiver).any(|other| other.is_same_kernel(host))
}
