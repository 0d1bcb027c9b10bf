//! What the sender's host may have dropped.

use measurement::host::{Family, counter};
use measurement::judgement::Place;

use super::DirectionEvidence;
use super::allotment::Candidate;
use super::counters::{DropCounter, Spot, queue, unsent};
use crate::evidence::{Flowing, HostView};

/// The explanations that it offers.
pub(super) fn candidates(ends: &DirectionEvidence<'_>) -> Vec<Candidate> {
    let Some(host) = ends.sender else { return Vec::new() };
    let mut found: Vec<_> = kernel(ends, host).into_iter().collect();
    for interface in host.interfaces() {
        let flowing = Flowing::Out;
        let places = [
            (queue(host, interface), Place::SenderQueue),
            (unsent(host, interface), Place::SenderInterface),
        ];
        found.extend(places.map(|(counter, place)| {
            counter.explains(ends, host, Spot { place, interface, flowing })
        }));
    }
    found
}

/// What the kernel took and threw away, where its queues do not tell of it themselves.
///
/// `SndbufErrors` counts what a queueing discipline dropped, and as well what the socket did
/// not take since it was full (`udp_sendmsg`, `net/ipv4/udp.c`), which was sent later or
/// never counted as sent. So it says nothing where the queues are known.
fn kernel(ends: &DirectionEvidence<'_>, host: &HostView<'_>) -> Option<Candidate> {
    let interface = host.interfaces().first().map_or("", String::as_str);
    if host.reports(Family::QDISC) {
        return None;
    }
    let names = counter::UDP_SNDBUF_ERRORS.each();
    let counter = DropCounter::sum(host, &names, "SndbufErrors of UDP".to_owned());
    let counter = DropCounter { is_mixed: true, ..counter };
    Some(counter.explains(
        ends,
        host,
        Spot { place: Place::Sender, interface, flowing: Flowing::Out },
    ))
}
