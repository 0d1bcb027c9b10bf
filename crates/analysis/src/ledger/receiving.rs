//! What the receiver's host may have dropped.

use measurement::host::counter;
use measurement::host::counter::Both;
use measurement::judgement::Place;

use super::allotment::Candidate;
use super::counters::{DropCounter, Spot, at_ingress, backlog, missed, refused};
use super::{DirectionEvidence, socket};
use crate::evidence::{Flowing, HostView};
use crate::facts::{ingress, ip_layer};

/// The explanations that it offers.
pub(super) fn candidates(ends: &DirectionEvidence<'_>) -> Vec<Candidate> {
    let mut found: Vec<_> = socket::candidate(ends).into_iter().collect();
    let Some(host) = ends.receiver else { return found };
    let is_reported = !found.is_empty();
    let mut add = |counter: DropCounter, place, interface| {
        let spot = Spot { place, interface, flowing: Flowing::In };
        found.push(counter.explains(ends, host, spot));
    };
    for interface in host.interfaces() {
        add(missed(host, interface), Place::ReceiverInterface, interface);
        add(refused(host, interface), Place::ReceiverInterface, interface);
    }
    let interface = host.interfaces().first().map_or("", String::as_str);
    add(backlog(host), Place::ReceiverBacklog, interface);
    if let Some(ingress) = ingress::dropped(ends.record, host) {
        add(at_ingress(&ingress), Place::ReceiverIngress, ingress.interface);
    }
    let filtered = ip_layer::filtered_in(host);
    add(DropCounter::difference(FILTERED.to_owned(), filtered), Place::ReceiverFirewall, interface);
    for (name, keys) in stack(ends, host) {
        add(named(host, name, keys), Place::ReceiverStack, interface);
    }
    if !is_reported {
        for (name, keys) in SOCKETS {
            add(named(host, name, keys), Place::ReceiverSocket, interface);
        }
    }
    found
}

fn named(host: &HostView<'_>, name: &str, counters: Both) -> DropCounter {
    DropCounter::sum(host, &counters.each(), name.to_owned())
}

/// A counter's name in a ledger, and what its sum is made of: IPv4 and IPv6.
type Named = (&'static str, Both);

fn stack(ends: &DirectionEvidence<'_>, host: &HostView<'_>) -> Vec<Named> {
    let block = ends.record.streams.first().map_or(0, |stream| stream.block.bytes());
    let mtus = host.interfaces().iter().filter_map(|name| host.interface(name));
    let mtu = mtus.map(|one| u64::from(one.mtu)).min().unwrap_or(0);
    let is_whole = block.saturating_add(HEADERS) <= mtu;
    let reassembly = (!is_whole).then_some(REASSEMBLY);
    [DISCARDS].into_iter().chain(reassembly).collect()
}

/// Of all sockets of the host, those of the test among them.
const SOCKETS: [Named; 3] = [
    ("RcvbufErrors of UDP", counter::UDP_RCVBUF_ERRORS),
    ("MemErrors of UDP", counter::UDP_MEM_ERRORS),
    ("InCsumErrors of UDP", counter::UDP_IN_CSUM_ERRORS),
];
/// Beside what is counted for a reason of its own.
const FILTERED: &str = "InReceives less InDelivers of IP";
const DISCARDS: Named = ("InDiscards of IP", counter::IP_IN_DISCARDS);
const REASSEMBLY: Named = ("ReasmFails of IP", counter::IP_REASM_FAILS);
/// IPv4 and UDP: what is longer than the MTU with them travels in fragments.
const HEADERS: u64 = 28;
