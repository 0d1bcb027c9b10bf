//! Counters of a host that count drops, and what they say of the test's datagrams.

use measurement::host::{Counter, EachCounter, counter};
use measurement::judgement::Place;

use super::allotment::{Candidate, CounterScope};
use super::{DirectionEvidence, pieces, socket};
use crate::evidence::{Flowing, Growth, HostView, Traffic};
use crate::facts::ingress::{self, Ingress};
use crate::facts::{backlog_drops, ip_layer, missed_frames, queue_drops};
use crate::words::share;

/// A counter that grew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DropCounter {
    /// What it is called in a ledger.
    pub(super) name: String,
    /// How much it grew at most.
    pub(super) grew: u64,
    /// How much of it for certain during the result.
    pub(super) inside: u64,
    /// It counts what was never a datagram of a test as well.
    pub(super) is_mixed: bool,
}

/// Where a counter counts.
#[derive(Clone, Copy)]
pub(super) struct Spot<'a> {
    pub(super) place: Place,
    pub(super) interface: &'a str,
    pub(super) flowing: Flowing,
}

impl DropCounter {
    /// The sum of counters of one host that exclude each other.
    pub(super) fn sum(host: &HostView<'_>, counters: &[Counter<'_>], name: String) -> Self {
        let grew = counters.iter().filter_map(|counter| host.growth(*counter));
        let inside = counters.iter().map(|counter| host.growth_inside(*counter));
        Self {
            name,
            grew: grew.fold(0, u64::saturating_add),
            inside: inside.fold(0, u64::saturating_add),
            is_mixed: false,
        }
    }

    /// A number of packets that is computed of several counters.
    pub(super) const fn difference(name: String, packets: Growth) -> Self {
        Self { name, grew: packets.most, inside: packets.least, is_mixed: false }
    }

    /// Without what another counter has already.
    fn beyond(mut self, other: &Self) -> Self {
        self.grew = self.grew.saturating_sub(other.inside);
        self.inside = self.inside.saturating_sub(other.grew);
        self
    }

    /// As an explanation of what `host` dropped.
    pub(super) fn explains(
        self,
        ends: &DirectionEvidence<'_>,
        host: &HostView<'_>,
        spot: Spot<'_>,
    ) -> Candidate {
        let traffic = Traffic::with_passed(ends.record, passed(ends, host, spot));
        let foreign = traffic.foreign(host, spot.interface, spot.flowing);
        let alone = foreign.is_some_and(|all| all.is_none_to_speak_of()) && !self.is_mixed;
        let most = self.grew.saturating_mul(pieces::most_in_one(ends, spot.place));
        let usual = pieces::usual_in_one(ends, host, spot.place);
        let usual = usual.map_or(most, |usual| part(self.grew, usual).min(most));
        // Who shares a queue loses in proportion.
        let ours = foreign.map_or(1.0, |all| 1.0 - share(all.least, all.total).min(1.0));
        Candidate {
            place: spot.place,
            counter: self.name,
            counted: self.grew,
            least: if alone { self.inside } else { 0 },
            likely: if alone { usual } else { part(usual, ours) },
            most,
            scope: if alone { CounterScope::IdleHost } else { CounterScope::Host },
        }
    }
}

/// Datagrams that passed an interface of an end, by its own counters.
fn passed(ends: &DirectionEvidence<'_>, host: &HostView<'_>, spot: Spot<'_>) -> u64 {
    let Some(reported) = ends.outcome.datagrams else { return 0 };
    let is = |end: Option<&HostView<'_>>| end.is_some_and(|end| end.role() == host.role());
    let is_exact = |place| pieces::most_in_one(ends, place) == 1;
    let kind = host.interface(spot.interface).and_then(|one| one.kind.as_deref());
    match spot.flowing {
        // There all directions pass.
        _ if kind == Some("loopback") => 0,
        Flowing::Out if is(ends.sender) && is_exact(Place::SenderQueue) => {
            let queue = queue(host, spot.interface).grew;
            reported.sent.saturating_sub(queue).saturating_sub(unsent(host, spot.interface).grew)
        }
        Flowing::In if is(ends.receiver) && is_exact(Place::ReceiverSocket) => {
            let came = reported.received.saturating_add(socket::own(ends).unwrap_or(0));
            came.saturating_add(beyond(ends, host)).min(reported.sent)
        }
        _ => 0,
    }
}

