//! Places of the way where the difference of two neighbouring counters shows drops: the ingress
//! hook, the input of the IP layer, forwarding.

use measurement::host::counter;
use measurement::{Bound, Certainty, Role};

use super::Case;
use super::case::Blame;
use crate::evidence::{Flowing, HostView};
use crate::facts::ingress::{self, Ingress};
use crate::facts::ip_layer;
use crate::words::share;

/// A place that drops, and how much of what is missing that explains.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    pub(super) dropped: u64,
    /// Packets that came there.
    pub(super) received: u64,
    pub(super) blame: Blame,
}

impl Hop {
    /// Whether it explains most of what is missing.
    pub(super) fn is_limit(&self) -> bool {
        self.blame.certainty == Certainty::Limit
    }

    /// Share of what came there that it let through.
    pub(super) fn passed(&self) -> f64 {
        1.0 - share(self.dropped, self.received).min(1.0)
    }
}

/// Drops at the ingress hooks and in the IP layers of all hosts.
pub(super) fn drops(case: &Case<'_>) -> Vec<Hop> {
    let of_host = |host| {
        let ingress = at_ingress(case, host).map(|(_, hop)| hop);
        let in_ip = [in_forwarding(case, host), at_input(case, host), too_big(case, host)];
        ingress.into_iter().chain(in_ip.into_iter().flatten())
    };
    case.hosts.iter().flat_map(of_host).collect()
}

/// What the ingress hook of a host dropped.
pub(super) fn at_ingress<'a>(case: &Case<'a>, host: &HostView<'a>) -> Option<(Ingress<'a>, Hop)> {
    let ingress = ingress::dropped(case.test?.record, host)?;
    let received = counter::INTERFACE_RX_PACKETS.on(ingress.interface);
    let received = host.growth(received).unwrap_or(0);
    Some((ingress, hop(case, host, ingress.packets.most, received)?))
}

/// What the ingress hook of a receiver of datagrams let through: a packet filter behind it may have
/// dropped most of that. None: it is TCP, which sends as much as the last of them lets through.
pub(super) fn allowed_at_ingress(case: &Case<'_>, host: &HostView<'_>) -> Option<Bound> {
    let passed = at_input(case, host).map_or(1.0, |hop| hop.passed());
    bound_of_datagrams(case, host, passed, "what its ingress hook let through")
}

/// What the packet filter of a receiver of datagrams let through.
pub(super) fn allowed_at_input(case: &Case<'_>, host: &HostView<'_>) -> Option<Bound> {
    bound_of_datagrams(case, host, 1.0, "what its packet filter let through")
}

fn bound_of_datagrams(
    case: &Case<'_>,
    host: &HostView<'_>,
    passed_later: f64,
    arithmetic: &str,
) -> Option<Bound> {
    let mut flows = case.wanting().filter(|_| case.is_udp());
    let flow = flows.find(|flow| flow.receiver() == *host.role())?;
    let arrived = flow.arrived()?.rate.bits_per_second() as f64;
    let is_known = arrived > 0.0 && passed_later > 0.0;
    is_known.then(|| Bound::exact(arrived / passed_later, arithmetic))
}

/// What an observed host received and did not forward.
pub(super) fn in_forwarding(case: &Case<'_>, host: &HostView<'_>) -> Option<Hop> {
    let is_observed = matches!(host.role(), Role::Observed(_));
    let dropped = is_observed.then(|| ip_layer::not_forwarded(host).most)?;
    hop(case, host, enough(dropped)?, ip_layer::received(host)?)
}

/// What the packet filter of an end dropped of what came in.
pub(super) fn at_input(case: &Case<'_>, host: &HostView<'_>) -> Option<Hop> {
    let is_end = !matches!(host.role(), Role::Observed(_));
    let dropped = is_end.then(|| ip_layer::filtered_in(host).most)?;
    // Of datagrams the ledger tells how many of them that were.
    let dropped = if case.is_udp() { Some(dropped) } else { enough(dropped) };
    hop(case, host, dropped?, ip_layer::received(host)?)
}

/// A difference of counters that are read one after the other, while packets pass.
fn enough(dropped: u64) -> Option<u64> {
    (dropped >= PASSING).then_some(dropped)
}

/// What an observed host did not forward since it was larger than the MTU of the next link.
pub(super) fn too_big(case: &Case<'_>, host: &HostView<'_>) -> Option<Hop> {
    let is_observed = matches!(host.role(), Role::Observed(_));
    let dropped = is_observed.then(|| ip_layer::too_big(host).most)?;
    hop(case, host, dropped, ip_layer::received(host)?)
}

fn hop(case: &Case<'_>, host: &HostView<'_>, dropped: u64, received: u64) -> Option<Hop> {
    let blame = case.blame_of_packets(host, Flowing::In, (dropped, received))?;
    Some(Hop { dropped, received, blame })
}

/// Packets that may pass between two readings. By 17 runs: up to 3.
const PASSING: u64 = 10;