/// Packets that passed an interface and were dropped before any socket.
fn beyond(ends: &DirectionEvidence<'_>, host: &HostView<'_>) -> u64 {
    let ingress = ingress::dropped(ends.record, host).map_or(0, |one| one.packets.least);
    ip_layer::filtered_in(host).least.saturating_add(ingress)
}

/// What the queueing disciplines of an interface dropped of what was to be sent.
pub(super) fn queue(host: &HostView<'_>, interface: &str) -> DropCounter {
    let Some(most) = queue_drops::sending(host, interface) else { return DropCounter::default() };
    let drops = counter::QDISC_DROPS.within(interface).on(most.name);
    let name = format!("qdisc {} of {interface}", most.name.replace('@', " "));
    DropCounter::sum(host, &[drops], name)
}

/// What an interface did not send. A veth that finds the other end's backlog full counts
/// that as well as the backlog does (`veth_forward_skb`, `drivers/net/veth.c`).
pub(super) fn unsent(host: &HostView<'_>, interface: &str) -> DropCounter {
    let sum = |names: &[EachCounter<'static>]| {
        let names: Vec<_> = names.iter().map(|each| each.on(interface)).collect();
        DropCounter::sum(host, &names, format!("tx_dropped of {interface}"))
    };
    let (whole, kinds) = (sum(&UNSENT), sum(&KINDS_OF_ERRORS));
    let counter = if kinds.grew > whole.grew { kinds } else { whole };
    let kind = host.interface(interface).and_then(|one| one.kind.as_deref());
    if kind == Some("veth") { counter.beyond(&backlog(host)) } else { counter }
}

/// What the device dropped for want of buffers.
pub(super) fn missed(host: &HostView<'_>, interface: &str) -> DropCounter {
    let Some(most) = missed_frames::missed(host, interface) else { return DropCounter::default() };
    DropCounter::sum(host, &[most.counter], format!("{} of {interface}", most.name))
}

/// What came and was not worked on, beyond what the backlog dropped, which both count
/// (`enqueue_to_backlog`, `net/core/dev.c`). Frames of unknown protocols are among it.
pub(super) fn refused(host: &HostView<'_>, interface: &str) -> DropCounter {
    let key = [counter::INTERFACE_RX_DROPPED.on(interface)];
    let counter = DropCounter::sum(host, &key, format!("rx_dropped of {interface}"));
    DropCounter { is_mixed: true, ..counter.beyond(&backlog(host)) }
}

/// What the ingress hook dropped.
pub(super) fn at_ingress(dropped: &Ingress<'_>) -> DropCounter {
    let name = format!("{} of {}", dropped.source, dropped.interface);
    DropCounter::difference(name, dropped.packets)
}

/// What the backlogs of all CPUs dropped.
pub(super) fn backlog(host: &HostView<'_>) -> DropCounter {
    let names = backlog_drops::counters(host);
    DropCounter::sum(host, &names, "dropped of softnet".to_owned())
}

/// What an interface did not send, and why: not every driver has the kinds in the sum
/// (Documentation/networking/statistics.rst).
const UNSENT: [EachCounter<'static>; 2] =
    [counter::INTERFACE_TX_DROPPED, counter::INTERFACE_TX_ERRORS];
const KINDS_OF_ERRORS: [EachCounter<'static>; 3] = [
    counter::INTERFACE_TX_FIFO_ERRORS,
    counter::INTERFACE_TX_CARRIER_ERRORS,
    counter::INTERFACE_TX_ABORTED_ERRORS,
];

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a multiple of a count, rounded; the cast saturates"
)]
fn part(whole: u64, share: f64) -> u64 {
    (whole as f64 * share).round() as u64
}
